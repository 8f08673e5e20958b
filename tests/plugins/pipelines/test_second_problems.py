"""The second problems of all shipped families: kernels support them, and they show what they are for."""

import math

import pytest

import ckprof

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
    for instance, ((several, *_), _) in seconds("gemm/universal/rrr_fp32"):
        for name, letters in (("a", "mk"), ("b", "kn"), ("e", "mn")):
            order = instance.layout.order(name).lower()
            assert {*order} == {*letters} and several.stride(name) > getattr(several, order[1])
