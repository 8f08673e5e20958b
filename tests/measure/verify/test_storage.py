from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.measure.verify.storage import decode, encode, storage_type
from ckprof.model.types import SHARED_TYPES, DataType

ALL_WORDS = np.arange(1 << 16, dtype=np.uint16)
NUMPY_TYPES = {DataType.FP32: np.float32, DataType.FP16: np.float16, DataType.BF16: ml_dtypes.bfloat16}


def same(first: np.ndarray, second: np.ndarray) -> bool:
    return np.array_equal(first, second, equal_nan=True)


def test_decodes_every_bf16_word():
    with np.errstate(invalid="ignore"):
        expected = ALL_WORDS.view(ml_dtypes.bfloat16).astype(np.float64)
    assert same(decode(ALL_WORDS, DataType.BF16), expected)


def test_decodes_every_fp16_word():
    assert same(decode(ALL_WORDS.view(np.float16), DataType.FP16), ALL_WORDS.view(np.float16).astype(float))


@pytest.mark.parametrize("dtype", SHARED_TYPES)
def test_values_of_the_type_survive_encoding(dtype):
    words = ALL_WORDS if dtype is not DataType.FP32 else ALL_WORDS.astype(np.uint32) << 16 | 0x1234
    raw = words.view(storage_type(dtype))
    values = decode(raw, dtype)
    again = encode(values, dtype)
    numbers = ~np.isnan(values)
    assert np.array_equal(again[numbers].view(words.dtype), words[numbers])
    assert np.isnan(decode(again, dtype)[~numbers]).all()


@pytest.mark.parametrize("low", [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF])
def test_rounds_singles_to_bf16_like_ml_dtypes(low):
    """Every upper half with every kind of lower half: below, at and beyond the tie."""
    singles = (ALL_WORDS.astype(np.uint32) << 16 | low).view(np.float32)
    with np.errstate(invalid="ignore"):
        expected = singles.astype(ml_dtypes.bfloat16).astype(np.float64)
    assert same(decode(encode(singles, DataType.BF16), DataType.BF16), expected)


@given(st.floats(), st.sampled_from([DataType.BF16, DataType.FP16, DataType.FP32]))
def test_no_representable_value_is_nearer(value, dtype):
    got = decode(encode(np.array([value]), dtype), dtype)[0]
    if np.isnan(value):
        assert np.isnan(got)
        return
    limit = float(ml_dtypes.finfo(NUMPY_TYPES[dtype]).max)
    if np.isinf(got):
        assert abs(value) > limit and np.sign(got) == np.sign(value)
        return
    stored = encode(np.array([got]), dtype)
    for direction in (-np.inf, np.inf):
        with np.errstate(over="ignore"):
            neighbour = float(np.nextafter(stored.view(NUMPY_TYPES[dtype])[0], NUMPY_TYPES[dtype](direction)))
        if np.isfinite(neighbour):
            assert abs(got - value) <= abs(neighbour - value)


@pytest.mark.parametrize("beyond", [1, -1])
def test_doubles_are_not_rounded_twice(beyond):
    """The double is next to a tie between two bf16 values; rounded to single first, it would be the tie."""
    tie = np.float64(1) + 2.0**-8
    value = np.nextafter(tie, tie + beyond)
    assert np.float32(value) == tie
    expected = 1 + 2.0**-7 if beyond > 0 else 1.0
    for sign in (1, -1):
        assert decode(encode(np.array([sign * value]), DataType.BF16), DataType.BF16)[0] == sign * expected


def test_converts_more_than_one_chunk():
    values = np.linspace(-3, 3, (1 << 20) + 7, dtype=np.float32).reshape(1, -1)
    words = encode(values, DataType.BF16)
    assert words.shape == values.shape
    assert np.array_equal(words.view(ml_dtypes.bfloat16), values.astype(ml_dtypes.bfloat16))
