"""Where a kernel must not write, and how it is seen that it did.

Every tensor lies between two guards of known bytes. Reading and judging them is the business of whoever must
not trust the kernel; that is why everything here works on bytes that somebody else has copied.

Gaps between the lines of a tensor belong to nobody and must stay as they are, too. In operands they hold the
poison, which no kernel may let into its result. A result is poisoned as a whole before each run; the
reference marks its gaps by NaN, and what is in them afterwards must be the poison still.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.measure.verify.storage import StoredFile
    from ckprof.measure.worker.messages import Checked
    from ckprof.model.tensor import TensorSpec

#: Bytes of each guard: many rows of a tile after the end of a tensor. A multiple of the alignment that
#: targets promise.
GUARD_BYTES: Final = 256 * 2**10
GUARD_BYTE: Final = 0xA5
#: Every element of poisoned memory is a NaN in fp32, fp16 and bf16.
POISON_BYTE: Final = 0xFF
#: Bytes that are copied and judged at a time. Small enough for the caches: what is derived from them in
#: double precision takes several times as much.
CHUNK_BYTES: Final = 2**20

if TYPE_CHECKING:
    #: Copies bytes of a tensor: its name, the offset from its first element, which is negative in the guard
    #: before it, and how many, at most :data:`CHUNK_BYTES`. The array is valid until the next call.
    Reader = Callable[[str, int, int], NDArray[np.uint8]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTensor:
    """A tensor that lies between guards."""

    name: str
    size_bytes: int
    #: stored values of an operand, which kernels must not change; ``None`` for the result
    values: NDArray[Any] | StoredFile | None = None


def out_of_bounds_writes(read: Reader, tensors: Sequence[CheckedTensor]) -> str:
    """Return what a kernel wrote that it must not write, or an empty text."""
    damages = []
    for tensor in tensors:
        guards = ("before", -GUARD_BYTES), ("after", tensor.size_bytes)
        sides = [
            side for side, start in guards if (read(tensor.name, start, GUARD_BYTES) != GUARD_BYTE).any()
        ]
        if sides:
            damages.append(f"wrote outside the {tensor.name} tensor, {' and '.join(sides)} its memory")
        if tensor.values is not None and not _holds(read, tensor, tensor.values):
            damages.append(f"changed its operand, the {tensor.name} tensor")
    return "; ".join(damages)


def reported_writes(seen: Checked, names: Sequence[str], digests: Sequence[int]) -> str:
    """Return what a kernel wrote that it must not write, by what a device reports, or an empty text.

    :param names: of the operands and, as the last one, the result.
    :param digests: of the operands and of the device's reference, before any kernel ran.
    """
    damages = []
    for name, counts in zip((*names, "reference"), seen.guards, strict=True):
        sides = [side for side, count in zip(("before", "after"), counts, strict=True) if count]
        if sides:
            damages.append(f"wrote outside the {name} tensor, {' and '.join(sides)} its memory")
    changed = [now != then for now, then in zip(seen.digests, digests, strict=True)]
    *of_operands, of_reference = changed
    damages += [
        f"changed its operand, the {name} tensor"
        for name, is_changed in zip(names, of_operands, strict=False)
        if is_changed
    ]
    if of_reference:
        damages.append("wrote outside its tensors, into the reference that its result is compared with")
    return "; ".join(damages)


def read_tensor(read: Reader, tensor: CheckedTensor) -> Iterator[NDArray[np.uint8]]:
    """Yield all bytes of a tensor in memory order, each array valid until the next one is asked for."""
    for start in range(0, tensor.size_bytes, CHUNK_BYTES):
        yield read(tensor.name, start, min(CHUNK_BYTES, tensor.size_bytes - start))


def _holds(read: Reader, tensor: CheckedTensor, values: NDArray[Any] | StoredFile) -> bool:
    """Say whether a tensor holds exactly these stored values, NaNs included."""
    flat = values.ravel()
    position = 0
    for raw in read_tensor(read, tensor):
        count = raw.size * flat.size // tensor.size_bytes
        expected = np.ascontiguousarray(flat[position : position + count]).view(np.uint8)
        if not np.array_equal(raw, expected):
            return False
        position += count
    return True


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


def new_memory() -> int:
    """Return a descriptor of :data:`CHUNK_BYTES` bytes without a name in any folder.

    Their number is sealed: if one process could shrink them, the other one would die when it reads.

    :raises OSError: the system has none, or does not allow so much.
    """
    descriptor = os.memfd_create("ckprof-tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, CHUNK_BYTES)
    except OSError:
        os.close(descriptor)
        raise
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return descriptor


def memory_of(descriptor: int) -> NDArray[np.uint8]:
    """Return the bytes of :func:`new_memory`, whose descriptor may be closed afterwards."""
    return np.frombuffer(mmap.mmap(descriptor, CHUNK_BYTES), dtype=np.uint8)
