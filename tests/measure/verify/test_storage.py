import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.measure.verify.storage import StoredFile, decode, distances, encode, rounded, storage_type
from ckprof.model.computation import Rounding
from ckprof.model.types import SHARED_TYPES, DataType, TypeSet, types_on

ALL_WORDS = np.arange(1 << 16, dtype=np.uint16)
NUMPY_TYPES = {DataType.FP32: np.float32, DataType.FP16: np.float16, DataType.BF16: ml_dtypes.bfloat16}


def same(first, second):
    return np.array_equal(first, second, equal_nan=True)


def test_decodes_every_word():
    with np.errstate(invalid="ignore"):
        expected = ALL_WORDS.view(ml_dtypes.bfloat16).astype(np.float64)
    assert same(decode(ALL_WORDS, DataType.BF16), expected)
    assert same(decode(ALL_WORDS.view(np.float16), DataType.FP16), ALL_WORDS.view(np.float16).astype(float))


def test_integers_are_cut_off_where_rounding_is_known():
    values = np.array([22.5, -22.5, 613.5, -0.5])
    stored = decode(encode(values, DataType.INT8), DataType.INT8)
    assert stored.tolist() == [22, -22, 101, 0]
    exact = rounded(values, DataType.INT8, Rounding.NEAREST)
    assert not distances(stored, exact, DataType.INT8).any()
    assert distances(stored + 1, exact, DataType.INT8).all()
    assert distances(stored, rounded(values, DataType.INT8, Rounding.NONE), DataType.INT8).all()


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


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint16, np.float64])
def test_pieces_are_those_of_the_array(dtype, tmp_path):
    values = np.arange(24).astype(dtype).reshape(2, 3, 4)
    np.save(tmp_path / "v.npy", values)
    stored = StoredFile.open(tmp_path / "v.npy").ravel()
    assert stored.size == 24
    for start, stop in ((0, 24), (5, 9), (20, 40), (24, 30)):
        np.testing.assert_array_equal(stored[start:stop], values.reshape(-1)[start:stop])
        assert stored[start:stop].dtype == dtype


def test_files_that_are_not_there_or_end_too_early(tmp_path):
    with pytest.raises(OSError, match=r"no\.npy"):
        StoredFile.open(tmp_path / "no.npy")
    stored = StoredFile.unnamed(tmp_path, np.dtype(np.float64), 5)
    with pytest.raises(OSError, match="ends too early"):
        stored[0:5]


def test_a_file_without_a_name(tmp_path):
    stored = StoredFile.unnamed(tmp_path, np.dtype(np.float64), 5)
    stored.append(np.array([[1.0, 2.0]]))
    stored.append(np.array([3, 4, 5], dtype=np.float32))
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(stored[1:4], [2.0, 3.0, 4.0])


def test_a_closed_file_is_given_back_once(tmp_path):
    stored = StoredFile.unnamed(tmp_path, np.dtype(np.float64), 1)
    stored.append(np.array([1.0]))
    assert stored[0:1] == [1.0]
    stored.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        stored[0:1]
    stored.close()


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


def meaning(word, dtype, ocp):
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


def decoded(words, dtype, ocp):
    return decode(words.astype(np.uint8), dtype, ocp=ocp)


@pytest.mark.parametrize(("dtype", "ocp"), VARIANTS)
def test_every_word_has_its_meaning(dtype, ocp):
    found = decoded(np.arange(256), dtype, ocp)
    expected = np.array([meaning(word, dtype, ocp) for word in range(256)])
    assert np.array_equal(found, expected, equal_nan=True)
    assert found[np.isfinite(found)].max() == LARGEST[dtype, ocp]


@pytest.mark.parametrize(("dtype", "ocp"), VARIANTS)
def test_words_are_encoded_as_themselves(dtype, ocp):
    words = np.arange(256, dtype=np.uint8)
    values = decoded(words, dtype, ocp)
    finite = np.isfinite(values)
    assert np.array_equal(encode(values[finite], dtype, ocp=ocp), words[finite])
    assert np.isnan(decoded(encode(np.array([np.nan]), dtype, ocp=ocp), dtype, ocp)).all()


@pytest.mark.parametrize(("dtype", "ocp"), VARIANTS)
@given(value=st.floats(-1e5, 1e5))
def test_rounding_is_to_the_nearest_and_ties_go_to_even(dtype, ocp, value):
    every = [meaning(word, dtype, ocp) for word in range(256)]
    finite = [(one, word) for word, one in enumerate(every) if math.isfinite(one)]
    (word,) = encode(np.array([value]), dtype, ocp=ocp)
    distance = min(abs(one - value) for one, _ in finite)
    nearest = {word & 0x7F for one, word in finite if abs(one - value) == distance}
    assert int(word) & 0x7F in nearest
    if len(nearest) > 1:
        assert int(word) % 2 == 0
    assert math.copysign(1, every[word]) == math.copysign(1, value) or every[word] == 0


def test_architectures_differ():
    types = TypeSet.shared(DataType.FP8)
    assert not types_on(types, "gfx942").ocp
    assert types_on(types, "gfx950").ocp and types_on(types, "sm_90").ocp
