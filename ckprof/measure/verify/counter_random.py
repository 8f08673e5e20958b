"""Random numbers by their number: the n-th one is had without those before it, anywhere alike.

The generator is that of ``ckprof_check_elements.hpp``: the finaliser of splitmix64 (Steele, Lea and Flood,
"Fast splittable pseudorandom number generators", 2014) of a key and a counter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MASK: Final = 2**64 - 1
_STEP: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB


def _mixed(value: int) -> int:
    value &= _MASK
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    return value ^ (value >> 31)


def stream_key(seed: int, stream: int) -> int:
    """Return the key of one of the streams of a seed, 64 bits.

    :param stream: from 0; streams have nothing in common.
    """
    return _mixed(_mixed(seed) + (stream + 1) * _STEP)


def random_words(key: int, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the random 64-bit words with these numbers; overwrites ``numbers``."""
    import numpy as np

    words = numbers
    words += np.uint64(1)
    words *= np.uint64(_STEP)
    words += np.uint64(key)
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
    return words
