"""Which kernels of lists are run, in which order and on what, and how their outcomes are counted."""

from pathlib import Path

import pytest

from ckprof import Profiler
from ckprof.kernels.requests import InstanceQuery
from ckprof_plugins.old_ck.cpp_types import LEVELS, cpp_type
from ckprof_plugins.old_ck.lines import OLD_CK

pytest.importorskip("ckprof_plugins.emulator", reason="nothing runs without the emulated device")

from plugins.emulator.tests.run_record import Outcome, Record
from plugins.old_ck.tests.line_runs import (
    ARCH,
    CLASS,
    KIND,
    RECORDS,
    TOGETHER,
    first_of_kinds,
    in_order,
    kinds,
    kinds_table,
    one_of_open_kinds,
    shipped,
    sums,
    table,
    without_outcome,
)

pytestmark = pytest.mark.thorough
LEVEL = LEVELS[-1]


def kinds_of(kernels, fields=KIND):
    return {tuple(one.instance.fields().get(field) for field in fields) for one in kernels}


def with_outcomes(kernels, folder):
    record = Record(ARCH, LEVEL, {"compiler": "clang 22"}, folder)
    record.add([Outcome(one.instance.key, record.source_of(one), right=3) for one in kernels])
    return record


def test_each_type_comes_once_and_classes_alternate():
    kernels = shipped("tests")
    types = {
        cpp_type(one.instance.old_class, one.instance.arguments, LEVEL, one.instance.elementwise_op)
        for one in kernels.values()
    }
    assert len(types) == len(kernels) == 1636
    groups = list(in_order(kernels))
    order = [one.instance.key for group in groups for one in group]
    assert len(order) == len(kernels) and set(order) == kernels.keys()
    assert all(len({one.name for one in group}) == len(group) <= TOGETHER for group in groups)
    assert all(len(kinds_of(group, CLASS)) == 1 for group in groups)
    classes = kinds_of(kernels.values(), CLASS)
    first = [one for group in groups[: len(classes)] for one in group]
    assert kinds_of(first, CLASS) == classes


def test_one_kernel_of_each_kind_without_an_outcome_is_run(tmp_path):
    every = {**shipped("tests"), **shipped("profiler")}
    asked = one_of_open_kinds(with_outcomes([], tmp_path))
    assert kinds_of(asked.values()) == kinds_of(every.values()) and len(asked) == len(kinds())
    # the outcome of any kernel of a kind will do, and the others are chosen as before
    last = [alike[-1] for alike in kinds()[::3]]
    left = one_of_open_kinds(with_outcomes(last, tmp_path))
    assert left.items() <= asked.items()
    assert kinds_of(left.values()) == kinds_of(every.values()) - kinds_of(last)


def test_types_with_an_outcome_are_not_run_again(tmp_path):
    kernels = shipped("tests")
    some = list(kernels.values())[::3]
    left = without_outcome("tests", with_outcomes(some, tmp_path))
    assert left.keys() == kernels.keys() - {one.instance.key for one in some}


def test_what_is_compared_has_each_kind_once_beside_the_lines_for_tests():
    every = {**shipped("tests"), **shipped("profiler")}
    plain = [one for one in shipped("tests").values() if one.instance.elementwise_op is None]
    of_list = {name: {} for name in first_of_kinds()}
    for name, own in of_list.items():
        query = InstanceQuery(conf=name, pipelines=(OLD_CK,))
        own |= {one.index: one for one in Profiler().instances(query).candidates}
    chosen = [of_list[name][number] for name, numbers in first_of_kinds().items() for number in numbers]
    assert len(kinds_of(chosen)) == len(chosen)
    assert kinds_of(chosen) == kinds_of(every.values()) - kinds_of(plain)


def test_kinds_are_counted_for_their_operations(tmp_path):
    both = next(alike for alike in kinds() if alike[0].instance.elementwise_op and len(alike) > 1)
    lines = kinds_table(with_outcomes(both[:2], tmp_path))
    name = both[0].instance.elementwise_op.value
    row = next(line for line in lines if line.startswith(f"| {name} |"))
    assert row.endswith("| 1 | 2 | 0 | 2 | 6 | 0 |")
    assert lines[-1] == f"| each kind once | {len(kinds())} | 1 | 2 | 0 | 2 | 6 | 0 |"


def test_outcomes_are_counted_for_their_classes(tmp_path):
    record = Record(ARCH, LEVEL, {"compiler": "clang 22"}, tmp_path)
    first, second = list(shipped("tests").values())[:2]
    assert first.instance.old_class == "backward_data"
    record.add(
        [
            Outcome(
                first.instance.key, record.source_of(first), right=3, wrong=["a problem: wrong_result: 1"]
            ),
            Outcome(second.instance.key, record.source_of(second), "no match"),
        ]
    )
    lines = table(Record(ARCH, LEVEL, folder=tmp_path))
    assert "| backward_data | 128 | 1 | 1 | 1 | 3 | 1 |" in lines
    assert lines[-1] == "| each type once | 1636 | 1 | 1 | 1 | 3 | 1 |"


def test_the_tables_of_the_document_are_counted():
    document = (Path(__file__).parents[1] / "docs" / "old-ck.md").read_text()
    record = Record(ARCH, LEVEL, folder=RECORDS)
    for lines in (table(record), kinds_table(record), sums()):
        assert "\n".join(["", *lines, ""]) in document
