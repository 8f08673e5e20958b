"""Memory that the candidate maps: its operands, which nobody else can write, and its result.

It holds operands only while a launch takes place. A tensor begins at the first byte of a page, or ends, up to
an alignment, with the last one; the candidate's process has nothing mapped before and behind these pages. So
what reads or writes outside of a tensor ends there, or changes the rest of a page, which is compared.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.measure.worker.guards import GUARD_BYTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: bytes that the address of every tensor is a multiple of
ALIGNMENT: Final = 64
#: of ``fcntl.h``: neither shorter nor longer, no further seal, and nobody else writes
_SEAL_SEAL, _SEAL_SHRINK, _SEAL_GROW, _SEAL_FUTURE_WRITE = 1, 2, 4, 0x10


class Stage:
    """One tensor in pages that two processes map.

    :param size_bytes: of the tensor.
    :param writable: the candidate may write it.
    :param at_end: it ends with the last page, otherwise it begins with the first one.
    :raises MemoryError: there is not enough memory.
    """

    def __init__(self, size_bytes: int, *, writable: bool, at_end: bool) -> None:
        self.size_bytes, self.writable = size_bytes, writable
        #: bytes of whole pages
        self.mapped_bytes = -(-size_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        rest = self.mapped_bytes - size_bytes
        #: of the first element
        self.offset = rest - rest % ALIGNMENT if at_end else 0
        self.descriptor = os.memfd_create("tensor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, self.mapped_bytes)
            self._memory = mmap.mmap(self.descriptor, self.mapped_bytes)
            seals = _SEAL_SHRINK | _SEAL_GROW | (0 if writable else _SEAL_FUTURE_WRITE)
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals | _SEAL_SEAL)
        except OSError as exc:
            os.close(self.descriptor)
            raise MemoryError(f"{size_bytes} bytes cannot be shared: {exc.strerror}") from exc
        #: all bytes of its pages, and those of the tensor
        self.pages = np.frombuffer(self._memory, np.uint8)
        self.tensor: NDArray[np.uint8] = self.pages[self.offset : self.offset + size_bytes]
        self.pages[...] = GUARD_BYTE

    def fill(self, address: int) -> None:
        """Copy the tensor from this process's memory."""
        ctypes.memmove(self.tensor.ctypes.data, address, self.size_bytes)

    def upload(self) -> None:
        """Do nothing: what is filled is there."""

    def publish(self) -> None:
        """Do nothing: the candidate sees it."""

    def take(self) -> None:
        """Do nothing: this process sees what the candidate writes."""

    def fetch(self) -> None:
        """Do nothing: it is there."""

    def is_changed(self) -> bool:
        """Say no: who writes an operand is killed."""
        return False

    def copy_with_rest(self, address: int) -> None:
        """Copy the tensor into this process's memory, with the rest of its pages before and behind it.

        :param address: where the tensor belongs; there is as much room around it.
        """
        ctypes.memmove(address - self.offset, self.pages.ctypes.data, self.mapped_bytes)

    def wipe(self) -> None:
        """Forget what the tensor holds."""
        self.tensor[...] = GUARD_BYTE

    def close(self) -> None:
        """Give the memory back."""
        self.pages = self.tensor = np.empty(0, np.uint8)
        os.close(self.descriptor)
        with suppress(BufferError):  # a view is left: the memory goes with it
            self._memory.close()
