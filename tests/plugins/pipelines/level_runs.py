"""Which kernels of the shipped lists the emulated AMD device runs right, as a table of docs/amd.md.

.. code-block:: text

    CK_ROOT=DIR python -m tests.plugins.pipelines.level_runs RECORD [--arch ARCH] [--minutes N]
    CK_ROOT=DIR python -m tests.plugins.pipelines.level_runs RECORD [--arch ARCH] --table

Compiles and runs one kernel of every kind first - direction, pipeline, type, dimensions, MMA tile,
specialisation - then the lists of ``tests``, then the others, those of one tile together: on random
convolutions with all checks of the device, until each kernel has supported :data:`ENOUGH` of them. RECORD
takes a line for each kernel as soon as its outcome is known, so that the next call goes on where one ended,
whenever that was. It tells compilers, architectures and headers apart, not templates of ckprof: begin a new
one when these change. A kernel that several lists have runs once.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof import Profiler
from ckprof.errors import InputError
from ckprof.kernels.build.cache import ObjectCache
from ckprof.kernels.build.digests import FolderDigests, digest_parts
from ckprof.kernels.choose import Selection
from ckprof.kernels.requests import BuildOptions
from ckprof.kernels.validity import check_validity
from ckprof.measure.options import RunOptions
from ckprof.measure.run_plan import RunRequest
from ckprof.model.outcome import Status
from ckprof.model.problem_case import AUTO, as_case
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.paths import object_cache_dir
from ckprof_plugins.directions._convolution.sample import random_convolution
from ckprof_plugins.targets.hip.target import HipTarget
from tests.plugins.pipelines.level_counts import ARCH, shipped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.problem_case import ProblemCase
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
#: kernels that are compiled, run and recorded together
TOGETHER: Final = 12
#: convolutions that are drawn at a time for such kernels
PROBLEMS: Final = 12
#: runs of a kernel that support what was drawn, after which nothing more is drawn for it
ENOUGH: Final = 3
#: how often convolutions are drawn for kernels that support few
DRAWS: Final = 4
#: multiply-adds of the largest convolution
LARGEST: Final = 3_000_000
#: numbers of splits of the reduction
SPLITS: Final = {"bwd_weight": (1, 2, AUTO)}
#: a kernel that was compiled and run
RAN: Final = ""


@dataclass(slots=True)
class Outcome:
    """What became of a kernel."""

    key: str
    #: the compiler's message; empty if it compiles
    failure: str = RAN
    #: runs with the right result and no finding of a check
    right: int = 0
    #: runs that the kernel does not support
    unsupported: int = 0
    #: every other run: problem, status and reason
    wrong: list[str] = field(default_factory=list)


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
            "headers": digest_parts(*map(digests.of, recipe.digested_dirs or ())),
        }
        lines = path.read_text().splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines]
        own = ({name: one[name] for name in self._setting} == self._setting for one in found)
        self.outcomes = {
            one["key"]: Outcome(**{name: one[name] for name in Outcome.__slots__})
            for one, is_own in zip(found, own, strict=True)
            if is_own
        }

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Store what has become known."""
        with self._path.open("a") as stream:
            for one in outcomes:
                self.outcomes[one.key] = one
                stream.write(json.dumps({**self._setting, **asdict(one)}) + "\n")


def expressed(recipe: BuildRecipe) -> Iterator[tuple[str, int, tuple[Candidate, ...]]]:
    """Yield each list: its name, how many kernels it has, and those that the level can express."""
    for name, candidates in shipped():
        yield name, len(candidates), check_validity(candidates, recipe.arch, recipe.api_level).valid


