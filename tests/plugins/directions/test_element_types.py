"""Which types the tensors of convolutions have together, and what that means for bytes."""

from dataclasses import replace

import pytest

from ckprof.errors import InputError
from ckprof.model.problem import traffic_of
from ckprof.model.types import SHARED_TYPES, DataType, TypeSet
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.layout import types_of
from ckprof_plugins.elementwise.combination import Combination
from tests.convolutions import convolution

FP8, BF8, INT8, INT32, FP32 = (DataType(name) for name in ("fp8", "bf8", "int8", "int32", "fp32"))
PLAIN = convolution("2 2 3 4 5 2 3 5 6 1 1 1 1 0 0 0 0")


@pytest.mark.parametrize("dtype", SHARED_TYPES)
def test_types_that_all_tensors_share(dtype):
    assert types_of(dtype) == TypeSet.shared(dtype)


@pytest.mark.parametrize(
    ("given", "operands", "acc", "result"),
    [
        ((FP8,), (FP8, FP8), FP32, FP8),
        ((BF8,), (BF8, BF8), FP32, FP8),
        ((FP8, BF8), (FP8, BF8), FP32, FP8),
        ((BF8, FP8, FP32), (BF8, FP8), FP32, FP32),
        ((INT8,), (INT8, INT8), INT32, INT8),
    ],
)
def test_types_of_8_bits(given, operands, acc, result):
    types = types_of(*given)
    assert (types.operands, types.acc, types.result) == (operands, acc, result)
    assert types.changes_sums is (result is not FP32)
    assert TypeSet.parse(types.text) == types


def test_types_of_d_tensors():
    types = types_of(INT8, d_tensors=(FP32, INT8))
    assert types.of_so_many(5) == (INT8, INT8, FP32, INT8, INT8)
    assert types.of_so_many(6) == (INT8, INT8, FP32, INT8, INT8, INT8)
    assert types_of(INT8, d_tensors=(INT8,)).further == ()
    assert types.text == "int8,int8,fp32,int8,int8"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((INT8, FP8), "a weight of fp8 with an input of int8: expected int8"),
        ((FP8, FP8, BF8), "a result of bf8 with an input of fp8: expected fp8, fp32"),
        ((FP8, None, None, (INT8,)), "a D tensor of int8 with an input of fp8: expected fp8, fp32"),
        ((INT32,), "convolutions of int32: expected one of fp32, fp16, bf16, fp8, bf8, int8"),
    ],
)
def test_types_that_do_not_go_together(given, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        types_of(*given)


def test_bytes_by_the_type_of_each_tensor():
    """2 groups, 3 images of 5x6 with 5 channels, 4x5 filters of 2x3, outputs of 4x4."""
    inputs, weights, outputs = 2 * 3 * 5 * 30, 2 * 4 * 5 * 6, 2 * 3 * 4 * 16
    assert traffic_of(PLAIN, types_of(FP8, result=FP32)) == inputs + weights + 4 * outputs
    assert traffic_of(PLAIN, types_of(DataType.FP16)) == PLAIN.traffic_bytes(DataType.FP16)
    fused = FusedConvProblem.of(PLAIN, Combination.parse("ScaleAddScaleAddRelu"))
    wide = types_of(INT8, d_tensors=(FP32, FP32))
    assert traffic_of(fused, wide) == inputs + weights + outputs + 4 * outputs + 4 * 2 * 4
    assert traffic_of(fused, replace(wide, further=())) == inputs + weights + 2 * outputs + 2 * 4
