"""Which kernels of lists are run, in which order and on what, and how their outcomes are counted."""

import math
import random
from pathlib import Path

import pytest

from ckprof_plugins.old_ck.cpp_types import LEVELS, cpp_type

pytest.importorskip("ckprof_plugins.emulator", reason="nothing runs without the emulated device")

from plugins.emulator.tests.run_record import Outcome, Record
from plugins.old_ck.tests.line_runs import (
    ARCH,
    KINDS,
    RECORDS,
    TOGETHER,
    in_order,
    needed,
    problems,
    samples,
    shipped,
    sums,
    table,
    wanted,
    without_outcome,
)

pytestmark = pytest.mark.thorough
LEVEL = LEVELS[-1]


def kinds(kernels, fields):
    return [tuple(one.instance.fields().get(field) for field in fields) for one in kernels]


def test_each_type_comes_once_and_one_of_each_kind_first():
    kernels = wanted("tests")
    types = {
        cpp_type(one.instance.old_class, one.instance.arguments, LEVEL, one.instance.elementwise_op)
        for one in kernels.values()
    }
    assert len(types) == len(kernels) == 1636
    known = set(list(kernels)[::3])
    groups = list(in_order(kernels, known))
    order = [one for group in groups for one in group]
    assert len(order) == len(kernels) - len(known)
    assert {one.instance.key for one in order} == kernels.keys() - known
    assert all(len({one.name for one in group}) == len(group) <= TOGETHER for group in groups)
    coarse = set(kinds(kernels.values(), KINDS[0]))
    groups = list(in_order(kernels, set()))
    first = [one for group in groups for one in group][: len(coarse)]
    assert set(kinds(first, KINDS[0])) == coarse
    # a short time has some of each class
    classes = {one.instance.old_class for one in kernels.values()}
    assert {group[0].instance.old_class for group in groups[: len(classes)]} == classes


def test_kinds_with_an_outcome_are_not_among_the_first():
    kernels = wanted("tests")
    known = {one.instance.key for one in samples(kernels)[:40]} | {list(kernels)[-1]}
    done = set(kinds((kernels[key] for key in known), KINDS[0]))
    left = kinds(kernels.values(), KINDS[0])
    first = kinds(without_outcome(kernels, known, KINDS[0]), KINDS[0])
    assert done and sorted(first, key=str) == sorted(set(left) - done, key=str)


def test_of_lists_for_profilers_one_of_each_kind_is_run():
    chosen, every = wanted("profiler").values(), shipped("profiler").values()
    found = kinds(chosen, KINDS[1])
    assert set(found) == set(kinds(every, KINDS[1]))
    assert len(chosen) < 2 * len(set(found)) < len(every) / 2


def test_kernels_that_merge_groups_get_groups_of_one_channel():
    merging = [one.instance for one in shipped("tests").values() if one.instance.direction == "fwd"]
    merging = [one for one in merging if one.fields()["num_groups_to_merge"] == 16][:1]
    drawn = [case.problem for case in problems(random.Random(0), merging)]
    fitting = [one for one in drawn if one.in_channels == one.out_channels == 1 and not one.groups % 16]
    assert len(fitting) >= 6 and {one.filter for one in fitting} == {(3,) * merging[0].ndim}
    assert len({(one.input, one.strides) for one in fitting}) > 3


def test_filters_of_merged_groups_fit_into_a_tile_of_backward_weight():
    two_stage = [one.instance for one in shipped("tests").values() if one.instance.ndim == 3]
    merging = [one for one in two_stage if one.old_class == "backward_weight_two_stage"]
    widest = max(merging, key=lambda one: one.fields()["num_groups_to_merge"])
    along_n, together = (widest.fields()[name] for name in ("tile_n", "num_groups_to_merge"))
    drawn = [case.problem for case in problems(random.Random(0), [widest])]
    fitting = [
        one
        for one in drawn
        if one.in_channels == one.out_channels == 1
        and not one.groups % together
        and 1 < math.prod(one.filter) <= along_n // together
    ]
    assert together == 8 and len(fitting) >= 3


def test_vectors_of_backward_weight_divide_the_channels_of_long_reductions():
    every = [one.instance for one in shipped("tests").values()]
    found = next(one for one in every if needed(one) and one.fields()["vector_size_b"] == 7)
    drawn = [case.problem for case in problems(random.Random(0), [found])]
    fitting = [one for one in drawn if not one.in_channels % 7]
    steps = [one.batch * math.prod(one.output) / found.fields()["tile_k"] for one in fitting]
    assert found.fields()["version"] == "v5" and len(fitting) >= 2 and max(steps) >= 10
    assert not any(needed(one) for one in every if one.direction == "fwd")


def test_kernels_of_small_filters_get_what_fills_their_pipelines():
    every = [one.instance for one in shipped("tests").values() if one.instance.direction == "fwd"]
    found = [(one, one.fields()) for one in every]
    asked = ("Filter1x1Stride1Pad0", 128)
    deep = next(one for one, said in found if (said["specialization"], said["tile_k"]) == asked)
    drawn = [case.problem for case in problems(random.Random(0), [deep])]
    fitting = [one for one in drawn if {*one.filter, *one.strides} == {1} and one.in_channels > 8 * 128]
    assert [one.in_channels for one in fitting] == [9 * 128, 10 * 128]


def test_outcomes_are_counted_for_their_classes(tmp_path):
    record = Record(ARCH, LEVEL, {"compiler": "clang 22"}, tmp_path)
    first, second = list(wanted("tests").values())[:2]
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
    for lines in (table(Record(ARCH, LEVEL, folder=RECORDS)), sums()):
        assert "\n".join(["", *lines, ""]) in document
