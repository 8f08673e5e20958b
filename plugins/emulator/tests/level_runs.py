"""Compile and run kernels of the shipped lists on the emulated AMD device, and count them for its pages.

.. code-block:: text

    CK_ROOT=DIR python -m plugins.emulator.tests.level_runs run [--arch ARCH] [--fused] [--sample] ...
    python -m plugins.emulator.tests.level_runs table [--arch ARCH] [--fused] [--level LEVEL]
    python -m plugins.emulator.tests.level_runs summary

Compiles and runs what has no outcome yet, kernels of one tile together: on random convolutions and products
with all checks of the device, until each kernel has supported :data:`ENOUGH` of them. A kernel that several
lists have runs once. Lists with an element-wise operation (``--fused``) have the tiles of those without: a
sample of them may do, of one kernel of each kind (:func:`one_of_each`). Outcomes are stored as soon as they
are known (:mod:`plugins.emulator.tests.run_record`).
"""

import argparse
import random
import time
from collections import Counter
from dataclasses import replace

from ckprof import Profiler
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.choose import Selection
from ckprof.kernels.keys import FolderDigests
from ckprof.kernels.requests import BuildOptions
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import RunRequest
from ckprof.model.architecture import API_LEVEL_2025_11
from ckprof.model.outcome import Status
from ckprof.model.problem_case import AUTO
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.paths import object_cache_dir
from ckprof_plugins.targets.hip.target import HipTarget
from plugins.emulator.tests.run_record import RAN, Outcome, Record, expressed, summary, table
from tests.plugins.pipelines.drawn_problems import drawn_problems, is_meant
from tests.plugins.pipelines.level_counts import ARCH

#: fields of which most that a kernel uses depends: compiled once for those that agree in them
TILE = (
    *("direction", "dtype", "tile_m", "tile_n", "tile_k", "wave_grid_m", "wave_grid_n", "wave_grid_k"),
    *("mma_tile_m", "mma_tile_n", "mma_tile_k"),
)
#: fields that tell kinds of kernels apart, of which a sample has one each
KIND = ("direction", "elementwise_op", "dtype", "ndim", "layout", "gemm_pipeline")
#: kernels that are compiled, run and recorded together, unless one tile has more
TOGETHER = 30
#: runs of a kernel that support what was drawn, after which nothing more is drawn for it
ENOUGH = 3
#: how often problems are drawn for kernels that support few
DRAWS = 4
#: parts of what was drawn that run one after the other: most kernels have enough after the first
PARTS = 3
#: numbers of splits of the reduction
SPLITS = {"bwd_weight": (1, 2, AUTO)}


def in_order(kernels, known, only):
    """Yield what is compiled and run together: whole tiles, since a tile's first kernel costs most of it.

    :param kernels: by content key.
    :param known: keys of those that have an outcome.
    :param only: a part of the names of lists or kernels.
    """
    wanted = [one for one in kernels.values() if only in f"{one.source} {one.name}"]
    left = [one for one in wanted if one.instance.key not in known]
    for alike in grouped(left, ("direction", "dtype")):
        together = []
        for of_a_tile in grouped(alike, TILE):
            if together and len(together) + len(of_a_tile) > TOGETHER:
                yield together
                together = []
            together = together + of_a_tile
        yield together


def grouped(kernels, fields):
    """Return the kernels that agree in some fields, each group as a list."""
    groups = {}
    for one in kernels:
        groups.setdefault(_values(one, fields), []).append(one)
    return list(groups.values())


def _values(kernel, fields):
    values = kernel.instance.fields()
    return tuple(values.get(field) for field in fields)


def one_of_each(kernels, kind=KIND):
    """Return one kernel of each kind, of the tile that most kinds have.

    :param kind: fields that tell kinds apart.
    """
    kinds = grouped(kernels, kind)
    tiles = Counter(tile for alike in kinds for tile in {_values(one, TILE) for one in alike})
    return [max(alike, key=lambda one: tiles[_values(one, TILE)]) for alike in kinds]


def run_some(profiler, record, kernels, problems=drawn_problems, splits=SPLITS):
    """Compile kernels of one direction together, run them, and say what became of each.

    :param problems: draws problems for instances.
    :param splits: direction -> numbers of splits of the reduction.
    """
    outcomes = {one.instance.key: Outcome(one.instance.key, record.source_of(one)) for one in kernels}
    by_key = {one.instance.key: one for one in kernels}
    draw = random.Random(kernels[0].instance.key)
    for attempt in range(DRAWS * PARTS):
        left = [one for one in kernels if outcomes[one.instance.key].right < ENOUGH]
        left = [one for one in left if outcomes[one.instance.key].failure == RAN]
        if not left:
            break
        if attempt % PARTS == 0:
            drawn = tuple(problems(draw, [one.instance for one in left]))
        alike = tuple(replace(one, index=place) for place, one in enumerate(left))
        request = RunRequest(
            selection=Selection(conversions=(), candidates=alike, source="shipped lists"),
            problems=drawn[attempt % PARTS :: PARTS],
            build=BuildOptions(
                target="hip", arch=record.arch, device="emulated:check=all", jobs=1, compile_timeout_s=3600
            ),
            options=RunOptions(
                device=f"emulated:seed={attempt},threads=1",
                checks=("all",),
                max_time_s=0,
                warmup=0,
                rounds=1,
                passes=1,
                timeout_s=600,
                splits=splits.get(left[0].instance.direction, (1,)),
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
                one.unsupported += int(is_meant(result.problem, by_key[one.key].instance))
            else:
                where = f"{result.problem.describe()} split {result.outcome.split_k}"
                one.wrong.append(f"{where}: {result.status.value}: {result.reason}")
    for one in outcomes.values():
        for text in filter(None, (one.failure, *one.wrong)):
            print(f"{by_key[one.key].name}: {text}", flush=True)
    total = Counter[str]()
    for one in outcomes.values():
        total.update(right=one.right, wrong=len(one.wrong), failed=int(bool(one.failure)))
    print(f"{len(kernels)} kernels: " + ", ".join(f"{n} {name}" for name, n in total.items()), flush=True)
    return list(outcomes.values())


def main():
    """Compile and run for as long as was asked for, or print the table."""
    parser = argparse.ArgumentParser(description="kernels of the shipped lists on the emulated AMD device")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="compile and run what has no outcome yet")
    run.add_argument("--minutes", type=float, default=60.0)
    run.add_argument("--sample", action="store_true", help="one kernel of each kind")
    run.add_argument("--only", default="", help="a part of the names of lists or kernels")
    count = commands.add_parser("table", help="print the table of docs/kernels-that-ran.md of the package")
    count.add_argument("--level", default=API_LEVEL_2025_11)
    commands.add_parser("summary", help="print the sums of all records")
    for command in (run, count):
        command.add_argument("--arch", default=ARCH)
        command.add_argument("--fused", action="store_true", help="lists with an element-wise operation")
    asked = parser.parse_args()
    if asked.command == "summary":
        print("\n".join(summary()))
    elif asked.command == "table":
        print("\n".join(table(Record(asked.arch, asked.level), fused=asked.fused)))
    else:
        end = time.monotonic() + 60 * asked.minutes
        run_until(asked.arch, asked.only, end, fused=asked.fused, sample=asked.sample)


def run_until(arch, only, end, *, fused, sample):
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
    kernels = {}
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
