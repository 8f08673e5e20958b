"""How element values are kept: numpy arrays of the storage type of a data type, and files.

numpy has no bf16; such a tensor is an array of raw 16-bit words, and types of 8 bits are raw bytes, which are
encoded and decoded here. Files are read piece by piece, not mapped: what is read of a mapped file counts as
the process's memory until somebody else needs it, and a run's memory is what users look at.
"""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.model.computation import Rounding
from ckprof.model.types import DataType

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray


#: doubles of no larger magnitude are in the range of 64-bit integers
_LARGEST_WHOLE: Final = 2.0**62
#: elements converted at a time, so that temporaries stay small beside the tensor
_CHUNK = 1 << 20


def storage_type(dtype: DataType) -> np.dtype[Any]:
    """Return the numpy type whose arrays hold elements of ``dtype``."""
    return np.dtype(dtype.properties.numpy_storage)


def encode(values: NDArray[np.floating[Any]], dtype: DataType, *, ocp: bool = True) -> NDArray[Any]:
    """Round values to the nearest representable ones, ties to even, and return them as stored.

    Values that are too large become infinite, or the largest ones of a type of 8 bits; a NaN stays one. The
    rounding is correct for double-precision values as well: they are not rounded twice on the way to bf16.
    Integers take what is left of the decimal point, and of what is too large the low bits.

    :param ocp: which variant of the 8-bit types is meant.
    :returns: a new array of :func:`storage_type` with the shape of ``values``.
    """
    if dtype in FLOAT8_TYPES:
        return encode_float8(values, dtype, ocp=ocp)
    if dtype.properties.is_integer:
        whole: NDArray[np.int64] = np.clip(np.nan_to_num(values), -_LARGEST_WHOLE, _LARGEST_WHOLE).astype(
            np.int64
        )
        stored: NDArray[Any] = whole.astype(storage_type(dtype))
        return stored
    if dtype is not DataType.BF16:
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(storage_type(dtype))
    words = np.empty(values.shape, dtype=np.uint16)
    flat_words = words.reshape(-1)
    flat_values = values.reshape(-1)
    for start in range(0, flat_values.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        flat_words[part] = _round_to_bf16(flat_values[part])
    return words


def decode(raw: NDArray[Any], dtype: DataType, *, ocp: bool = True) -> NDArray[np.float64]:
    """Return stored elements as double-precision values, without any rounding.

    :param raw: an array of :func:`storage_type`.
    :param ocp: which variant of the 8-bit types is meant.
    """
    if dtype in FLOAT8_TYPES:
        values: NDArray[np.float64] = float8_values(dtype, ocp=ocp)[raw]
        return values
    # Kernels may leave signalling NaNs, about which a conversion would warn.
    with np.errstate(invalid="ignore"):
        if dtype is not DataType.BF16:
            return raw.astype(np.float64)
        words: NDArray[np.uint32] = raw.astype(np.uint32) << np.uint32(16)
        return words.view(np.float32).astype(np.float64)


def _round_to_bf16(values: NDArray[np.floating[Any]]) -> NDArray[np.uint16]:
    bits = _single_precision_bits(values)
    tie_to_even = (bits >> np.uint32(16)) & np.uint32(1)
    words: NDArray[np.uint16] = ((bits + np.uint32(0x7FFF) + tie_to_even) >> np.uint32(16)).astype(np.uint16)
    is_nan = np.isnan(values)
    if is_nan.any():
        # Rounding could carry a NaN's payload into infinity.
        sign = ((bits >> np.uint32(16)) & np.uint32(0x8000)).astype(np.uint16)
        words = np.where(is_nan, sign | np.uint16(0x7FC0), words)
    return words


def _single_precision_bits(values: NDArray[np.floating[Any]]) -> NDArray[np.uint32]:
    """Return single-precision words that round to bf16 exactly as ``values`` would.

    A double that no single represents is rounded to odd: towards zero, with the last bit set. That bit is far
    below those of bf16, so it only tells that the value is beyond a tie.
    """
    if values.dtype.itemsize <= 4:
        return values.astype(np.float32).view(np.uint32)
    with np.errstate(over="ignore", invalid="ignore"):
        singles = values.astype(np.float32)
    bits: NDArray[np.uint32] = singles.view(np.uint32)
    back = singles.astype(np.float64)
    away_from_zero = (np.abs(back) > np.abs(values)).astype(np.uint32)
    inexact = (back != values).astype(np.uint32)
    bits = (bits - away_from_zero) | inexact
    return bits


def rounded(
    values: NDArray[np.float64], dtype: DataType, rounding: Rounding, *, ocp: bool = True
) -> NDArray[np.float64]:
    """Return what numbers become in a type; NaNs stay.

    What is too large for a floating-point type of 8 bits is the largest number of it in any case. Integers
    are what is left of the decimal point; those that a type does not hold stay: see :func:`distances`.

    :param ocp: which variant of the 8-bit types is meant.
    """
    if dtype in FLOAT8_TYPES:
        if rounding is not Rounding.NONE:
            return decode(encode(values, dtype, ocp=ocp), dtype, ocp=ocp)
        codes = float8_values(dtype, ocp=ocp)
        largest = codes[np.isfinite(codes)].max()
        return np.clip(values, -largest, largest)
    if rounding is Rounding.NONE:
        return values
    if rounding is Rounding.NEAREST:
        return np.trunc(values) if dtype.properties.is_integer else decode(encode(values, dtype), dtype)
    with np.errstate(over="ignore"):
        singles: NDArray[np.float32] = values.astype(np.float32)
    words: NDArray[np.uint32] = singles.view(np.uint32) & np.uint32(0xFFFF0000)
    return words.view(np.float32).astype(np.float64)


def distances(
    values: NDArray[np.float64], expected: NDArray[np.float64], dtype: DataType
) -> NDArray[np.float64]:
    """Return how far stored values are from what was expected.

    Integers of 8 bits have the low bits of what they do not hold: they are as far apart as the nearest
    numbers with the same low bits.
    """
    errors: NDArray[np.float64] = np.abs(values - expected)
    if dtype is DataType.INT8:
        period = 2.0 ** (8 * dtype.properties.size_bytes)
        errors = np.remainder(errors, period)
        errors = np.minimum(errors, period - errors)
    return errors


def overflow_of(dtype: DataType) -> float:
    """Return the least magnitude that is rounded to infinity; infinity where there is none."""
    return _OVERFLOWS.get(dtype, np.inf)


_OVERFLOWS: Final = {
    DataType.FP16: (1 - 2.0**-12) * 2.0**16,
    DataType.BF16: (1 - 2.0**-9) * 2.0**128,
    DataType.FP32: (1 - 2.0**-25) * 2.0**128,
}

FLOAT8_TYPES: Final = frozenset({DataType.FP8, DataType.BF8})


@cache
def float8_values(dtype: DataType, *, ocp: bool) -> NDArray[np.float64]:
    """Return what each of the 256 words stands for."""
    mantissa_bits = dtype.properties.mantissa_bits
    exponent_bits = 7 - mantissa_bits
    bias = 2 ** (exponent_bits - 1) - (1 if ocp else 0)
    words = np.arange(128)
    exponents, mantissas = words >> mantissa_bits, words & (2**mantissa_bits - 1)
    hidden = (exponents > 0).astype(np.float64)
    scale = np.exp2(np.maximum(exponents, 1).astype(np.float64) - bias)
    values = (hidden + mantissas / 2.0**mantissa_bits) * scale
    if ocp and dtype is DataType.FP8:
        values[0x7F] = np.nan
    elif ocp:
        values[0x7C] = np.inf
        values[0x7D:] = np.nan
    both = np.concatenate([values, -values])
    if not ocp:
        both[0x80] = np.nan
    both.setflags(write=False)
    return both


def encode_float8(values: NDArray[np.floating[Any]], dtype: DataType, *, ocp: bool) -> NDArray[np.uint8]:
    """Round to the nearest values, ties to even; what is too large becomes the largest, NaN stays NaN."""
    positive = float8_values(dtype, ocp=ocp)[:128]
    finite = positive[np.isfinite(positive)]
    magnitudes = np.abs(values.astype(np.float64))
    above = np.searchsorted(finite, magnitudes, side="left").clip(1, finite.size - 1)
    below = above - 1
    middle = (finite[below] + finite[above]) / 2
    # words are numbered by magnitude: the even one of two neighbours has an even mantissa
    upwards = (magnitudes > middle) | ((magnitudes == middle) & (above % 2 == 0))
    words = np.where(upwards, above, below).astype(np.uint8)
    negative = np.signbit(values) & ((words > 0) if not ocp else True)
    words |= negative.astype(np.uint8) << np.uint8(7)
    return np.where(np.isnan(values), np.uint8(0x7F if ocp else 0x80), words)


class StoredFile:
    """The elements of an array in a file, in memory order.

    :param descriptor: of the file; closed by :meth:`close`, at the latest with the last reference to this.
    :param dtype: type of an element.
    :param size: number of elements.
    :param offset: position of the first one in the file.
    """

    def __init__(self, descriptor: int, dtype: np.dtype[Any], size: int, offset: int = 0) -> None:
        self._descriptor = descriptor
        self._finalizer = weakref.finalize(self, os.close, descriptor)
        self._dtype = dtype
        self._offset = offset
        self.size = size

    @classmethod
    def open(cls, path: Path) -> StoredFile:
        """Return the values of a ``.npy`` file in C order.

        :raises OSError: it cannot be read.
        """
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        return cls(os.open(path, os.O_RDONLY), mapped.dtype, math.prod(mapped.shape), int(mapped.offset))

    @classmethod
    def unnamed(cls, folder: Path, dtype: np.dtype[Any], size: int) -> StoredFile:
        """Return room for values in a file that no other process can open: it has no name.

        :param folder: on whose disk.
        """
        with tempfile.TemporaryFile(dir=folder) as file:
            return cls(os.dup(file.fileno()), dtype, size)

    @property
    def size_bytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self._dtype.itemsize

    def close(self) -> None:
        """Give the file back; nothing can be read afterwards.

        To be called where a signal may end the work: Python drops exceptions from finalizers.
        """
        self._finalizer()

    def append(self, values: NDArray[Any]) -> None:
        """Write the next elements of an unnamed file."""
        rest = np.ascontiguousarray(values, dtype=self._dtype).reshape(-1).data.cast("B")
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def ravel(self) -> StoredFile:
        """Return the flat view, which is this."""
        return self

    def __getitem__(self, part: slice) -> NDArray[Any]:
        """Read the elements from ``part.start`` to ``part.stop``, fewer at the end of the array."""
        start, stop, _ = part.indices(self.size)
        values = np.empty(max(0, stop - start), dtype=self._dtype)
        rest = values.data.cast("B") if values.size else memoryview(b"")
        at = self._offset + start * self._dtype.itemsize
        while rest:
            count = os.preadv(self._descriptor, [rest], at)
            if not count:
                raise OSError(f"the file of {self.size} elements ends too early")
            rest, at = rest[count:], at + count
        return values
