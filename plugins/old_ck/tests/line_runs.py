"""Compile and run the old library's kernels of the shipped lists on the emulated AMD device, and count them.

.. code-block:: text

    CK_ROOT=DIR python -m plugins.old_ck.tests.line_runs run [--arch ARCH] [--set profiler] [--part 1/2] ...
    python -m plugins.old_ck.tests.line_runs table [--arch ARCH]
    python -m plugins.old_ck.tests.line_runs kinds

Compiles and runs what has no outcome yet, on random convolutions with all checks of the device, as
:mod:`plugins.emulator.tests.level_runs` does with kernels of CK Tile: every type that a line of the lists for
tests names, and one of each kind that lists for profilers have and of which no kernel has an outcome. Classes
alternate, so that a short time has some of each. Processes with ``--part 1/2`` and ``--part 2/2`` share the
work.
"""

import argparse
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
from plugins.old_ck.tests.line_problems import problems

ARCH = "gfx942"
RECORDS = Path(__file__).parent / "data" / "ran"
#: what is compiled, run and recorded together: what kernels of a class share is compiled once
TOGETHER = 16
CLASS = ("direction", "old_class")
#: kernels that agree in these share the most
ALIKE = (*CLASS, "dtype", "dtype_b", "dtype_result", "d_dtypes", "elementwise_op", "ndim")
#: fields that tell kinds apart
KIND = (*ALIKE, "specialization", "scheduler", "version", "num_groups_to_merge")
#: numbers of splits of the reduction
SPLITS = {"bwd_data": (1, 2), "bwd_weight": (1, 2, AUTO)}
SETS = ("tests", "profiler")


@cache
def shipped(name):
    """Return content key -> kernel, of all lists of a set."""
    profiler = Profiler()
    lists = (path.relative_to(conf_root()) for path in sorted(conf_root().rglob(f"{name}/*.conf")))
    queries = (InstanceQuery(conf=str(path.with_suffix("")), pipelines=(OLD_CK,)) for path in lists)
    return {one.instance.key: one for query in queries for one in profiler.instances(query).candidates}


def kinds():
    """Return the kernels of all lists, each once, those of each kind as a list."""
    return grouped({key: one for name in SETS for key, one in shipped(name).items()}.values(), KIND)


def without_outcome(name, record):
    """Return the kernels of a set that are to be run, by content key: all types, or one of each open kind."""
    if name != SETS[0]:
        return one_of_open_kinds(record)
    known = record.known(shipped(name).values())
    return {key: one for key, one in shipped(name).items() if key not in known}


def one_of_open_kinds(record):
    """Return one kernel of each kind of which none has an outcome, by content key.

    Which one does not depend on the outcomes, so that several processes choose the same.
    """
    every = kinds()
    chosen = one_of_each([one for alike in every for one in alike], KIND)
    pairs = zip(chosen, every, strict=True)
    return {one.instance.key: one for one, alike in pairs if not record.known(alike)}


def in_order(kernels):
    """Yield what is compiled and run together: kernels of one class, classes in round-robin order.

    :param kernels: by content key.
    """
    alike = [one for same in grouped(kernels.values(), ALIKE) for one in same]
    for groups in zip_longest(*(batched(one) for one in grouped(alike, CLASS))):
        yield from (_named_apart(group) for group in groups if group)


def batched(kernels):
    """Return the kernels in groups of :data:`TOGETHER`."""
    return [kernels[start : start + TOGETHER] for start in range(0, len(kernels), TOGETHER)]


def _named_apart(kernels):
    """Return kernels of several lists under names that differ."""
    names = KernelNames()
    return [replace(one, name=names.take(one.name, one.instance)) for one in kernels]


def table(record):
    """Return the lines of a table with a row for each class of the lists for tests, and their sums."""
    lines = [f"| class | types | {' | '.join(COUNTED)} |", "|---" * (2 + len(COUNTED)) + "|"]
    every = [*shipped(SETS[0]).values()]
    plain = [one for one in every if one.instance.elementwise_op is None]
    rows = [(alike[0].instance.old_class, alike) for alike in grouped(every, CLASS)]
    for name, alike in (*rows, ("those without an operation", plain), ("each type once", every)):
        lines.append(row(name, str(len(alike)), record.known(alike).values()))
    return lines


