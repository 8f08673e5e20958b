"""Memory of an NVIDIA GPU that two processes map: the judge's worker fills it, the candidate's sees it.

Plain calls of the driver, which need neither its headers nor torch. Memory travels as a file descriptor, as
that of the CPU does.
"""

from __future__ import annotations

import ctypes
import weakref
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Final

#: the driver's library
LIBRARY: Final = "libcuda.so.1"
#: of ``cuda.h``
_PINNED, _FILE_DESCRIPTOR, _ON_DEVICE, _MINIMUM = 1, 1, 1, 0
_READ, _READ_AND_WRITE = 1, 3
_OUT_OF_MEMORY: Final = 2
#: bytes of addresses before and behind a piece of memory that mean nothing, at least
_ROOM: Final = 1 << 33
#: nodes below ``/dev`` that a process needs which uses such a GPU
_NODES: Final = ("nvidia[0-9]*", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps/*")
#: folder of a process's threads, in which each has a name
_THREADS: Final = "/proc/self/task"


class GpuError(Exception):
    """The driver cannot be used, or refuses; the message says why."""


class _Location(ctypes.Structure):
    _fields_ = (("type", c_int), ("id", c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("type", c_int),
        ("handle_types", c_int),
        ("location", _Location),
        ("windows", c_void_p),
        ("flags", c_uint64),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("rights", c_int))


def written_files(below: Path = Path("/dev")) -> list[str]:
    """Return what a process writes that uses an NVIDIA GPU: files of devices, and the names of its threads.

    Without the latter ``cuInit`` fails with error 304.
    """
    nodes = sorted(str(path) for pattern in _NODES for path in below.glob(pattern))
    return [*nodes, _THREADS]


class Gpu:
    """One GPU as this process has it, in the context that torch and others share.

    :param index: as the driver counts those that are visible.
    :param library: the driver's.
    :raises GpuError: there is no driver, or no such GPU.
    """

    def __init__(self, index: int, library: str = LIBRARY) -> None:
        try:
            self._driver = ctypes.CDLL(library)
        except OSError as exc:
            raise GpuError(f"no driver of NVIDIA GPUs: {exc}") from exc
        count, device, self._context = c_int(), c_int(), c_void_p()
        self._call("cuInit", c_uint(0))
        self._call("cuDeviceGetCount", byref(count))
        if not 0 <= index < count.value:
            raise GpuError(f"there is no device {index}, the driver sees {count.value} GPUs")
        self._call("cuDeviceGet", byref(device), c_int(index))
        self._call("cuDevicePrimaryCtxRetain", byref(self._context), device)
        self._call("cuCtxSetCurrent", self._context)
        name = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", name, c_int(len(name)), device)
        #: as the driver calls it
        self.name = name.value.decode(errors="replace")
        self.index = index
        self._location = _Location(_ON_DEVICE, device.value)
        self._properties = _Properties(_PINNED, _FILE_DESCRIPTOR, self._location, None, 0)
        #: bytes that a piece of memory is a multiple of
        self.granularity = self._value("cuMemGetAllocationGranularity", byref(self._properties), _MINIMUM)

    def allocated(self, size_bytes: int) -> SharedMemory:
        """Return new memory, which another process can map.

        :raises MemoryError: there is not enough.
        """
        size, handle, descriptor = self._whole(size_bytes), c_uint64(), c_int(-1)
        self._call("cuMemCreate", byref(handle), c_size_t(size), byref(self._properties), c_uint64(0))
        self._call(
            "cuMemExportToShareableHandle", byref(descriptor), handle, c_int(_FILE_DESCRIPTOR), c_uint64(0)
        )
        return SharedMemory(self, handle, size, descriptor.value, writable=True)

    def imported(self, descriptor: int, size_bytes: int, *, writable: bool) -> SharedMemory:
        """Return memory of another process, which this one maps; the descriptor may be closed.

        :param size_bytes: as many as were asked for when it was allocated.
        :param writable: otherwise it is mapped for reading, where the driver can do that.
        :raises GpuError: the driver refuses.
        """
        handle = c_uint64()
        self._call(
            "cuMemImportFromShareableHandle", byref(handle), c_void_p(descriptor), c_int(_FILE_DESCRIPTOR)
        )
        return SharedMemory(self, handle, self._whole(size_bytes), -1, writable=writable)

    def free_bytes(self) -> int:
        """Return how much memory the GPU has left."""
        free, total = c_size_t(), c_size_t()
        self._call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value

    def copy(self, to: int, source: int, size_bytes: int) -> None:
        """Copy within the GPU's memory, by addresses; it need not be done when this returns."""
        self._call("cuMemcpyDtoD_v2", c_uint64(to), c_uint64(source), c_size_t(size_bytes))

    def copy_from_host(self, to: int, source: int, size_bytes: int) -> None:
        """Copy to the GPU's memory."""
        self._call("cuMemcpyHtoD_v2", c_uint64(to), c_void_p(source), c_size_t(size_bytes))

    def copy_to_host(self, to: int, source: int, size_bytes: int) -> None:
        """Copy from the GPU's memory."""
        self._call("cuMemcpyDtoH_v2", c_void_p(to), c_uint64(source), c_size_t(size_bytes))

    def fill(self, address: int, value: int, size_bytes: int) -> None:
        """Set bytes of the GPU's memory."""
        self._call("cuMemsetD8_v2", c_uint64(address), ctypes.c_ubyte(value), c_size_t(size_bytes))

    def synchronize(self) -> None:
        """Wait until all is done that this process has asked for."""
        self._call("cuCtxSynchronize")

    def _mapped(self, handle: c_uint64, size: int, *, writable: bool) -> tuple[int, int, int]:
        """Map memory, with addresses around it that mean nothing.

        :returns: its address, the address of what is reserved, and its bytes.
        """
        room = self._whole(_ROOM)
        reserved, base = size + 2 * room, c_uint64()
        self._call("cuMemAddressReserve", byref(base), c_size_t(reserved), *3 * (c_uint64(0),))
        address = base.value + room
        self._call("cuMemMap", c_uint64(address), c_size_t(size), c_size_t(0), handle, c_uint64(0))
        rights = (_READ_AND_WRITE,) if writable else (_READ, _READ_AND_WRITE)
        for number, right in enumerate(rights, 1):
            access = _Access(self._location, right)
            try:
                self._call("cuMemSetAccess", c_uint64(address), c_size_t(size), byref(access), c_size_t(1))
                break
            except GpuError:
                # drivers need not know memory that is read alone; that it is as before is looked at anyway
                if number == len(rights):
                    raise
        return address, base.value, reserved

    def _released(self, handle: c_uint64, address: int, size: int, base: int, reserved: int) -> None:
        self._call("cuMemUnmap", c_uint64(address), c_size_t(size))
        self._call("cuMemAddressFree", c_uint64(base), c_size_t(reserved))
        self._call("cuMemRelease", handle)

    def _whole(self, size_bytes: int) -> int:
        return -(-max(1, size_bytes) // self.granularity) * self.granularity

    def _value(self, function: str, *arguments: Any) -> int:
        value = c_size_t()
        self._call(function, byref(value), *arguments)
        return value.value

    def _call(self, function: str, *arguments: Any) -> None:
        """Call the driver.

        :raises MemoryError: the GPU has no memory left.
        :raises GpuError: anything else.
        """
        if self._context:
            # a thread has its own, and a candidate may have chosen another one
            self._driver.cuCtxSetCurrent(self._context)
        status = getattr(self._driver, function)(*arguments)
        if status == _OUT_OF_MEMORY:
            raise MemoryError("the GPU has no memory left")
        if status:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(c_int(status), byref(text))
            raise GpuError(f"{function}: {(text.value or b'').decode() or f'error {status}'}")


class SharedMemory:
    """A piece of a GPU's memory.

    :param handle: of the driver.
    :param size: bytes.
    :param descriptor: that another process can map it by; -1 for none.
    :param writable: by this process.
    """

    def __init__(self, gpu: Gpu, handle: c_uint64, size: int, descriptor: int, *, writable: bool) -> None:
        self.size_bytes, self.descriptor = size, descriptor
        self.address, base, reserved = gpu._mapped(handle, size, writable=writable)
        self._end = weakref.finalize(self, gpu._released, handle, self.address, size, base, reserved)
        self._end.atexit = False

    def close(self) -> None:
        """Give it back; that also happens when nothing refers to this any more."""
        self._end()
