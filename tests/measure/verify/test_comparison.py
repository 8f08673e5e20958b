import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.measure.verify.comparison import compare, reason_of, verification_of
from ckprof.measure.verify.storage import decode, encode
from ckprof.model.computation import Rounding, Tolerance
from ckprof.model.outcome import HOST_REFERENCE
from ckprof.model.tensor import TensorSpec
from ckprof.model.types import DataType

EXACT = Tolerance(rtol=0.0, atol=0.0)
LOOSE = Tolerance(rtol=0.01, atol=0.1)


def tensor(axes, *shape):
    return TensorSpec(name="result", axes=axes, shape=shape, drawing_order=axes, position=0)


def compared(values, reference, tolerance=EXACT, dtype=DataType.FP32, pieces=1):
    raw = encode(np.asarray(values, dtype=np.float64).reshape(-1), dtype)
    return compare(np.array_split(raw, pieces), np.asarray(reference, dtype=np.float64), dtype, tolerance)


values = st.floats(min_value=-100, max_value=100, width=16)
vectors = st.lists(values, min_size=1, max_size=40)


@given(vectors, st.sampled_from(DataType), st.integers(1, 5))
def test_a_result_equals_itself(numbers, dtype, pieces):
    stored = encode(np.array(numbers), dtype)
    from ckprof.measure.verify.storage import decode

    found = compare(np.array_split(stored, pieces), decode(stored, dtype), dtype, EXACT)
    seen = verification_of(found, len(numbers), EXACT, HOST_REFERENCE)
    assert seen.passed and found.gaps == 0
    assert reason_of(found, seen, tensor("N", len(numbers))) == ""


@given(st.lists(st.tuples(values, values), min_size=1, max_size=40), st.integers(1, 5))
def test_counts_what_the_formula_says(pairs, pieces):
    got, expected = np.array(pairs).T
    comparison = compared(got, expected, LOOSE, pieces=pieces)
    wrong = np.abs(got - expected) > 0.1 + 0.01 * np.abs(expected)
    assert comparison.wrong == wrong.sum()
    assert comparison.max_error == np.abs(got - expected).max()
    if wrong.any():
        assert comparison.first is not None
        assert comparison.first == np.argmax(wrong)


@given(vectors, st.data())
def test_any_element_that_is_not_finite_is_wrong(numbers, data):
    at = data.draw(st.integers(0, len(numbers) - 1))
    bad = list(numbers)
    bad[at] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    comparison = compared(bad, numbers, Tolerance(rtol=1e9, atol=1e9))
    assert comparison.wrong == comparison.non_finite == 1
    assert np.isfinite(comparison.max_error)


@pytest.mark.parametrize(
    ("dtype", "reference", "right"),
    [
        (DataType.FP16, 65_519.9, 0),
        (DataType.FP16, 65_520.0, 1),
        (DataType.FP16, 1e9, 1),
        (DataType.BF16, 3.39e38, 0),
        (DataType.BF16, 3.4e38, 1),
        (DataType.FP32, 3.41e38, 1),
        (DataType.INT32, 1e300, 0),
    ],
)
def test_infinity_is_right_where_the_reference_overflows_too(dtype, reference, right):
    infinity = np.array([np.inf, -np.inf], dtype=np.float32)
    raw = np.zeros(2, dtype=np.int32) if dtype is DataType.INT32 else encode(infinity, dtype)
    for sign in (1, -1):
        comparison = compare([raw], np.full(2, sign * reference), dtype, EXACT)
        assert comparison.wrong == 2 - right
        assert np.isfinite(comparison.max_error)
        if right:
            # the other one has the wrong sign
            assert comparison.first == (1 if sign == 1 else 0)


def test_what_overflows_only_with_its_tolerance_may_be_infinite_or_not():
    tolerance = Tolerance(rtol=1e-3, atol=0.0)
    for value in (np.inf, 65_504.0):
        assert compared([value], [65_490.0], tolerance, DataType.FP16).wrong == 0
    assert compared([65_504.0], [70_000.0], tolerance, DataType.FP16).wrong == 1
    assert compared([np.nan], [70_000.0], tolerance, DataType.FP16).wrong == 1
    # what has no bound at all, since 0 times infinity is none
    assert compared([np.inf, -np.inf], [np.inf, np.inf], EXACT, DataType.FP16).wrong == 1


@pytest.mark.parametrize("dtype", DataType)
def test_poison_is_reported_as_never_written(dtype):
    raw = encode(np.ones(6), dtype)
    raw.view(np.uint8)[-2 * raw.itemsize :] = 0xFF
    comparison = compare([raw], np.ones(6), dtype, LOOSE)
    assert comparison.unwritten == comparison.wrong == 2
    assert comparison.non_finite == 0


def test_reason_names_count_share_and_first_element():
    got = np.zeros((2, 3, 4))
    got[1, 0, 2] = 1.5
    got[1, 2, 3] = np.nan
    found = compared(got, np.zeros((2, 3, 4)))
    seen = verification_of(found, got.size, EXACT, HOST_REFERENCE)
    reason = reason_of(found, seen, tensor("NHC", 2, 3, 4))
    assert reason.startswith("2 of 24 elements differ (8.33 %, 1 not finite), first at [n=1,h=0,c=2]: ")
    assert "got 1.5, expected 0; largest error 1.5, rtol 0, atol 0" in reason


@pytest.mark.parametrize("length", [3, 5])
def test_lengths_must_agree(length):
    with pytest.raises(ValueError, match="elements"):
        compared(np.zeros(length), np.zeros(4))


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


def test_pieces_may_be_long():
    numbers = np.arange(1000.0)
    assert compared(numbers, numbers, pieces=3).wrong == 0
    assert compared(numbers, numbers + (numbers == 700), pieces=3).first == 700