def kinds_table(record):
    """Return the lines of a table with a row for each operation: its kinds, and outcomes of their kernels."""
    lines = [
        f"| operation | kinds | with an outcome | {' | '.join(COUNTED)} |",
        "|---" * (3 + len(COUNTED)) + "|",
    ]
    every = kinds()
    by_operation = {}
    for alike in every:
        by_operation.setdefault(alike[0].instance.elementwise_op, []).append(alike)
    rows = [(operation.value if operation else "none", of) for operation, of in by_operation.items()]
    for name, of in (*rows, ("each kind once", every)):
        outcomes = [[*record.known(alike).values()] for alike in of]
        some = [found for found in outcomes if found]
        lines.append(row(name, f"{len(of)} | {len(some)}", [one for found in some for one in found]))
    return lines


def sums():
    """Return the lines of a table with a row for each architecture: outcomes of kernels of all lists."""
    lines = [f"| architecture | types | {' | '.join(COUNTED)} |", "|---" * (2 + len(COUNTED)) + "|"]
    every = [one for alike in kinds() for one in alike]
    for path in sorted(RECORDS.glob(f"*_{LEVELS[-1]}.jsonl")):
        record = Record(path.stem.partition("_")[0], LEVELS[-1], folder=RECORDS)
        lines.append(row(record.arch, str(len(every)), record.known(every).values()))
    return lines


def first_of_kinds():
    """Return list -> numbers of its kernels: the first of each kind that lines for tests do not have.

    Those without an operation, all of which are compared.
    """
    numbers = {}
    plain = {key for key, one in shipped(SETS[0]).items() if one.instance.elementwise_op is None}
    for first, *others in kinds():
        if not any(one.instance.key in plain for one in (first, *others)):
            path = Path(first.source.rpartition(":")[0]).relative_to(conf_root()).with_suffix("")
            numbers.setdefault(path.as_posix(), []).append(first.index)
    return numbers


def main():
    """Compile and run for as long as was asked for, or print the table."""
    parser = argparse.ArgumentParser(description="kernels of the old library on the emulated AMD device")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="compile and run what has no outcome yet")
    run.add_argument("--minutes", type=float, default=60.0)
    run.add_argument("--set", choices=SETS, default=SETS[0], help="profiler: one kernel of each kind")
    run.add_argument("--only", type=re.compile, default="", help="a regular expression of list and kernel")
    run.add_argument("--part", type=part, default=(1, 1), metavar="K/N", help="of N processes this is K")
    commands.add_parser("kinds", help="print lists, and numbers for --instance of 'ckprof migrate'")
    count = commands.add_parser("table", help="print the tables of docs/old-ck.md of the package")
    for command in (run, count):
        command.add_argument("--arch", default=ARCH)
    asked = parser.parse_args()
    if asked.command == "kinds":
        for name, numbers in first_of_kinds().items():
            print(name, ",".join(map(str, numbers)))
        return
    if asked.command == "table":
        record = Record(asked.arch, LEVELS[-1], folder=RECORDS)
        print("\n".join([*table(record), "", *kinds_table(record), "", *sums()]))
        return
    end = time.monotonic() + 60 * asked.minutes
    record = open_record(asked.arch)
    every = without_outcome(asked.set, record).items()
    left = {key: one for key, one in every if asked.only.search(f"{one.source} {one.name}")}
    own = of_part(left, *asked.part)
    print(f"{len(own)} of {len(left)} kernels without an outcome", flush=True)
    run_until(record, own, end)


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


def open_record(arch):
    """Return the outcomes of an architecture, to which further ones of this compiler and tree are added."""
    recipe = HipTarget().recipe(BuildRequest(arch=arch, purpose=Purpose.INSPECT))
    digests = FolderDigests(ObjectCache(object_cache_dir()).folder_digests)
    headers = recipe.include_dirs[0] / "ck"
    compiled_by = {"compiler": recipe.compiler.description, "headers": digests.of(headers)}
    return Record(arch, recipe.api_level, compiled_by, RECORDS)


def run_until(record, kernels, end):
    """Compile and run kernels, by content key.

    :param end: when to begin with no more, in monotonic seconds.
    """
    profiler = Profiler()
    done = 0
    for group in in_order(kernels):
        if time.monotonic() < end:
            before = cpu_seconds()
            record.add(run_some(profiler, record, group, problems, SPLITS))
            done += len(group)
            print(f"{len(group)} kernels: {cpu_seconds() - before:.0f} CPU s", flush=True)
    print(f"{done} of {len(kernels)} done", flush=True)


if __name__ == "__main__":
    main()
