"""Kernels with tensors of 8 bits: where they exist, what their headers and strings say."""

import pytest
from families import flat, header, pipeline_of

from ckprof_plugins.elementwise.operations import ElementwiseOp

FP8 = {"dtype": "fp8", "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16}
INT8 = {**FP8, "dtype": "int8"}


def broken(instance, level="2026-06", arch="gfx942"):
    return {one.rule for one in pipeline_of(instance).unmet_requirements(instance, arch, level)}


@pytest.mark.parametrize("direction", ["bwd_data", "bwd_weight"])
def test_other_directions_have_none(make_instance, direction):
    assert "types" not in broken(make_instance(**FP8))
    assert "types" in broken(make_instance(**FP8, direction=direction))


@pytest.mark.parametrize(
    ("changes", "has"),
    [(FP8, True), (INT8, True), ({**FP8, "dtype_b": "bf8"}, False), ({**INT8, "warp_tile_k": 32}, False)],
)
def test_what_headers_of_november_have(make_instance, changes, has):
    instance = make_instance(**changes)
    assert ("api-level-feature" not in broken(instance, "2025-11")) is has
    assert "api-level-feature" in broken(instance, "2025-07")


@pytest.mark.parametrize("tile", [(32, 32, 16), (16, 16, 32)])
def test_headers_of_2025_multiply_integers_wrongly_without_an_instruction(tile, make_instance):
    """On gfx90a: with 32x32x16 they add fp32 to the bits of integers, with 16x16x32 nothing."""
    sizes = dict(zip(("warp_tile_m", "warp_tile_n", "warp_tile_k"), tile, strict=True))
    integers = make_instance(**{**INT8, **sizes})
    (unmet,) = pipeline_of(integers).unmet_requirements(integers, "gfx90a", "2025-11")
    assert unmet.message == (
        "API level 2025-11 has no right products of int8 on gfx90a, which lacks the instructions of their "
        "MMA tiles (it has those of floating point)"
    )
    assert not broken(integers, "2025-11", "gfx942") and not broken(integers, "2025-11", "gfx950")
    assert not broken(integers, "2026-06", "gfx90a")
    assert not broken(make_instance(**FP8), "2025-11", "gfx90a")


def test_headers_name_the_types(make_instance):
    text = flat(header(make_instance(**INT8, elementwise_op="Scale"), "gfx942"))
    assert "using InDataType = int8_t; using WeiDataType = int8_t; using AccDataType = int32_t;" in text
    # what fp32 has is cut to the low bits, and only where results are integers
    assert "static_cast<E>(static_cast<std::int32_t>(bounded))" in text
    mixed = {"dtype_b": "bf8", "dtype_result": "fp32", "elementwise_op": "ConvScaleAdd", "d_layouts": "NHWGK"}
    text = flat(header(make_instance(**FP8, **mixed), "gfx942"))
    assert "using WeiDataType = bf8_t; using AccDataType = float; using OutDataType = float;" in text
    assert "std::int32_t" not in text.partition("struct Elementwise")[2].partition("};")[0]
    wide = {"elementwise_op": "ConvScaleAdd", "d_layouts": "NHWGK", "d_dtypes": "fp32"}
    assert "tuple<float>" in flat(header(make_instance(**FP8, **wide), "gfx942"))


def test_strings_spell_the_types(make_instance):
    more = {
        "elementwise_op": ElementwiseOp.SCALE_ADD_SCALE_ADD_RELU.value,
        "d_layouts": "NHWGK,G_K",
        "d_dtypes": "fp32,int8",
    }
    instance = make_instance(**INT8, **more)
    text = pipeline_of(instance).instance_string(instance)
    assert text.count(",s8,s8,") == 1
    assert text.endswith(",s32,s8,tuple(fp32,s8),ScaleAddScaleAddRelu>")
