"""Data types against those of numpy, and the types of kernels by what they read, add up and write."""

import ml_dtypes
import numpy as np
import pytest

from ckprof.errors import ExitCode, UsageError
from ckprof.model.types import ComputeType, DataType, TypeSet, accumulator_of, spellings, types_on
from tests.cases import each

FP8, BF8, INT8 = DataType.FP8, DataType.BF8, DataType.INT8
NUMPY = {
    DataType.FP32: np.float32,
    DataType.FP16: np.float16,
    DataType.BF16: ml_dtypes.bfloat16,
    FP8: ml_dtypes.float8_e4m3fn,
    BF8: ml_dtypes.float8_e5m2,
    INT8: np.int8,
    DataType.INT32: np.int32,
}


@each(dtype=DataType)
def test_every_type_has_the_bits_of_its_numpy_type(dtype):
    facts, known = dtype.properties, NUMPY[dtype]
    assert facts.size_bytes == np.dtype(known).itemsize == np.dtype(facts.numpy_storage).itemsize
    assert facts.is_integer == np.issubdtype(known, np.integer)
    assert facts.mantissa_bits == (0 if facts.is_integer else ml_dtypes.finfo(known).nmant)
    assert DataType.of_string(dtype.spelled) is DataType.parse(dtype.value) is dtype


def test_spellings_and_tf32():
    assert (INT8.spelled, DataType.INT32.spelled, DataType.BF16.spelled) == ("s8", "s32", "bf16")
    assert DataType.of_string("int8") is None
    assert spellings([INT8, FP8]) == "int8, fp8"
    with pytest.raises(UsageError, match=r"unknown data type 'fp61'; did you mean 'fp16'\? .*bf16") as told:
        DataType.parse("fp61")
    assert told.value.exit_code is ExitCode.USAGE
    tf32 = ComputeType.TF32
    assert (tf32.properties.mantissa_bits, tf32.properties.size_bytes) == (10, 4)
    assert (tf32.operands, tf32.no_faster_than) == (DataType.FP32, DataType.FP16)


def test_types_are_read_as_they_are_written():
    for text, acc in (("fp16,fp16,fp16", "fp32"), ("fp8,bf8,fp32,fp8", "fp32"), ("int8,int8,int32", "int32")):
        types = TypeSet.parse(text)
        assert (types.text, types.acc.value) == (text, acc)
    mixed = TypeSet.parse("fp8,bf8,fp32,fp8")
    assert mixed.operands == (FP8, BF8) and mixed.further == (DataType.FP32,) and mixed.result is FP8
    assert mixed.of_tensors == (FP8, BF8, FP8)
    assert TypeSet.shared(DataType.BF16) == TypeSet.parse("bf16,bf16,bf16")
    assert accumulator_of(INT8, FP8) is DataType.FP32 and accumulator_of(INT8) is DataType.INT32


def test_further_operands_have_the_type_of_the_result_unless_they_are_named():
    types = TypeSet.parse("fp8,bf8,fp32,fp8")
    assert types.of_so_many(3) == (FP8, BF8, FP8)
    assert types.of_so_many(4) == (FP8, BF8, DataType.FP32, FP8)
    assert types.of_so_many(6) == (FP8, BF8, DataType.FP32, FP8, FP8, FP8)
    assert types.further_of(0) == () and types.further_of(2) == (DataType.FP32, FP8)


def test_products_are_no_better_than_their_worse_operand():
    assert TypeSet.parse("fp16,bf16,fp32").compute is DataType.BF16
    assert TypeSet.parse("bf8,fp8,fp32").compute is BF8
    rounded = TypeSet(
        operands=(DataType.FP32,) * 2, acc=DataType.FP32, result=DataType.FP32, compute_type=ComputeType.TF32
    )
    assert rounded.compute is ComputeType.TF32
    exact = {
        text: TypeSet.parse(text).is_exact
        for text in ("int8,int8,int32", "int8,int8,fp32", "fp8,int8,int8", "int8,int8,fp32,int8")
    }
    assert [text for text, all_integers in exact.items() if all_integers] == ["int8,int8,int32"]
    assert TypeSet.parse("fp16,fp16,fp8").changes_sums and not TypeSet.parse("fp8,fp8,fp16").changes_sums


def test_variants_of_eight_bits_follow_the_architecture():
    types = TypeSet.shared(FP8)
    ocp = {arch: types_on(types, arch).ocp for arch in ("gfx942", "gfx950", "gfx1201", "nothing")}
    assert ocp == {"gfx942": False, "gfx950": True, "gfx1201": True, "nothing": True}
