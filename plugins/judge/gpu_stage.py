"""Memory of a GPU that the candidate maps, as :mod:`~ckprof_plugins.judge.stage` has that of the CPU.

A tensor is made on the host and lies in memory of the judge's own until a launch begins. Then it is copied
within the GPU. A candidate that is stopped may have left work on the GPU: it finds nothing there until the
clock runs.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof.measure.worker.baseline_session import BaselineUnusable
from ckprof.measure.worker.guards import GUARD_BYTE
from ckprof_plugins.judge.cuda_driver import Gpu, GpuError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

#: bytes that the address of every tensor is a multiple of, as that of what torch allocates
ALIGNMENT: Final = 512
#: bytes around a tensor that are compared, as far as there are so many in its piece of memory
_AROUND: Final = 1 << 16


class GpuStage:
    """One tensor in memory of a GPU that two processes map.

    :param size_bytes: of the tensor.
    :param writable: the candidate may write it.
    :param at_end: it ends with its piece of memory, otherwise it begins with it.
    :raises MemoryError: there is not enough memory.
    """

    def __init__(self, gpu: Gpu, size_bytes: int, *, writable: bool, at_end: bool) -> None:
        self._gpu, self.size_bytes, self.writable = gpu, size_bytes, writable
        self._shared = gpu.allocated(size_bytes)
        self.descriptor = self._shared.descriptor
        rest = self._shared.size_bytes - size_bytes
        #: of the first element in its piece of memory
        self.offset = rest - rest % ALIGNMENT if at_end else 0
        self._start = max(0, self.offset - _AROUND)
        end = min(self._shared.size_bytes, self.offset + size_bytes + _AROUND)
        #: the tensor as it lies on the host, and what is around it
        self.pages = np.full(end - self._start, GUARD_BYTE, np.uint8)
        at = self.offset - self._start
        self.tensor: NDArray[np.uint8] = self.pages[at : at + size_bytes]
        self._own = gpu.allocated(self.pages.size)
        os.close(self._own.descriptor)
        self.wipe()

    def fill(self, address: int) -> None:
        """Copy the tensor from this process's memory."""
        ctypes.memmove(self.tensor.ctypes.data, address, self.size_bytes)

    def upload(self) -> None:
        """Copy it to memory of the GPU that the candidate does not see."""
        self._gpu.copy_from_host(self._own.address, self.pages.ctypes.data, self.pages.size)

    def publish(self) -> None:
        """Copy it to where the candidate sees it; that need not be done when this returns."""
        self._gpu.copy(self._shared.address + self._start, self._own.address, self.pages.size)

    def take(self) -> None:
        """Copy what the candidate has made of it to memory of the GPU that it does not see."""
        self._gpu.copy(self._own.address, self._shared.address + self._start, self.pages.size)

    def fetch(self) -> None:
        """Copy what was taken to the host."""
        self._gpu.copy_to_host(self.pages.ctypes.data, self._own.address, self.pages.size)

    def is_changed(self) -> bool:
        """Say whether the candidate sees something else than was published."""
        seen = np.empty_like(self.pages)
        self._gpu.copy_to_host(seen.ctypes.data, self._shared.address + self._start, seen.size)
        return not np.array_equal(seen, self.pages)

    def copy_with_rest(self, address: int) -> None:
        """Copy the tensor as it was fetched into this process's memory, with what is around it.

        :param address: where the tensor belongs; there is as much room around it.
        """
        ctypes.memmove(address - (self.offset - self._start), self.pages.ctypes.data, self.pages.size)

    def wipe(self) -> None:
        """Forget what the tensor holds."""
        self._gpu.fill(self._shared.address, GUARD_BYTE, self._shared.size_bytes)
        self._gpu.synchronize()
        self.tensor[...] = GUARD_BYTE

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.descriptor)
        self._shared.close()
        self._own.close()


def gpu_of(config: Mapping[str, Any]) -> Gpu | None:
    """Return the GPU that a candidate computes on; ``None`` for the CPU.

    :raises BaselineUnusable: it cannot be used.
    """
    if config.get("gpu") is None:
        return None
    try:
        return Gpu(int(config["gpu"]))
    except GpuError as exc:
        raise BaselineUnusable(str(exc)) from exc
