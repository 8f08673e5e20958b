"""What kernels of the old library ask of problems is among those that are drawn for them."""

import math
import random

import pytest

pytest.importorskip("ckprof_plugins.emulator", reason="nothing runs without the emulated device")

from plugins.old_ck.tests.line_problems import needed, problems
from plugins.old_ck.tests.line_runs import shipped

pytestmark = pytest.mark.thorough


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


@pytest.mark.parametrize("specialization", ["Default", "Filter1x1Stride1Pad0"])
def test_kernels_get_what_fills_their_pipelines(specialization):
    every = [one.instance for one in shipped("tests").values() if one.instance.direction == "fwd"]
    found = [(one, one.fields()) for one in every]
    asked = (specialization, 128)
    deep = next(one for one, said in found if (said["specialization"], said["tile_k"]) == asked)
    drawn = [case.problem for case in problems(random.Random(0), [deep])]
    fitting = [one for one in drawn if {*one.filter, *one.strides} == {1} and one.in_channels > 8 * 128]
    assert [one.in_channels for one in fitting] == [9 * 128, 10 * 128]
