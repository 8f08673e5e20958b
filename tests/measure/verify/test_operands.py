import numpy as np
import pytest

from ckprof.measure.verify.operands import InitKind, OperandValues, make_operand
from ckprof.measure.verify.storage import decode, storage_type
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import TENSORS, find_layout, tensor_shape
from ckprof_plugins.directions._convolution.problem import ConvProblem
from tests.convolutions import convolution

PROBLEM = convolution("2 2 3 4 5 3 2 7 6 1 1 1 1 1 0 0 0")
NHWGC, NGCHW = find_layout("nhwgc"), find_layout("ngchw")


def operand(tensor="input", layout=NHWGC, dtype=DataType.FP32, kind=InitKind.DECIMAL, seed=1):
    wanted = OperandValues(kind=kind, seed=seed, reduction_length=640)
    return make_operand(PROBLEM.tensor(tensor, layout), dtype, wanted)


@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("dtype", DataType)
def test_has_the_shape_and_type_of_the_tensor(tensor, dtype):
    values = operand(tensor, dtype=dtype)
    assert values.shape == tensor_shape(PROBLEM, NHWGC, tensor)
    assert values.dtype == storage_type(dtype)
    assert values.flags.c_contiguous


def test_is_repeatable_and_depends_on_seed_and_tensor():
    assert np.array_equal(operand(), operand())
    assert not np.array_equal(operand(), operand(seed=2))
    assert not np.array_equal(operand("input").ravel()[:100] - 0.5, operand("output").ravel()[:100])


def test_layouts_hold_the_same_logical_values():
    nhwgc, ngchw = operand(layout=NHWGC), operand(layout=NGCHW)
    assert np.array_equal(nhwgc.transpose(0, 3, 4, 1, 2), ngchw)
    gkyxc, gkcyx = operand("weight", NHWGC), operand("weight", NGCHW)
    assert np.array_equal(gkyxc.transpose(0, 1, 4, 2, 3), gkcyx)


@pytest.mark.parametrize(
    ("tensor", "low", "high"), [("input", 0, 1), ("weight", -0.5, 0.5), ("output", -0.5, 0.5)]
)
def test_decimals_have_the_range_of_ckprofiler(tensor, low, high):
    values = operand(tensor)
    assert values.min() >= low and values.max() <= high
    assert np.ptp(values) > 0.8 * (high - low)


def test_integers_and_zeros_are_exact():
    expected = operand(kind=InitKind.INTEGER)
    assert set(np.unique(expected)) == set(range(-5, 5))
    for dtype in DataType:
        values = decode(operand(kind=InitKind.INTEGER, dtype=dtype), dtype)
        assert np.array_equal(values, expected)
    assert not operand(kind=InitKind.ZEROS, dtype=DataType.BF16).any()


def test_sums_of_exact_operands_are_exact_in_every_type():
    length = 100_000
    wanted = OperandValues(kind=InitKind.EXACT, seed=3, reduction_length=length)
    long = ConvProblem(
        groups=1, batch=1, out_channels=1, in_channels=length, filter=(8,), input=(8,), strides=(1,),
        dilations=(1,), left_pads=(0,), right_pads=(0,),
    )  # fmt: skip
    layout = find_layout("nwgc")
    first, second = (
        make_operand(long.tensor(name, layout), DataType.FP32, wanted).reshape(8, length).astype(int)
        for name in ("input", "weight")
    )
    assert set(np.unique(first)) == set(np.unique(second)) == {-1, 0, 1}
    terms = np.abs(first * second).sum(axis=1)
    assert terms.max() < 256 and terms.mean() == pytest.approx(64, rel=0.2)
