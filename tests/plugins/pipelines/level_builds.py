"""Which kernels of the shipped lists compile from the headers of an API level, as a table of docs/amd.md.

.. code-block:: text

    CK_ROOT=DIR python -m tests.plugins.pipelines.level_builds RECORD [--arch ARCH] [--minutes N]
    CK_ROOT=DIR python -m tests.plugins.pipelines.level_builds RECORD [--arch ARCH] --table

Compiles one kernel of every kind first - direction, pipeline, type, dimensions, MMA tile, specialisation -
then the lists of ``tests``, then the others, those of one tile together. RECORD takes a line for each kernel
as soon as its outcome is known, so that the next call goes on where one ended, whenever that was. It tells
compilers, architectures and headers apart, not templates of ckprof: begin a new one when these change. A
kernel that several lists have is compiled once.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from ckprof import Profiler
from ckprof.kernels.build.builder import BuildLimits, build_tree
from ckprof.kernels.build.cache import ObjectCache
from ckprof.kernels.build.digests import FolderDigests, digest_parts
from ckprof.kernels.source.source_tree import TreeRequest, generate_tree
from ckprof.kernels.validity import check_validity
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.paths import object_cache_dir
from ckprof_plugins.targets.hip.target import HipTarget
from tests.plugins.pipelines.level_counts import ARCH, shipped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.recipe import BuildRecipe

#: fields that decide which parts of the headers a kernel uses
KIND: Final = (
    *("direction", "gemm_pipeline", "scheduler", "dtype", "ndim", "specialization"),
    *("mma_tile_m", "mma_tile_n", "mma_tile_k"),
)
#: fields of which most that a kernel uses depends: compiled once for those that agree in them
TILE: Final = (
    *("direction", "dtype", "tile_m", "tile_n", "tile_k", "wave_grid_m", "wave_grid_n", "wave_grid_k"),
    *("mma_tile_m", "mma_tile_n", "mma_tile_k"),
)
_TESTS: Final = "/tests/"
#: kernels that are compiled and recorded together
TOGETHER: Final = 12
#: device functions of one unit; it takes 2 GB
FUNCTIONS: Final = 48


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a kernel: an empty failure says that it compiles."""

    key: str
    failure: str


