"""The second problems of all shipped families: kernels support them, and they show what they are for."""

import math
import operator

import pytest

import ckprof
from ckprof_plugins.pipelines.boundary_problems import LONG, drawn

#: list -> whether all of its kernels have second problems with several groups
LISTS = {
    "forward/tests/nhwgc_fp16": True,
    "forward/bias_clamp/tests/ndhwgc_bf16": True,
    "forward/tests/ngchw_depthwise": True,
    "backward_data/tests/nhwgc_fp32": True,
    "backward_weight/tests/nhwgc_bf16_streamk": True,
    "backward_weight/bilinear/tests/ndhwgc_fp16": True,
    "gemm/universal/rrr_fp32": False,
}


def seconds(conf):
    candidates = ckprof.Profiler().instances(ckprof.InstanceQuery(conf=conf)).candidates
    return [(one.instance, one.pipeline.second_problems(one.instance)) for one in candidates]


@pytest.mark.parametrize("conf", LISTS)
def test_they_are_less_work_than_the_usual_problem(conf):
    for instance, kinds in seconds(conf):
        for alternatives in kinds:
            assert alternatives[-1].flop <= 241e6, (instance, alternatives[-1].describe())


@pytest.mark.parametrize("conf", [conf for conf, grouped in LISTS.items() if grouped])
def test_convolutions_have_what_hides_faults(conf):
    for instance, kinds in seconds(conf):
        problems = [problem for alternatives in kinds for problem in alternatives]
        assert any(problem.groups > 1 and problem.batch > 1 for problem in problems), instance
        if getattr(instance, "specialization", None) is None or math.prod(problems[0].filter) == 1:
            continue
        first = next(one for one in problems if one.groups > 1 and max(one.strides) > 1)
        assert len({*first.strides}) == len({*first.dilations}) == instance.ndim or instance.ndim == 3
        assert first.left_pads != first.right_pads


def test_products_have_gaps_between_lines():
    for instance, ((several, *_), *_) in seconds("gemm/universal/rrr_fp32"):
        for name, letters in (("a", "mk"), ("b", "kn"), ("e", "mn")):
            order = instance.layout.order(name).lower()
            assert {*order} == {*letters} and several.stride(name) > getattr(several, order[1])


@pytest.mark.parametrize("conf", ["forward/tests/nhwgc_fp16", "backward_weight/tests/ndhwgc_bf16"])
def test_one_group_has_single_taps_with_strides_and_one_row_more_than_tiles(conf):
    for instance, kinds in seconds(conf):
        alone = [one for alternatives in kinds for one in alternatives if one.groups == 1]
        if instance.num_groups_to_merge > 1:
            continue
        assert any(one.batch * math.prod(one.output) % 64 == 1 for one in alone), instance
        if "stride1" not in instance.specialization.value:
            taps = [one for one in alone if math.prod(one.filter) == 1 and math.prod(one.output) > 1]
            assert any(min(one.strides) > 1 for one in taps) or instance.ndim == 3, instance
            # three splits of steps of 16 or 32 leave the last one empty
            assert any(one.batch * math.prod(one.output) == 64 for one in taps), instance


def test_tiles_of_images_have_a_tail_of_one_column():
    found = seconds("forward/tests/ngchw_depthwise")
    tails = {problem.output[-1] % instance.tile_w for instance, ((problem,), *_) in found}
    assert tails == {1, 7}


@pytest.mark.parametrize("conf", ["forward/tests/nhwgc_fp16", "backward_weight/tests/ndhwgc_bf16"])
def test_the_kernels_of_a_list_see_all_boundaries(conf):
    problems = [
        problem
        for instance, kinds in seconds(conf)
        for alternatives in kinds
        for problem in alternatives
        if instance.num_groups_to_merge == 1 and "default" in instance.specialization.value
    ]
    # rows and columns of the products, whichever direction computes them
    rows = {problem.batch * math.prod(problem.output) for problem in problems}
    sizes = {*rows, *(one.out_channels for one in problems), *(one.in_channels for one in problems)}
    assert LONG in rows and {256, 264, 248} <= sizes and (257 in sizes) == conf.startswith("forward")
    for name in ("out_channels", "in_channels", "groups"):
        assert any(LONG <= getattr(problem, name) < LONG + 8 for problem in problems), name
    # an image that is the filter, and windows that lie in the pads alone
    assert any(max(one.output) == 1 and one.input == one.filter != (1,) * one.ndim for one in problems)
    assert any(all(map(operator.ge, one.left_pads, one.filter)) for one in problems)


def test_a_kernel_is_verified_on_half_of_the_drawn_problems_always_on_the_same():
    kinds = [*range(9)]
    found = [drawn(str(number), kinds) for number in range(20)]
    assert all(len(one) == 5 and one == sorted({*one}) for one in found)
    assert found == [drawn(str(number), kinds) for number in range(20)]
    assert {kind for one in found for kind in one} == {*kinds}
