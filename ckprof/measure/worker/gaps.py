"""Gaps between the lines of a tensor: what lies there belongs to nobody and must stay as it is.

In operands, gaps hold the poison of :mod:`ckprof.measure.worker.guards`, which no kernel may let into its
result. A result is poisoned as a whole before each run; the reference marks its gaps by NaN, and what is in
them afterwards must be the poison still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckprof.measure.worker.guards import POISON_BYTE

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.model.tensor import TensorSpec


def with_gaps(values: NDArray[Any], spec: TensorSpec, fill: float | None = None) -> NDArray[Any]:
    """Return a tensor as it lies in memory.

    :param values: without gaps.
    :param fill: what gaps hold; ``None`` for the poison.
    """
    if spec.is_packed:
        return values.reshape(spec.stored_shape)
    stored = np.empty(spec.stored_shape, dtype=values.dtype)
    if fill is None:
        stored.view(np.uint8)[...] = POISON_BYTE
    else:
        stored[...] = fill
    logical_values(stored, spec)[...] = values
    return stored


def logical_values(stored: NDArray[Any], spec: TensorSpec) -> NDArray[Any]:
    """Return a view of a tensor without its gaps.

    :param stored: all of it as it lies in memory, contiguous.
    """
    strides = tuple(stride * stored.itemsize for stride in spec.strides)
    return np.lib.stride_tricks.as_strided(stored.reshape(-1), spec.shape, strides)


def without_gaps(stored: NDArray[Any], position: int, spec: TensorSpec) -> NDArray[Any]:
    """Return those of some stored elements that lie in no gap.

    :param stored: elements that follow each other in memory.
    :param position: how many lie before them.
    """
    if spec.is_packed:
        return stored
    at = np.arange(position, position + stored.size)
    inside = np.ones(stored.size, dtype=bool)
    for stride, length in zip(spec.strides, spec.shape, strict=True):
        index, at = np.divmod(at, stride)
        inside &= index < length
    return stored[inside]
