"""Target memory of a tensor, with guards around it that tell when a kernel writes outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.run.abi import Target
    from ckprof.run.stored_file import StoredFile

#: bytes of each guard; a multiple of the alignment that targets promise
GUARD_BYTES = 4096
#: bytes copied at a time, so that host memory stays small beside the tensors
CHUNK_BYTES = 8 * 2**20
#: every element of poisoned memory is a NaN in fp32, fp16 and bf16
POISON_BYTE = 0xFF
_GUARD_BYTE = 0xA5


class GuardedTensor:
    """One tensor in target memory.

    :param target: whose memory to use; everything is done through its interface.
    :param elements: number of elements.
    :param storage: numpy type of one stored element.
    :raises MemoryError: the target has not enough memory.
    """

    def __init__(self, target: Target, elements: int, storage: np.dtype[Any]) -> None:
        self._target = target
        self._storage = storage
        self.elements = elements
        self.size_bytes = elements * storage.itemsize
        self._memory = target.allocate(self.size_bytes + 2 * GUARD_BYTES)
        #: where the first element is
        self.address = self._memory + GUARD_BYTES
        self._guard = np.full(GUARD_BYTES, _GUARD_BYTE, dtype=np.uint8)
        for address in self._guards():
            target.copy_to_device(address, self._guard.ctypes.data, GUARD_BYTES)

    def release(self) -> None:
        """Give the memory back."""
        self._target.release(self._memory)

    def poison(self) -> None:
        """Fill the tensor with bytes that no kernel computes: what stays is seen to be unwritten."""
        if self._target.checks_memory:
            self._target.fill(self.address, POISON_BYTE, self.size_bytes)
            return
        chunk = np.full(min(CHUNK_BYTES, self.size_bytes), POISON_BYTE, dtype=np.uint8)
        for start in range(0, self.size_bytes, CHUNK_BYTES):
            size = min(CHUNK_BYTES, self.size_bytes - start)
            self._target.copy_to_device(self.address + start, chunk.ctypes.data, size)

    def upload(self, values: NDArray[Any] | StoredFile) -> None:
        """Copy stored values, in memory order, to the target."""
        for start, part in self._chunks_of(values):
            self._target.copy_to_device(
                self.address + start * self._storage.itemsize, part.ctypes.data, part.nbytes
            )

    def checksum(self) -> int | None:
        """Return a number that tells contents apart, or ``None`` if the target does not offer that."""
        return self._target.checksum(self.address, self.size_bytes) if self._target.checks_memory else None

    def chunks(self) -> Iterator[NDArray[Any]]:
        """Yield the stored values in memory order. Each array is valid until the next one is asked for."""
        length = max(1, CHUNK_BYTES // self._storage.itemsize)
        buffer = np.empty(min(length, self.elements), dtype=self._storage)
        for start in range(0, self.elements, length):
            part = buffer[: min(length, self.elements - start)]
            address = self.address + start * self._storage.itemsize
            self._target.copy_to_host(part.ctypes.data, address, part.nbytes)
            yield part

    def equals(self, values: NDArray[Any] | StoredFile) -> bool:
        """Say whether the target still holds exactly these stored values, NaNs included."""
        pairs = zip(self.chunks(), self._chunks_of(values), strict=True)
        return all(part.tobytes() == expected.tobytes() for part, (_, expected) in pairs)

    def corruption(self) -> str:
        """Return ``before``, ``after`` or both if something was written there, else an empty text."""
        seen = np.empty_like(self._guard)
        sides = []
        for side, address in zip(("before", "after"), self._guards(), strict=True):
            self._target.copy_to_host(seen.ctypes.data, address, GUARD_BYTES)
            if not np.array_equal(seen, self._guard):
                sides.append(side)
        return " and ".join(sides)

    def _guards(self) -> tuple[int, int]:
        return self._memory, self.address + self.size_bytes

    def _chunks_of(self, values: NDArray[Any] | StoredFile) -> Iterator[tuple[int, NDArray[Any]]]:
        flat = values.reshape(-1)
        length = max(1, CHUNK_BYTES // self._storage.itemsize)
        for start in range(0, self.elements, length):
            yield start, np.ascontiguousarray(flat[start : start + length])
