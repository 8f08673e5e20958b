"""Tensors as the process of a candidate maps them, with nothing before and behind their pages."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Any, Final

#: bytes of addresses before and behind the pages of a tensor that mean nothing: more than an index of 32 bits
#: reaches that has overflown, in elements of 4 bytes; less where the system limits addresses
_ROOMS: Final = (1 << 35, 1 << 24)
#: of ``sys/mman.h``
_PROT_NONE, _MAP_FIXED, _MAP_NORESERVE, _MAP_POPULATE = 0, 0x10, 0x4000, 0x8000
_FAILED: Final = ctypes.c_void_p(-1).value


def mapped(descriptor: int, *, writable: bool) -> Any:
    """Return the bytes of whole pages; they are mapped for as long as anything refers to them.

    Their number is that of the file. Descriptor and file may be closed.

    :param writable: they may be written; otherwise who writes them is killed by SIGSEGV.
    :raises MemoryError: the system refuses.
    """
    size = os.fstat(descriptor).st_size
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *3 * (ctypes.c_int,), ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    for room in _ROOMS:
        whole = size + 2 * room
        base = libc.mmap(None, whole, _PROT_NONE, private, -1, 0)
        if base != _FAILED:
            break
    else:
        raise MemoryError(f"{size} bytes cannot be mapped: {os.strerror(ctypes.get_errno())}")
    rights = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    # a launch is not to pay for the first touch of a page
    shared = mmap.MAP_SHARED | _MAP_FIXED | _MAP_POPULATE
    if libc.mmap(base + room, size, rights, shared, descriptor, 0) == _FAILED:
        reason = os.strerror(ctypes.get_errno())
        libc.munmap(base, whole)
        raise MemoryError(f"{size} bytes cannot be mapped: {reason}")
    held = (ctypes.c_char * size).from_address(base + room)
    weakref.finalize(held, libc.munmap, base, whole).atexit = False
    return held