class Record:
    """The outcomes of one compiler, one architecture and one set of headers, in a file of JSON lines.

    :param path: the file; it may hold those of others as well.
    :param recipe: what decides about outcomes.
    """

    def __init__(self, path: Path, recipe: BuildRecipe) -> None:
        self._path = path
        digests = FolderDigests(ObjectCache(object_cache_dir()).folder_digests)
        self._setting = {
            "arch": recipe.arch,
            "level": recipe.api_level,
            "compiler": recipe.compiler.description,
            "headers": digest_parts(*map(digests.of, recipe.digested_dirs)),
        }
        lines = path.read_text().splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines]
        self.outcomes: dict[str, str] = {
            one["key"]: one["failure"] for one in found if self._setting.items() <= one.items()
        }

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Store what has become known."""
        with self._path.open("a") as stream:
            for one in outcomes:
                self.outcomes[one.key] = one.failure
                stream.write(json.dumps({**self._setting, "key": one.key, "failure": one.failure}) + "\n")


def expressed(recipe: BuildRecipe) -> Iterator[tuple[str, int, tuple[Candidate, ...]]]:
    """Yield each list: its name, how many kernels it has, and those that the level can express."""
    for name, candidates in shipped():
        yield name, len(candidates), check_validity(candidates, recipe.arch, recipe.api_level).valid


def in_order(
    kernels: Mapping[str, Candidate], known: Collection[str], only: str
) -> Iterator[list[Candidate]]:
    """Yield what is compiled together, one kernel of each kind first of which none is known.

    :param kernels: by content key.
    :param known: keys of those that have an outcome.
    :param only: a part of the names of lists or kernels.
    """
    wanted = [one for one in kernels.values() if only in f"{one.source} {one.name}"]
    kinds = _grouped(wanted, KIND)
    first = [kind[0] for kind in kinds if not any(one.instance.key in known for one in kind)]
    taken = {*known, *(one.instance.key for one in first)}
    rest = [one for one in wanted if one.instance.key not in taken]
    of_tests = [one for one in rest if _TESTS in one.source]
    others = [one for one in rest if _TESTS not in one.source]
    for stage in (first, of_tests, others):
        for alike in _grouped(stage, ("direction", "dtype")):
            # those of one tile side by side
            ordered = [one for group in _grouped(alike, TILE) for one in group]
            yield from (ordered[start : start + TOGETHER] for start in range(0, len(ordered), TOGETHER))


def _grouped(kernels: Iterable[Candidate], fields: Sequence[str]) -> list[list[Candidate]]:
    groups: dict[tuple[object, ...], list[Candidate]] = {}
    for one in kernels:
        values = one.instance.fields()
        groups.setdefault(tuple(values.get(field) for field in fields), []).append(one)
    return list(groups.values())


def compile_some(recipe: BuildRecipe, kernels: Sequence[Candidate], cache: ObjectCache) -> list[Outcome]:
    """Compile kernels of one direction together and say what became of each."""
    direction = Profiler().registry.operation(kernels[0].instance.direction)
    with TemporaryDirectory() as folder:
        tree = generate_tree(
            TreeRequest(
                root=Path(folder, "tree"),
                library_name="level",
                direction=direction,
                arch=recipe.arch,
                api_level=recipe.api_level,
                candidates=kernels,
            )
        )
        limits = BuildLimits(jobs=1, timeout_s=3600)
        built = build_tree(tree, recipe, limits, work_dir=Path(folder), cache=cache)
        names = {one.instance.key: one.name for one in kernels}
        outcomes = [
            Outcome(key, built.failures[key].message if key in built.failures else "") for key in names
        ]
        for one in outcomes:
            if one.failure:
                print(f"{names[one.key]}: {one.failure}", flush=True)
        cost = built.summary
        print(f"{len(names)} kernels, {cost.cpu_s:.0f} s of CPU, {cost.failed} failed", flush=True)
    return outcomes


def table(recipe: BuildRecipe, record: Record) -> list[str]:
    """Return the lines of the table, lists of which the level expresses nothing left out."""
    lines = [
        f"| list | kernels | expressed at {recipe.api_level} | compiled | failed |",
        "|---|---|---|---|---|",
    ]
    for name, kernels, valid in expressed(recipe):
        known = [record.outcomes[one.instance.key] for one in valid if one.instance.key in record.outcomes]
        failed = sum(map(bool, known))
        if valid:
            lines.append(f"| {name} | {kernels} | {len(valid)} | {len(known) - failed} | {failed} |")
    return lines


def main() -> None:
    """Compile for as long as was asked for, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("--arch", default=ARCH)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", default="", help="a part of the names of lists or kernels")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    recipe = HipTarget().recipe(BuildRequest(arch=asked.arch, purpose=Purpose.INSPECT))
    record = Record(asked.record, recipe)
    if asked.table:
        print("\n".join(table(recipe, record)))
        return
    lists = sorted(expressed(recipe), key=lambda one: _TESTS not in one[0])
    kernels: dict[str, Candidate] = {}
    for one in (one for _, _, valid in lists for one in valid):
        kernels.setdefault(one.instance.key, one)
    end = time.monotonic() + 60 * asked.minutes
    recipe = replace(recipe, functions_per_unit=FUNCTIONS)
    cache = ObjectCache(object_cache_dir())
    for group in in_order(kernels, dict(record.outcomes), asked.only):
        if time.monotonic() < end:
            record.add(compile_some(recipe, group, cache))
    print(f"{len(record.outcomes)} of {len(kernels)} known", flush=True)


if __name__ == "__main__":
    main()
