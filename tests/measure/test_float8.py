"""Both variants of the 8-bit floating-point types, against their definitions written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.measure.verify.storage import decode, encode
from ckprof.model.types import DataType, TypeSet, types_on

VARIANTS = [(dtype, ocp) for dtype in (DataType.FP8, DataType.BF8) for ocp in (True, False)]
BIASES = {
    (DataType.FP8, True): 7,
    (DataType.FP8, False): 8,
    (DataType.BF8, True): 15,
    (DataType.BF8, False): 16,
}
LARGEST = {
    (DataType.FP8, True): 448.0,
    (DataType.FP8, False): 240.0,
    (DataType.BF8, True): 57344.0,
    (DataType.BF8, False): 57344.0,
}


def meaning(word: int, dtype: DataType, ocp: bool) -> float:
    """Return what a word stands for."""
    bits = 3 if dtype is DataType.FP8 else 2
    sign, exponent, mantissa = word >> 7, (word & 0x7F) >> bits, word & (2**bits - 1)
    if not ocp and word == 0x80:
        return math.nan
    if ocp and dtype is DataType.FP8 and word & 0x7F == 0x7F:
        return math.nan
    if ocp and dtype is DataType.BF8 and exponent == 31:
        return math.nan if mantissa else (-1) ** sign * math.inf
    bias = BIASES[dtype, ocp]
    if exponent == 0:
        return (-1) ** sign * mantissa / 2**bits * 2.0 ** (1 - bias)
    return (-1) ** sign * (1 + mantissa / 2**bits) * 2.0 ** (exponent - bias)


def decoded(words: np.ndarray, dtype: DataType, ocp: bool) -> np.ndarray:
    return decode(words.astype(np.uint8), dtype, ocp=ocp)


@pytest.mark.parametrize(("dtype", "ocp"), VARIANTS)
def test_every_word_has_its_meaning(dtype: DataType, ocp: bool) -> None:
    found = decoded(np.arange(256), dtype, ocp)
    expected = np.array([meaning(word, dtype, ocp) for word in range(256)])
    assert np.array_equal(found, expected, equal_nan=True)
    assert found[np.isfinite(found)].max() == LARGEST[dtype, ocp]


@pytest.mark.parametrize(("dtype", "ocp"), VARIANTS)
def test_words_are_encoded_as_themselves(dtype: DataType, ocp: bool) -> None:
    words = np.arange(256, dtype=np.uint8)
    values = decoded(words, dtype, ocp)
    finite = np.isfinite(values)
    assert np.array_equal(encode(values[finite], dtype, ocp=ocp), words[finite])
    assert np.isnan(decoded(encode(np.array([np.nan]), dtype, ocp=ocp), dtype, ocp)).all()


@pytest.mark.parametrize(("dtype", "ocp"), VARIANTS)
@given(value=st.floats(-1e5, 1e5))
def test_rounding_is_to_the_nearest_and_ties_go_to_even(dtype: DataType, ocp: bool, value: float) -> None:
    every = [meaning(word, dtype, ocp) for word in range(256)]
    finite = [(one, word) for word, one in enumerate(every) if math.isfinite(one)]
    (word,) = encode(np.array([value]), dtype, ocp=ocp)
    distance = min(abs(one - value) for one, _ in finite)
    nearest = {word & 0x7F for one, word in finite if abs(one - value) == distance}
    assert int(word) & 0x7F in nearest
    if len(nearest) > 1:
        assert int(word) % 2 == 0
    assert math.copysign(1, every[word]) == math.copysign(1, value) or every[word] == 0


def test_architectures_differ() -> None:
    types = TypeSet.shared(DataType.FP8)
    assert not types_on(types, "gfx942").ocp
    assert types_on(types, "gfx950").ocp and types_on(types, "sm_90").ocp
