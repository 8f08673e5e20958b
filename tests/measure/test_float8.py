"""Both variants of the 8-bit floating-point types, against their definitions written out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.measure.verify.comparison import compare
from ckprof.measure.verify.storage import decode, encode
from ckprof.measure.verify.tolerance import Sums, derive_tolerance
from ckprof.model.computation import Rounding, Tolerance
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


@pytest.mark.parametrize("ocp", [False, True])
@pytest.mark.parametrize("dtype", [DataType.FP8, DataType.BF8])
def test_results_are_compared_with_the_nearest_number_or_the_largest(dtype, ocp):
    codes = np.arange(256, dtype=np.uint8)
    values = decode(codes, dtype, ocp=ocp)
    finite = np.isfinite(values)
    codes, values = codes[finite], values[finite]
    exact = Tolerance(rtol=0.0, atol=0.0)
    largest = values.max()
    # too large sums saturate; next to a number, sums are rounded to it
    beside = np.where(np.abs(values) == largest, values * 100, values * (1 + 2.0**-7))
    unchanged = (values == 0) | (np.abs(values) == largest)
    for rounding, wrong in ((Rounding.NEAREST, 0), (Rounding.NONE, values.size - unchanged.sum())):
        seen = compare([codes], beside, dtype, exact, rounding, ocp=ocp)
        assert seen.wrong == wrong
    other = compare([codes], values, dtype, exact, ocp=not ocp)
    assert other.wrong > 200


def test_integers_of_8_bits_are_compared_by_their_low_bits():
    sums = np.array([0.0, 127, 128, -129, 300, -300, 2.0**31 - 1, 1e5])
    stored = encode(sums, DataType.INT8)
    assert stored.tolist() == [0, 127, -128, 127, 44, -44, -1, -96]
    exact = Tolerance(rtol=0.0, atol=0.0)
    assert compare([stored], sums, DataType.INT8, exact).wrong == 0
    for step in (1, -1, 100):
        shifted = compare([(stored.astype(int) + step).astype(np.int8)], sums, DataType.INT8, exact)
        assert shifted.wrong == sums.size
    # cut towards zero on either side of where they wrap
    fractions = np.array([127.999, 128.001, -128.001])
    cut = Tolerance(rtol=0.0, atol=1.0)
    assert compare([encode(fractions, DataType.INT8)], fractions, DataType.INT8, cut).wrong == 0


def test_tolerance_of_integers_that_something_is_made_of():
    types = TypeSet.parse("int8,int8,int8")
    sums = Sums(reduction_length=100, magnitude=1e3, deviation=200.0)
    assert derive_tolerance(types, sums) == Tolerance(rtol=0.0, atol=0.0)
    changed = derive_tolerance(types, replace(sums, is_changed=True))
    assert 1 < changed.atol < 1.01
    assert 0 < changed.rtol < 1e-5


@pytest.mark.parametrize(("text", "smallest"), [("fp8,fp8,fp8", 2.0**-9), ("bf8,bf8,bf8", 2.0**-16)])
def test_tolerance_next_to_zero(text, smallest):
    """Half of the smallest number of the type, of the OCP variant and of the other one."""
    sums = Sums(reduction_length=1, magnitude=1e-9, deviation=1e-9)
    for ocp, least in ((True, smallest), (False, smallest / 2)):
        found = derive_tolerance(replace(TypeSet.parse(text), ocp=ocp), sums)
        assert found.atol == pytest.approx(least / 2, rel=1e-6)
