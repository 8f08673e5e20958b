"""Kernels whose operands are made of two tensors each: where they exist, and what their headers show."""

import pytest
from families import LEVEL, flat, pipeline_of

from ckprof_plugins.elementwise.operations import ElementwiseOp

LEVELS = ("2025-07", "2025-11", "2026-06")
MADE = {"elementwise_op": ElementwiseOp.SCALE_ADD.value}


def header(instance, level=LEVEL):
    return flat(pipeline_of(instance).render(instance, "gfx942", level).header)


def unmet(instance, level=LEVEL):
    found = pipeline_of(instance).unmet_requirements(instance, "gfx942", level)
    return {one.rule: one.message for one in found}


@pytest.mark.parametrize("level", LEVELS)
def test_every_header_with_the_plain_kernel_has_them(make_instance, level):
    plain, made = make_instance(), make_instance(**MADE)
    assert unmet(made, level) == unmet(plain, level)
    assert "api-level-feature" in unmet(make_instance(elementwise_op="Clamp"), "2025-07")


@pytest.mark.parametrize("direction", ["bwd_data", "bwd_weight"])
def test_gradients_multiply_operands_as_they_are(make_instance, direction):
    message = unmet(make_instance(**MADE, direction=direction))["elementwise"]
    assert f"ScaleAdd: {direction} of implicit_gemm multiplies operands as they are" in message


@pytest.mark.parametrize("changes", [{"dtype_b": "bf8"}, {"dtype_result": "fp32"}])
def test_all_tensors_have_one_type(make_instance, changes):
    assert "expected one type" in unmet(make_instance(**MADE, dtype="fp8", **changes))["elementwise"]
    assert "elementwise" not in unmet(make_instance(**MADE, dtype="int8"))


@pytest.mark.parametrize("level", LEVELS)
def test_operands_are_made_in_front_of_the_kernel(make_instance, level):
    text = header(make_instance(**MADE, dtype="bf16"), level)
    assert "return rounded<T>(fmaf(scale_in, x, d0));" in text
    assert "return rounded<T>(fmaf(scale_wei, x, d0));" in text
    assert "Kernel::MakeKernelArgs(gemm_args)" in text
    assert "launch_kernel(s, combine, make_kernel<" in text
    # the plain kernel, with the plain arguments
    assert "CDElementwise" not in text and "element_wise::PassThrough" in text
    plain = header(make_instance(dtype="bf16"), level)
    assert "gemm_args" not in plain and "workspace" not in plain


def test_integers_are_cut_off(make_instance):
    assert "static_cast<std::int32_t>(bounded)" in header(make_instance(**MADE, dtype="int8"))
    assert "bounded" not in header(make_instance(**MADE, dtype="fp16"))