def in_order(
    kernels: Mapping[str, Candidate], known: Collection[str], only: str
) -> Iterator[list[Candidate]]:
    """Yield what is compiled and run together, one kernel of each kind first of which none is known.

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


def convolutions(draw: random.Random, ndim: int, merged: int = 1) -> list[ProblemCase]:
    """Draw convolutions: half of them as they come, half with channels that every kernel can load.

    :param merged: groups that kernels compute together: what every second convolution has.
    """
    drawn: list[ProblemCase] = []
    while len(drawn) < PROBLEMS:
        try:
            one = random_convolution(draw, ndim)
        except InputError:
            continue
        if len(drawn) % 2:
            channels = {name: -(-getattr(one, name) // 16) * 16 for name in ("in_channels", "out_channels")}
            one = replace(one, **channels)
            if merged > 1:
                one = replace(one, groups=merged, in_channels=8, out_channels=8, batch=1)
        if len(drawn) % 4 == 1:
            # what kernels for filters of one element ask for
            none, unit = (0,) * ndim, (1,) * ndim
            one = replace(one, filter=unit, strides=unit, dilations=unit, left_pads=none, right_pads=none)
        products = one.groups * one.batch * one.out_channels * one.in_channels
        if products * math.prod((*one.filter, *one.output)) <= LARGEST:
            drawn.append(as_case(one))
    return drawn


def run_some(profiler: Profiler, arch: str, kernels: Sequence[Candidate]) -> list[Outcome]:
    """Compile kernels of one direction together, run them, and say what became of each."""
    outcomes = {one.instance.key: Outcome(one.instance.key) for one in kernels}
    draw = random.Random(kernels[0].instance.key)
    for attempt in range(DRAWS):
        left = [one for one in kernels if outcomes[one.instance.key].right < ENOUGH]
        left = [one for one in left if outcomes[one.instance.key].failure == RAN]
        for ndim in sorted({one.instance.ndim for one in left}):
            alike = tuple(replace(one, index=place) for place, one in enumerate(left))
            alike = tuple(one for one in alike if one.instance.ndim == ndim)
            direction = alike[0].instance.direction
            merged = max(one.instance.fields().get("num_groups_to_merge", 1) for one in alike)
            request = RunRequest(
                selection=Selection(conversions=(), candidates=alike, source="shipped lists"),
                problems=tuple(convolutions(draw, ndim, merged)),
                build=BuildOptions(
                    target="hip", arch=arch, device="emulated:check=all", jobs=1, compile_timeout_s=3600
                ),
                options=RunOptions(
                    device=f"emulated:seed={attempt},threads=1",
                    checks=("all",),
                    max_time_s=0,
                    warmup=0,
                    rounds=1,
                    sessions=1,
                    timeout_s=600,
                    splits=SPLITS.get(direction, (1,)),
                ),
            )
            for result in profiler.execute(request):
                one = outcomes[result.instance.key]
                if result.status is Status.OK:
                    one.right += 1
                elif result.status is Status.UNSUPPORTED:
                    one.unsupported += 1
                elif result.status in (Status.COMPILE_ERROR, Status.COMPILE_TIMEOUT):
                    one.failure = result.reason or result.status.value
                else:
                    where = f"{result.problem.describe()} split {result.outcome.split_k}"
                    one.wrong.append(f"{where}: {result.status.value}: {result.reason}")
    names = {one.instance.key: one.name for one in kernels}
    for one in outcomes.values():
        for text in filter(None, (one.failure, *one.wrong)):
            print(f"{names[one.key]}: {text}", flush=True)
    total = Counter[str]()
    for one in outcomes.values():
        total.update(right=one.right, wrong=len(one.wrong), failed=bool(one.failure))
    print(f"{len(names)} kernels: " + ", ".join(f"{n} {name}" for name, n in total.items()), flush=True)
    return list(outcomes.values())


def table(recipe: BuildRecipe, record: Record) -> list[str]:
    """Return the lines of the table, lists of which the level expresses nothing left out."""
    lines = [
        f"| list | kernels | expressed at {recipe.api_level} | compiled | failed | ran | right | wrong |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, kernels, valid in expressed(recipe):
        known = [record.outcomes[one.instance.key] for one in valid if one.instance.key in record.outcomes]
        failed = sum(one.failure != RAN for one in known)
        ran = sum(one.right + len(one.wrong) > 0 for one in known)
        right, wrong = sum(one.right for one in known), sum(len(one.wrong) for one in known)
        cells = (name, kernels, len(valid), len(known) - failed, failed, ran, right, wrong)
        if valid:
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def main() -> None:
    """Compile and run for as long as was asked for, or print the table."""
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
    profiler = Profiler()
    for group in in_order(kernels, dict(record.outcomes), asked.only):
        if time.monotonic() < end:
            record.add(run_some(profiler, asked.arch, group))
    print(f"{len(record.outcomes)} of {len(kernels)} known", flush=True)


if __name__ == "__main__":
    main()
