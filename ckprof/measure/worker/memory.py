"""What a worker serves, in memory of the target: tensors with guards that tell of writes outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckprof.measure.worker.abi import CBuffers
from ckprof.measure.worker.device_checks import CPiece
from ckprof.measure.worker.guards import CHUNK_BYTES, GUARD_BYTE, GUARD_BYTES, POISON_BYTE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

    from ckprof.measure.verify.storage import StoredFile
    from ckprof.measure.worker.abi import AbiTarget
    from ckprof.measure.worker.baseline_session import BaselineEngine
    from ckprof.measure.worker.device_checks import DeviceChecks

    #: where kernels run, those of a library or the engine of a baseline
    Target: TypeAlias = AbiTarget | BaselineEngine


class GuardedTensor:
    """One tensor in target memory.

    :param target: whose memory to use; everything is done through its interface.
    :param size_bytes: of the tensor.
    :param checks: what fills memory on the device; ``None``: bytes are copied there.
    :raises MemoryError: the target has not enough memory.
    """

    def __init__(self, target: Target, size_bytes: int, checks: DeviceChecks | None = None) -> None:
        self._target = target
        self._checks = checks
        self.size_bytes = size_bytes
        self._memory = target.allocate(size_bytes + 2 * GUARD_BYTES)
        #: where the first element is
        self.address = self._memory + GUARD_BYTES
        for address in (self._memory, self.address + size_bytes):
            self._fill(address, GUARD_BYTE, GUARD_BYTES)

    def release(self) -> None:
        """Give the memory back."""
        self._target.release(self._memory)

    def poison(self, start: int = 0, size_bytes: int | None = None) -> None:
        """Fill the tensor, or some of it, with bytes that no kernel computes: what stays is unwritten."""
        self._fill(self.address + start, POISON_BYTE, self.size_bytes if size_bytes is None else size_bytes)

    @property
    def guards(self) -> tuple[CPiece, ...]:
        """What a device looks at to count the bytes of the guards before and after it that have changed."""
        addresses = self._memory, self.address + self.size_bytes
        return tuple(CPiece.of(address, GUARD_BYTES, others=GUARD_BYTE) for address in addresses)

    @property
    def whole(self) -> CPiece:
        """What a device looks at to return the digest of the tensor."""
        return CPiece.of(self.address, self.size_bytes)

    def _fill(self, address: int, value: int, size_bytes: int) -> None:
        if self._checks is not None:
            self._checks.fill(address, value, size_bytes)
            return
        chunk = np.full(min(CHUNK_BYTES, size_bytes), value, dtype=np.uint8)
        for start in range(0, size_bytes, CHUNK_BYTES):
            size = min(CHUNK_BYTES, size_bytes - start)
            self._target.copy_to_device(address + start, chunk.ctypes.data, size)

    def upload(self, values: NDArray[Any] | StoredFile) -> None:
        """Copy stored values, in memory order, to the target."""
        flat = values.ravel()
        length = max(1, CHUNK_BYTES * flat.size // self.size_bytes)
        at = self.address
        for start in range(0, flat.size, length):
            part = np.ascontiguousarray(flat[start : start + length])
            self._target.copy_to_device(at, part.ctypes.data, part.nbytes)
            at += part.nbytes

    def write(self, start: int, values: NDArray[np.uint8]) -> None:
        """Copy bytes from the host.

        :param start: offset from the first element; all of them are in the tensor.
        """
        self._target.copy_to_device(self.address + start, values.ctypes.data, values.size)

    def read(self, start: int, out: NDArray[np.uint8]) -> None:
        """Copy bytes to the host.

        :param start: offset from the first element; negative in the guard before it.
        :param out: where to, as many as it holds.
        :raises ValueError: they are not all in the tensor or its guards.
        """
        if start < -GUARD_BYTES or start + out.size > self.size_bytes + GUARD_BYTES:
            raise ValueError(f"bytes {start} to {start + out.size} are outside of tensor and guards")
        self._target.copy_to_host(out.ctypes.data, self.address + start, out.size)


class DeviceTensors:
    """The tensors of a problem in target memory.

    :param target: whose memory to use.
    :param sizes: bytes of each tensor, by name, in the order in which kernels take them.
    :param checks: what fills memory on the device; ``None``: bytes are copied there.
    :raises MemoryError: the target has not enough memory; nothing stays allocated.
    """

    def __init__(self, target: Target, sizes: Mapping[str, int], checks: DeviceChecks | None = None) -> None:
        self._tensors: dict[str, GuardedTensor] = {}
        try:
            for name, size in sizes.items():
                self._tensors[name] = GuardedTensor(target, size, checks)
        except MemoryError:
            self.release()
            raise
        self._copied = np.empty(CHUNK_BYTES, dtype=np.uint8)

    def __getitem__(self, name: str) -> GuardedTensor:
        return self._tensors[name]

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.size_bytes for tensor in self._tensors.values())

    @property
    def buffers(self) -> CBuffers:
        """Where the tensors are, for kernels."""
        return CBuffers.of(*(tensor.address for tensor in self._tensors.values()))

    def read(self, name: str, start: int, size: int) -> NDArray[np.uint8]:
        """Copy bytes of a tensor to the host: a :data:`~ckprof.measure.worker.guards.Reader`."""
        out = self._copied[:size]
        self._tensors[name].read(start, out)
        return out

    def release(self) -> None:
        """Give the target memory back."""
        for tensor in self._tensors.values():
            tensor.release()
        self._tensors.clear()
