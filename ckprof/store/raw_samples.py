"""Raw samples in few bytes."""

from __future__ import annotations

import sys
import zlib
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

#: whole nanoseconds, as differences from one sample to the next
_NANOSECONDS: Final = b"n"
#: doubles, for samples that are not whole nanoseconds
_DOUBLES: Final = b"d"
_NS_PER_MS: Final = 1_000_000
#: differences are stored in 4 bytes, or in 8 where one does not fit
_WIDTHS: Final = {4: "i", 8: "q"}
_LIMIT_4: Final = 2**31


def pack_samples(samples_ms: Sequence[float]) -> bytes:
    """Return the samples compressed.

    Timers count whole nanoseconds, so differences between samples are small integers: with their bytes
    grouped by significance these compress to a quarter of the doubles. Other samples are kept as doubles.
    """
    if all(abs(sample) < 2**33 for sample in samples_ms):
        nanoseconds = [round(sample * _NS_PER_MS) for sample in samples_ms]
        if all(ns / _NS_PER_MS == ms for ns, ms in zip(nanoseconds, samples_ms, strict=True)):
            steps = [b - a for a, b in zip([0, *nanoseconds], nanoseconds, strict=False)]
            width = 4 if all(-_LIMIT_4 <= step < _LIMIT_4 for step in steps) else 8
            return _NANOSECONDS + bytes([width]) + _squeeze(array(_WIDTHS[width], steps), width)
    return _DOUBLES + bytes([8]) + _squeeze(array("d", samples_ms), 8)


def unpack_samples(data: bytes) -> tuple[float, ...]:
    """Return the samples that :func:`pack_samples` compressed.

    :raises ValueError: the bytes are damaged.
    """
    kind, width = data[:1], data[1] if len(data) > 1 else 0
    if kind not in (_NANOSECONDS, _DOUBLES) or width not in _WIDTHS:
        raise ValueError(f"samples of an unknown kind {data[:2]!r}")
    try:
        grouped = zlib.decompress(data[2:])
    except zlib.error as exc:
        raise ValueError(f"damaged samples: {exc}") from exc
    count = len(grouped) // width
    plain = bytearray(len(grouped))
    for index in range(width):
        plain[index::width] = grouped[index * count : (index + 1) * count]
    values: array[float] | array[int] = array("d" if kind == _DOUBLES else _WIDTHS[width])
    values.frombytes(bytes(plain))
    if sys.byteorder == "big":
        values.byteswap()
    if kind == _DOUBLES:
        return tuple(values)
    return tuple(ns / _NS_PER_MS for ns in accumulate(values))


def _squeeze(values: array[float] | array[int], width: int) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    plain = values.tobytes()
    return zlib.compress(b"".join(plain[index::width] for index in range(width)), 6)
