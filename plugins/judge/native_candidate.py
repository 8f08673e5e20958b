"""A candidate in machine code, in its own process: the C entry, or a kernel of a library of ckprof's.

Nothing of ckprof can be imported any more when one is loaded: what a library of ckprof's needs is imported
with this module.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

_REASON_BYTES = 4096
#: functions of libraries that must not have others in their place
_CLOCKS = ("clock_gettime", "gettimeofday", "clock", "times")
_CPP_CLOCKS = ("_ZNSt6chrono3_V212steady_clock3nowEv", "_ZNSt6chrono3_V212system_clock3nowEv")
_DEVICE_CLOCKS = tuple(
    f"{prefix}{name}"
    for prefix in ("cuda", "hip")
    for name in ("EventElapsedTime", "EventRecord", "EventSynchronize", "DeviceSynchronize")
)


class UnusableError(Exception):
    """A file is no candidate; the message says why."""


class _Problem(ctypes.Structure):
    _fields_ = (("ndim", ctypes.c_int32), ("split_k", ctypes.c_int32), ("values", ctypes.c_int64 * 32))


class NativeCandidate:
    """A library with the C entry.

    :raises UnusableError: it has none.
    """

    splits = True

    def __init__(self, config: dict[str, Any]) -> None:
        self._library = ctypes.CDLL(config["file"])
        # a library may have those of a runtime that is linked to it
        clocks = (*_CLOCKS, *_DEVICE_CLOCKS, *(_CPP_CLOCKS if config["kind"] == "source" else ()))
        self._own_clock = next((name for name in clocks if self._is_own(name, config["file"])), "")
        name = config["function"]
        try:
            self._function = getattr(self._library, name)
        except AttributeError:
            raise UnusableError(f"it exports no function {name}; see ckprof_candidate.h") from None
        self._function.restype = ctypes.c_int
        self._reason = ctypes.create_string_buffer(_REASON_BYTES)

    def _is_own(self, name: str, path: str) -> bool:
        """Say whether the library itself defines what a name means."""
        address = _address(self._library, name)
        found = (ctypes.c_char_p * 4)()
        if not address or not ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), found):
            return False
        return os.path.realpath(found[0] or b"") == os.path.realpath(path).encode()

    def set_work(self, work: dict[str, Any], memory: list[Any]) -> None:
        """Take the tensors of a problem."""
        self._problem = _Problem(work["ndim"], work["split_k"], (ctypes.c_int64 * 32)(*work["values"]))
        self._memory = memory
        self._buffers = (ctypes.c_void_p * 8)(*_addresses(work, memory))

    def run(self) -> tuple[int, str]:
        """Call it once."""
        self._reason[0] = b"\0"
        status = self._function(
            ctypes.byref(self._problem),
            ctypes.byref(self._buffers),
            self._reason,
            ctypes.c_size_t(_REASON_BYTES),
        )
        return status, self._reason.value.decode(errors="replace")

    def files(self) -> list[str]:
        """Return nothing: it imports no modules."""
        return []

    def evidence(self) -> str:
        """Return that it has a clock of its own in the place of the system's."""
        return f"it defines {self._own_clock}, a clock of the system" if self._own_clock else ""


class LibraryKernel:
    """A kernel of a library that ckprof has built.

    :raises UnusableError: it is for another target.
    """

    splits = True

    def __init__(self, config: dict[str, Any], abi: Any) -> None:
        self._abi = abi
        library = abi.Library.load(Path(config["file"]))
        if library.target.id != config["host"]:
            raise UnusableError(f"its kernels are for target {library.target.id}: say --device")
        library.target.select_device(config["arch"], 0)
        self._kernel = library.kernels[config["key"]]

    def set_work(self, work: dict[str, Any], memory: list[Any]) -> None:
        """Take the tensors of a problem."""
        self._problem = self._abi.CProblem.from_values(work["ndim"], work["values"], work["split_k"])
        self._memory = memory
        self._buffers = self._abi.CBuffers.of(*_addresses(work, memory))
        self._support = self._kernel.is_supported(self._problem)

    def run(self) -> tuple[int, str]:
        """Launch it once, if it supports the problem."""
        if not self._support.supported:
            return int(self._support.status), self._support.reason
        status, reason, _ = self._kernel.run(self._problem, self._buffers)
        return int(status), reason

    def files(self) -> list[str]:
        """Return nothing: it imports no modules."""
        return []

    def evidence(self) -> str:
        """Return nothing: its sources are ckprof's own."""
        return ""


def _addresses(work: dict[str, Any], memory: list[Any]) -> list[int]:
    """Return where tensors are, in the order in which kernels take them."""
    addresses = [0] * len(memory)
    for place, block in zip(work["places"], memory, strict=True):
        addresses[place["position"]] = ctypes.addressof(block) + place["offset"]
    return addresses


def _address(library: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0
