"""Compile and run the old library's kernels of the shipped lists on the emulated AMD device, and count them.

.. code-block:: text

    CK_ROOT=DIR python -m plugins.old_ck.tests.line_runs run [--arch ARCH] [--set profiler] [--part 1/2] ...
    python -m plugins.old_ck.tests.line_runs table [--arch ARCH]

Compiles and runs what has no outcome yet, on random convolutions with all checks of the device, as
:mod:`plugins.emulator.tests.level_runs` does with kernels of CK Tile: every type that a line of the lists for
tests names, of those for profilers one of each kind. Kinds that have no outcome at all come first,
and classes alternate, so that a short time has some of each. Processes with ``--part 1/2`` and
``--part 2/2`` share the work.
"""

import argparse
import math
import os
import re
import time
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from pathlib import Path

from ckprof import Profiler
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.candidates import KernelNames
from ckprof.kernels.keys import FolderDigests
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.problem_case import AUTO
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.paths import conf_root, object_cache_dir
from ckprof_plugins.old_ck.cpp_types import LEVELS
from ckprof_plugins.old_ck.lines import OLD_CK
from ckprof_plugins.targets.hip.target import HipTarget
from plugins.emulator.tests.level_runs import grouped, one_of_each, run_some
from plugins.emulator.tests.run_record import COUNTED, Record, row
from tests.plugins.pipelines.drawn_problems import PROBLEMS, convolutions, drawn_problems, with_operation

ARCH = "gfx942"
RECORDS = Path(__file__).parent / "data" / "ran"
#: what is compiled, run and recorded together: what kernels of a class share is compiled once
TOGETHER = 16
CLASS = ("direction", "old_class")
_COARSE = (*CLASS, "dtype", "dtype_b", "dtype_result", "d_dtypes", "elementwise_op", "ndim")
#: fields that tell kinds apart, coarse ones first
KINDS = (
    _COARSE,
    (*_COARSE, "specialization", "scheduler", "version", "num_groups_to_merge"),
)
#: numbers of splits of the reduction
SPLITS = {"bwd_data": (1, 2), "bwd_weight": (1, 2, AUTO)}
#: over what a product of a filter of one element reduces; backward weight does over images, which are drawn
REDUCED = {"fwd": "in_channels", "bwd_data": "out_channels"}
#: blocks along that: pipelines that prefetch ask for more blocks than they prefetch, up to eight
BLOCKS = (2, 9, 10)
SETS = ("tests", "profiler")


@cache
def shipped(name):
    """Return content key -> kernel, of all lists of a set."""
    profiler = Profiler()
    lists = (path.relative_to(conf_root()) for path in sorted(conf_root().rglob(f"{name}/*.conf")))
    queries = (InstanceQuery(conf=str(path.with_suffix("")), pipelines=(OLD_CK,)) for path in lists)
    return {one.instance.key: one for query in queries for one in profiler.instances(query).candidates}


def wanted(name):
    """Return content key -> kernel, of those of a set that are run."""
    every = shipped(name)
    return every if name == SETS[0] else {one.instance.key: one for one in samples(every)}


def samples(kernels):
    """Return one kernel of each kind, each once, those of coarse kinds first."""
    found = (one for kind in KINDS for one in one_of_each(kernels.values(), kind))
    return list({one.instance.key: one for one in found}.values())


def in_order(kernels, known):
    """Yield what is compiled and run together: kinds without an outcome first, classes in round-robin order.

    :param kernels: by content key.
    :param known: keys of those that have an outcome.
    """
    known = set(known)
    for kind in (*KINDS, None):
        left = without_outcome(kernels, known, kind)
        known.update(one.instance.key for one in left)
        # kernels of one type and number of dimensions share the most
        left = [one for alike in grouped(left, KINDS[0]) for one in alike]
        for groups in zip_longest(*(batched(one) for one in grouped(left, CLASS))):
            yield from (_named_apart(group) for group in groups if group)


