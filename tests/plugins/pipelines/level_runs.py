"""Compile and run kernels of the shipped lists on the emulated AMD device, and count them for docs/amd.md.

.. code-block:: text

    CK_ROOT=DIR python -m tests.plugins.pipelines.level_runs run [--arch ARCH] [--fused] [--sample] ...
    python -m tests.plugins.pipelines.level_runs table [--arch ARCH] [--fused] [--level LEVEL]

Compiles and runs what has no outcome yet, kernels of one tile together: on random convolutions and products
with all checks of the device, until each kernel has supported :data:`ENOUGH` of them. A kernel that several
lists have runs once. Lists with an element-wise operation (``--fused``) have the tiles of those without: a
sample of them may do, of one kernel of each kind (:func:`one_of_each`). Outcomes are stored as soon as they
are known (:mod:`tests.plugins.pipelines.run_record`).
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import Counter
from dataclasses import replace
from operator import mul
from typing import TYPE_CHECKING, Final

from ckprof import Profiler
from ckprof.errors import InputError
from ckprof.kernels.build.cache import ObjectCache
from ckprof.kernels.build.digests import FolderDigests
from ckprof.kernels.choose import Selection
from ckprof.kernels.requests import BuildOptions
from ckprof.measure.options import RunOptions
from ckprof.measure.run_plan import RunRequest
from ckprof.model.api_level import API_LEVEL_2025_11
from ckprof.model.outcome import Status
from ckprof.model.problem_case import AUTO, as_case
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.paths import object_cache_dir
from ckprof_plugins.directions._convolution.convolution import Convolution
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem, elementwise_of
from ckprof_plugins.directions._convolution.sample import random_convolution
from ckprof_plugins.directions.bwd_data import BackwardData
from ckprof_plugins.directions.bwd_weight import BackwardWeight
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.operations.gemm.problem import GemmProblem
from ckprof_plugins.targets.hip.target import HipTarget
from tests.plugins.pipelines.level_counts import ARCH
from tests.plugins.pipelines.run_record import RAN, Outcome, Record, expressed, table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.instance import Instance
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase

#: fields of which most that a kernel uses depends: compiled once for those that agree in them
TILE: Final = (
    *("direction", "dtype", "tile_m", "tile_n", "tile_k", "wave_grid_m", "wave_grid_n", "wave_grid_k"),
    *("mma_tile_m", "mma_tile_n", "mma_tile_k"),
)
#: fields that tell kinds of kernels apart, of which a sample has one each
KIND: Final = ("direction", "elementwise_op", "dtype", "ndim", "layout", "gemm_pipeline")
#: kernels that are compiled, run and recorded together, unless one tile has more
TOGETHER: Final = 30
#: problems of each number of dimensions that are drawn at a time for such kernels
PROBLEMS: Final = 12
#: runs of a kernel that support what was drawn, after which nothing more is drawn for it
ENOUGH: Final = 3
#: how often problems are drawn for kernels that support few
DRAWS: Final = 4
#: multiply-adds of the largest convolution
LARGEST: Final = 3_000_000
#: the same of a product: two blocks along K of the largest tile
LARGEST_PRODUCT: Final = 3 * LARGEST
#: what a direction computes
RESULTS: Final = {one.id: one.tensors[-1] for one in (Forward(), BackwardData(), BackwardWeight())}
#: numbers of splits of the reduction
SPLITS: Final = {"bwd_weight": (1, 2, AUTO)}


def in_order(
    kernels: Mapping[str, Candidate], known: Collection[str], only: str
) -> Iterator[list[Candidate]]:
    """Yield what is compiled and run together: whole tiles, since a tile's first kernel costs most of it.

    :param kernels: by content key.
    :param known: keys of those that have an outcome.
    :param only: a part of the names of lists or kernels.
    """
    wanted = [one for one in kernels.values() if only in f"{one.source} {one.name}"]
    left = [one for one in wanted if one.instance.key not in known]
    for alike in _grouped(left, ("direction", "dtype")):
        together: list[Candidate] = []
        for of_a_tile in _grouped(alike, TILE):
            if together and len(together) + len(of_a_tile) > TOGETHER:
                yield together
                together = []
            together = together + of_a_tile
        yield together


def _grouped(kernels: Iterable[Candidate], fields: Sequence[str]) -> list[list[Candidate]]:
    groups: dict[tuple[object, ...], list[Candidate]] = {}
    for one in kernels:
        groups.setdefault(_values(one, fields), []).append(one)
    return list(groups.values())


def _values(kernel: Candidate, fields: Sequence[str]) -> tuple[object, ...]:
    values = kernel.instance.fields()
    return tuple(values.get(field) for field in fields)


def one_of_each(kernels: Iterable[Candidate]) -> list[Candidate]:
    """Return one kernel of each :data:`KIND`, of the tile that most kinds have."""
    kinds = _grouped(kernels, KIND)
    tiles = Counter(tile for kind in kinds for tile in {_values(one, TILE) for one in kind})
    return [max(kind, key=lambda one: tiles[_values(one, TILE)]) for kind in kinds]


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
            if len(drawn) % 8 == 1:
                # backward weight reduces over it, and some of its kernels have one block along K
                one = replace(one, batch=1, input=tuple(draw.randint(1, 3) for _ in unit))
        products = one.groups * one.batch * one.out_channels * one.in_channels
        if products * math.prod((*one.filter, *one.output)) <= LARGEST:
            drawn.append(as_case(one))
    return drawn


def products(draw: random.Random, tiles: Sequence[Sequence[int]]) -> list[ProblemCase]:
    """Draw products of matrices: half of them as they come, half of whole tiles, for kernels that do not pad.

    :param tiles: lengths along M, N and K of those that kernels have.
    """
    drawn: list[ProblemCase] = []
    while len(drawn) < PROBLEMS:
        tile = draw.choice(tiles)
        if len(drawn) % 2:
            counts = (*draw.choice(((1, 1), (1, 2), (2, 1))), draw.randint(1, 5))
            lengths = tuple(map(mul, tile, counts))
        else:
            lengths = tuple(draw.choice((1, 2, 8, 16)) * draw.randint(1, 24) for _ in tile)
        if math.prod(lengths) <= LARGEST_PRODUCT:
            drawn.append(as_case(GemmProblem(m=lengths[0], n=lengths[1], k=lengths[2])))
    return drawn


def with_operation(case: ProblemCase, direction: object, operation: object) -> ProblemCase:
    """Return a convolution with an element-wise operation on its result, or as it is for ``None``."""
    if operation is None:
        return case
    assert isinstance(case.problem, Convolution)
    combination = Combination.parse(str(operation))
    return replace(case, problem=FusedConvProblem.of(case.problem, combination, RESULTS[str(direction)]))


def _problems(draw: random.Random, kernels: Sequence[Candidate]) -> Iterator[ProblemCase]:
    """Yield problems for each number of dimensions and operation that kernels of one direction have."""
    fields = [one.instance.fields() for one in kernels]
    merged = max(int(one.get("num_groups_to_merge") or 1) for one in fields)
    for ndim in sorted({one.instance.ndim for one in kernels}):
        if ndim:
            for operation in dict.fromkeys(one.get("elementwise_op") for one in fields):
                # half as many for each of many operations
                for case in convolutions(draw, ndim, merged)[: PROBLEMS // 2 if operation else PROBLEMS]:
                    yield with_operation(case, fields[0]["direction"], operation)
        else:
            tiles = {tuple(int(one[f"tile_{axis}"] or 0) for axis in "mnk") for one in fields}
            yield from products(draw, sorted(tiles))


def run_some(profiler: Profiler, record: Record, kernels: Sequence[Candidate]) -> list[Outcome]:
    """Compile kernels of one direction together, run them, and say what became of each."""
    outcomes = {one.instance.key: Outcome(one.instance.key, record.source_of(one)) for one in kernels}
    instances = {one.instance.key: one.instance for one in kernels}
    draw = random.Random(kernels[0].instance.key)
    for attempt in range(DRAWS):
        left = [one for one in kernels if outcomes[one.instance.key].right < ENOUGH]
        left = [one for one in left if outcomes[one.instance.key].failure == RAN]
        if not left:
            break
        alike = tuple(replace(one, index=place) for place, one in enumerate(left))
        request = RunRequest(
            selection=Selection(conversions=(), candidates=alike, source="shipped lists"),
            problems=tuple(_problems(draw, left)),
            build=BuildOptions(
                target="hip",
                arch=record.arch,
                device="emulated:check=all",
                jobs=1,
                compile_timeout_s=3600,
            ),
            options=RunOptions(
                device=f"emulated:seed={attempt},threads=1",
                checks=("all",),
                max_time_s=0,
                warmup=0,
                rounds=1,
                sessions=1,
                timeout_s=600,
                splits=SPLITS.get(left[0].instance.direction, (1,)),
            ),
        )
        for result in profiler.execute(request):
            one = outcomes[result.instance.key]
            if result.status is Status.OK:
                one.right += 1
            elif result.status in (Status.COMPILE_ERROR, Status.COMPILE_TIMEOUT):
                one.failure = result.reason or result.status.value
            elif result.status is Status.UNSUPPORTED:
                # kernels of other dimensions and operations are beside those that a convolution is drawn for
                one.unsupported += int(_is_meant(result.problem, instances[one.key]))
            else:
                where = f"{result.problem.describe()} split {result.outcome.split_k}"
                one.wrong.append(f"{where}: {result.status.value}: {result.reason}")
    names = {one.instance.key: one.name for one in kernels}
    for one in outcomes.values():
        for text in filter(None, (one.failure, *one.wrong)):
            print(f"{names[one.key]}: {text}", flush=True)
    total = Counter[str]()
    for one in outcomes.values():
        total.update(right=one.right, wrong=len(one.wrong), failed=int(bool(one.failure)))
    print(f"{len(names)} kernels: " + ", ".join(f"{n} {name}" for name, n in total.items()), flush=True)
    return list(outcomes.values())


def _is_meant(problem: Problem, instance: Instance) -> bool:
    """Say whether a problem was drawn for kernels such as this one."""
    if not isinstance(problem, Convolution):
        return True
    combination = elementwise_of(problem)
    asked = combination.operation.value if combination else None
    return problem.ndim == instance.ndim and asked == instance.fields().get("elementwise_op")


def main() -> None:
    """Compile and run for as long as was asked for, or print the table."""
    parser = argparse.ArgumentParser(description="kernels of the shipped lists on the emulated AMD device")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="compile and run what has no outcome yet")
    run.add_argument("--minutes", type=float, default=60.0)
    run.add_argument("--sample", action="store_true", help="one kernel of each kind")
    run.add_argument("--only", default="", help="a part of the names of lists or kernels")
    count = commands.add_parser("table", help="print the table of docs/amd.md")
    count.add_argument("--level", default=API_LEVEL_2025_11)
    for command in (run, count):
        command.add_argument("--arch", default=ARCH)
        command.add_argument("--fused", action="store_true", help="lists with an element-wise operation")
    asked = parser.parse_args()
    if asked.command == "table":
        print("\n".join(table(Record(asked.arch, asked.level), fused=asked.fused)))
    else:
        end = time.monotonic() + 60 * asked.minutes
        run_until(asked.arch, asked.only, end, fused=asked.fused, sample=asked.sample)


def run_until(arch: str, only: str, end: float, *, fused: bool, sample: bool) -> None:
    """Compile and run kernels that have no outcome yet.

    :param only: a part of the names of lists or kernels.
    :param end: when to begin with no more, in monotonic seconds.
    :param fused: those of lists with an element-wise operation, or of lists without.
    :param sample: one of each kind.
    """
    recipe = HipTarget().recipe(BuildRequest(arch=arch, purpose=Purpose.INSPECT))
    digests = FolderDigests(ObjectCache(object_cache_dir()).folder_digests)
    headers = recipe.include_dirs[0] / "ck_tile"
    compiled_by = {"compiler": recipe.compiler.description, "headers": digests.of(headers)}
    record = Record(arch, recipe.api_level, compiled_by)
    kernels: dict[str, Candidate] = {}
    found = expressed(arch, recipe.api_level, fused=fused)
    every = [one for _, _, valid in found for one in valid]
    for one in one_of_each(every) if sample else every:
        kernels.setdefault(one.instance.key, one)
    known = record.known(kernels.values())
    profiler = Profiler()
    for group in in_order(kernels, known, only):
        if time.monotonic() < end:
            record.add(run_some(profiler, record, group))
    print(f"{len(record.known(kernels.values()))} of {len(kernels)} known", flush=True)


if __name__ == "__main__":
    main()
