"""Negation of some indices of a tensor, in memory of the host and in that of a target.

What may be negated says :mod:`ckprof.measure.worker.signs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckprof.measure.worker.memory import GuardedTensor

#: bytes of an operand that are copied at a time
_CHUNK_BYTES: Final = 2**20
#: pieces that are copied one by one
_MOST_PIECES: Final = 256


def sign_bits(words: NDArray[Any]) -> NDArray[Any]:
    """Return what negates stored floating-point values by XOR: nothing where they are 0."""
    sign = words.dtype.type(1 << (8 * words.itemsize - 1))
    bits: NDArray[Any] = np.where((words & ~sign) != 0, sign, words.dtype.type(0))
    return bits


def by_index(words: NDArray[Any], length: int, step: int) -> NDArray[Any]:
    """Return a view of a whole tensor with the indices of an axis as its second axis."""
    return words.reshape(-1, length, step)


def word_type(item_bytes: int) -> np.dtype[Any]:
    """Return the unsigned integers of that size."""
    return np.dtype(f"u{item_bytes}")


def negate(tensor: GuardedTensor, item_bytes: int, axis: tuple[int, int], indices: NDArray[np.intp]) -> None:
    """Negate some indices of an axis of an operand in the target's memory.

    :param axis: its length, and elements from index to index.
    """
    length, step = axis
    piece = step * item_bytes
    block = piece * length
    blocks = tensor.size_bytes // block
    if blocks * indices.size <= _MOST_PIECES:
        for start in range(0, tensor.size_bytes, block):
            for index in indices:
                _change(tensor, start + int(index) * piece, np.empty(piece, np.uint8), item_bytes)
        return
    together = max(1, _CHUNK_BYTES // block)
    for start in range(0, tensor.size_bytes, together * block):
        size = min(together * block, tensor.size_bytes - start)
        raw = np.empty(size, np.uint8)
        tensor.read(start, raw)
        part = by_index(raw.view(word_type(item_bytes)), length, step)
        chosen = part[:, indices]
        part[:, indices] = chosen ^ sign_bits(chosen)
        tensor.write(start, raw)


def _change(tensor: GuardedTensor, start: int, raw: NDArray[np.uint8], item_bytes: int) -> None:
    tensor.read(start, raw)
    words = raw.view(word_type(item_bytes))
    words ^= sign_bits(words)
    tensor.write(start, raw)