def without_outcome(kernels, known, kind):
    """Return one kernel of each kind of which none has an outcome.

    :param kernels: by content key.
    :param known: keys of those that have an outcome.
    :param kind: fields that tell kinds apart; ``None``: each kernel is one.
    """
    if kind is None:
        return [one for key, one in kernels.items() if key not in known]
    kinds = grouped(kernels.values(), kind)
    open_ = [alike for alike in kinds if all(one.instance.key not in known for one in alike)]
    return one_of_each([one for alike in open_ for one in alike], kind)


def batched(kernels):
    """Return the kernels in groups of :data:`TOGETHER`."""
    return [kernels[start : start + TOGETHER] for start in range(0, len(kernels), TOGETHER)]


def _named_apart(kernels):
    """Return kernels of several lists under names that differ."""
    names = KernelNames()
    return [replace(one, name=names.take(one.name, one.instance)) for one in kernels]


def problems(draw, instances):
    """Yield problems as other kernels get them, and what some kernels of the old library ask for besides."""
    yield from drawn_problems(draw, instances)
    merged, deep = {}, {}
    for one in instances:
        fields = one.fields()
        kind = (one.direction, one.ndim, fields.get("elementwise_op"))
        groups = int(fields.get("num_groups_to_merge") or 1)
        if groups > 1 or fields["specialization"] == "Filter3x3":
            merged[kind] = max(groups, merged.get(kind, 1))
        if fields["specialization"].startswith("Filter1x1") and one.direction in REDUCED:
            deep[kind] = max(fields["tile_k"], deep.get(kind, 1))
    for (direction, ndim, operation), groups in merged.items():
        # where a tile has the filters of the groups along N, those of 27 elements do not fit
        thin = (1,) * (ndim - 2) if direction == "bwd_weight" else (3,) * (ndim - 2)
        for case in convolutions(draw, ndim)[:PROBLEMS:2]:
            one = replace(case.problem, groups=groups * draw.choice((1, 2)), filter=(*thin, 3, 3))
            one = replace(one, in_channels=1, out_channels=1)
            yield with_operation(replace(case, problem=one), direction, operation)
    for (direction, ndim, operation), depth in deep.items():
        # every fourth has a filter of one element
        for case, blocks in zip(convolutions(draw, ndim)[1::4], BLOCKS, strict=True):
            channels = {"in_channels": 16, "out_channels": 16, REDUCED[direction]: blocks * depth}
            one = replace(case.problem, groups=1, batch=1, **channels)
            yield with_operation(replace(case, problem=one), direction, operation)
    for need in dict.fromkeys(filter(None, map(needed, instances))):
        yield from long_reductions(draw, *need)


