"""Instances without what is fused to them: equal but for that, and named and numbered apart."""

from dataclasses import fields, replace

import pytest

import ckprof
from ckprof.errors import UsageError
from ckprof.kernels.candidates import check_validity, entry_candidates, with_unfused
from ckprof.model.architecture import LATEST_API_LEVEL
from ckprof.model.requirement import UnmetRequirement
from ckprof.plugin.protocols import RuleSetEntry
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import GemmProblem, MultiDProblem
from ckprof_plugins.pipelines.universal_gemm.instance import MultiDGemmInstance
from tests.kernels.toys import toy

FUSED = "forward/bias_clamp/tests/nhwgc_fp16"
PLAIN = "forward/tests/nhwgc_fp16"


def chosen(*lists, **query):
    return ckprof.Profiler().instances(ckprof.InstanceQuery(conf=lists, **query))


def test_an_instance_differs_from_the_one_without_in_what_is_fused_alone():
    before = chosen(FUSED)
    after, pairs = with_unfused(before)
    fields = {one.instance.key: one.instance.fields() for one in after.candidates}
    assert pairs.keys() == {one.instance.key for one in before.candidates}
    for fused, plain in pairs.items():
        differing = fields[fused].items() ^ fields[plain].items()
        assert {name for name, _ in differing} == {"elementwise_op", "d_layouts"}
        assert not {"elementwise_op", "d_layouts"} & fields[plain].keys()
    assert list(after.candidates[: len(before.candidates)]) == list(before.candidates)
    assert len({one.name for one in after.candidates}) == len({one.index for one in after.candidates})
    assert len({one.index for one in after.candidates}) == len(after.candidates)


def test_kernels_without_what_is_fused_join():
    list_name = "forward/convscale_add/tests/ndhwgc_fp8"
    after, pairs = with_unfused(chosen(list_name, indices=(0,)))
    (fused, plain) = (one.instance for one in after.candidates)
    assert pairs == {fused.key: plain.key}
    assert fused.d_dtypes == "fp32" and plain.d_dtypes is None
    assert plain.types.text == "fp8,fp8,fp8"
    after, _ = with_unfused(chosen(FUSED, indices=(3,)))
    assert [one.index for one in after.candidates] == [3, len(chosen(FUSED).candidates)]
    both = chosen(FUSED, PLAIN)
    after, pairs = with_unfused(both)
    there = {one.instance.key for one in both.candidates}
    missing = set(pairs.values()) - there
    assert missing < set(pairs.values())
    assert len(after.candidates) == len(both.candidates) + len(missing)
    with pytest.raises(UsageError, match=f"nothing is fused to the kernels of {PLAIN}"):
        with_unfused(chosen(PLAIN))


def test_products_with_further_matrices_have_it_too():
    pipeline = ckprof.Profiler().registry.pipelines.find("universal_gemm")
    product = chosen("gemm/universal/rcr_fp16").candidates[0].instance
    shared = {each.name: getattr(product, each.name) for each in fields(product)}
    combined = MultiDGemmInstance(**shared, elementwise_op=ElementwiseOp.MULTI_D_ADD, num_d_tensors=2)
    assert pipeline.unfused(combined) == product
    assert pipeline.unfused(product) is None
    problem = MultiDProblem(
        m=4, n=5, k=6, stride_a=7, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(9,)
    )
    assert problem.unfused == GemmProblem(m=4, n=5, k=6, stride_a=7)


@pytest.fixture(scope="module")
def candidates():
    query = ckprof.InstanceQuery(conf="forward/tests/nhwgc_fp16")
    return ckprof.Profiler().instances(query).candidates


def test_what_pipelines_reject_is_invalid_with_every_reason(candidates):
    valid, invalid = check_validity(candidates, "gfx942", LATEST_API_LEVEL)
    assert valid and len(valid) + len(invalid) == len(candidates)
    for one in invalid:
        expected = one.candidate.pipeline.unmet_requirements(
            one.candidate.instance, "gfx942", LATEST_API_LEVEL
        )
        assert one.unmet_requirements == tuple(expected)
    valid, invalid = check_validity(candidates, "gfx1201", LATEST_API_LEVEL)
    assert not valid and all(one.reason.endswith(")") for one in invalid)


def test_a_known_defect_comes_first(candidates):
    valid = check_validity(candidates, "gfx942", LATEST_API_LEVEL)[0]
    defect = UnmetRequirement(rule="known-wrong", message="reads beyond its tile")
    known = [replace(valid[0], defect=defect), valid[1]]
    fine, invalid = check_validity(known, "gfx942", LATEST_API_LEVEL)
    assert fine == (valid[1],)
    assert invalid[0].reason == "reads beyond its tile (known-wrong)"


def test_an_instance_without_pipeline():
    with pytest.raises(UsageError, match="toy"):
        entry_candidates([RuleSetEntry(toy(1))], ckprof.Profiler().registry, "test")