def needed(one):
    """Return what a kernel of backward weight needs that other problems lack; ``None``: nothing.

    Vectors along the channels that do not divide 16, or blocks for a pipeline that prefetches the most.

    :return: arguments of :func:`long_reductions`.
    """
    said = one.fields()
    if one.direction != "bwd_weight":
        return None
    of_k, *of_c = (int(said[f"vector_size_{letter}"]) for letter in "abc")
    if not 16 % math.lcm(*of_c) and said["version"] != "v5":
        return None
    merged, alone = int(said["num_groups_to_merge"] or 1), said["specialization"].startswith("Filter1x1")
    rows = min(3, said["tile_n"] // merged // 3)
    return one.ndim, said.get("elementwise_op"), said["tile_k"], of_k, math.lcm(*of_c), merged, rows, alone


def long_reductions(draw, ndim, operation, tile_k, of_k, of_c, merged, rows, alone):
    """Yield problems of backward weight with the most blocks and with channels that vectors divide.

    :param merged: groups that the kernel computes together, each of one channel.
    :param rows: rows of three elements of the filters of merged groups, which fit into a tile together.
    :param alone: filters have one element.
    """
    drawn = convolutions(draw, ndim)
    for case in drawn[1::4] if alone else drawn[::6]:
        sizes = {"groups": 1, "in_channels": of_c, "out_channels": of_k}
        if merged > 1:
            none, unit = (0,) * ndim, (1,) * ndim
            sizes = {"groups": merged, "in_channels": 1, "out_channels": 1, "dilations": unit}
            sizes |= {
                "filter": (*unit, rows, 3)[-ndim:],
                "left_pads": (*none, 1, 1)[-ndim:],
                "right_pads": none,
            }
        one = replace(case.problem, batch=1, **sizes)
        one = replace(one, batch=-(-BLOCKS[-1] * tile_k // math.prod(one.output)))
        yield with_operation(replace(case, problem=one), "bwd_weight", operation)


def table(record):
    """Return the lines of a table with a row for each class of the lists for tests, and their sums."""
    lines = [f"| class | types | {' | '.join(COUNTED)} |", "|---" * (2 + len(COUNTED)) + "|"]
    every = [*shipped(SETS[0]).values()]
    plain = [one for one in every if one.instance.elementwise_op is None]
    rows = [(alike[0].instance.old_class, alike) for alike in grouped(every, CLASS)]
    for name, alike in (*rows, ("those without an operation", plain), ("each type once", every)):
        lines.append(row(name, str(len(alike)), record.known(alike).values()))
    return lines


def sums():
    """Return the lines of a table with a row for each architecture that has outcomes."""
    lines = [f"| architecture | types | {' | '.join(COUNTED)} |", "|---" * (2 + len(COUNTED)) + "|"]
    every = shipped(SETS[0]).values()
    for path in sorted(RECORDS.glob(f"*_{LEVELS[-1]}.jsonl")):
        record = Record(path.stem.partition("_")[0], LEVELS[-1], folder=RECORDS)
        lines.append(row(record.arch, str(len(every)), record.known(every).values()))
    return lines


def main():
    """Compile and run for as long as was asked for, or print the table."""
    parser = argparse.ArgumentParser(description="kernels of the old library on the emulated AMD device")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="compile and run what has no outcome yet")
    run.add_argument("--minutes", type=float, default=60.0)
    run.add_argument("--set", choices=SETS, default=SETS[0], help="profiler: one kernel of each kind")
    run.add_argument("--only", type=re.compile, default="", help="a regular expression of list and kernel")
    run.add_argument("--part", type=part, default=(1, 1), metavar="K/N", help="of N processes this is K")
    count = commands.add_parser("table", help="print the tables of docs/old-ck.md of the package")
    for command in (run, count):
        command.add_argument("--arch", default=ARCH)
    asked = parser.parse_args()
    if asked.command == "table":
        print("\n".join([*table(Record(asked.arch, LEVELS[-1], folder=RECORDS)), "", *sums()]))
    else:
        end = time.monotonic() + 60 * asked.minutes
        every = wanted(asked.set).items()
        kernels = {key: one for key, one in every if asked.only.search(f"{one.source} {one.name}")}
        run_until(asked.arch, of_part(kernels, *asked.part), end)


def cpu_seconds():
    """Return what this process and those that it waited for have taken."""
    return sum(os.times()[:4])


def part(text):
    """Return which of how many processes a text such as ``1/2`` says this one is."""
    which, of = map(int, text.split("/"))
    if not 1 <= which <= of:
        raise ValueError(text)
    return which, of


def of_part(kernels, which, of):
    """Return those of some kernels that one of several processes runs.

    :param kernels: by content key, which no other process shares.
    """
    return {key: one for key, one in kernels.items() if int(key, 16) % of == which - 1}


def run_until(arch, kernels, end):
    """Compile and run kernels that have no outcome yet.

    :param kernels: by content key.
    :param end: when to begin with no more, in monotonic seconds.
    """
    recipe = HipTarget().recipe(BuildRequest(arch=arch, purpose=Purpose.INSPECT))
    digests = FolderDigests(ObjectCache(object_cache_dir()).folder_digests)
    headers = recipe.include_dirs[0] / "ck"
    compiled_by = {"compiler": recipe.compiler.description, "headers": digests.of(headers)}
    record = Record(arch, recipe.api_level, compiled_by, RECORDS)
    profiler = Profiler()
    for group in in_order(kernels, record.known(kernels.values())):
        if time.monotonic() < end:
            before = cpu_seconds()
            record.add(run_some(profiler, record, group, problems, SPLITS))
            print(f"{len(group)} kernels: {cpu_seconds() - before:.0f} CPU s", flush=True)
    print(f"{len(record.known(kernels.values()))} of {len(kernels)} known", flush=True)


if __name__ == "__main__":
    main()
