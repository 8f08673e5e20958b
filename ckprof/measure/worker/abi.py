"""Loading of a kernel library: the ctypes mirror of ``ckprof_abi.h``.

The worker process uses it, and programs that call kernels themselves through
:class:`~ckprof.measure.kernel_library.KernelLibrary`; the parent of a run never loads a library.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import TYPE_CHECKING, ClassVar

from ckprof.measure.worker.device_checks import DeviceChecks
from ckprof.measure.worker.messages import AbiStatus, LibraryInfo, Support
from ckprof.model.device import EVENT_CLOCK, WALL_CLOCK, DeviceIdentity
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from ckprof.model.problem import Problem

#: ``CKPROF_ABI_VERSION``
ABI_VERSION = 7

#: ``CKPROF_MAX_VALUES`` and ``CKPROF_MAX_TENSORS``
MAX_VALUES = 32
MAX_TENSORS = 8

#: bytes of the buffers for reasons and descriptions
_TEXT_BYTES = 4096
#: bytes of the buffer for instance strings
_INSTANCE_STRING_BYTES = 16384


#: values of ``ckprof_peak``; ``None`` stands for the copy
_PEAKS: dict[DataType | None, int] = {None: 0, DataType.FP32: 1, DataType.FP16: 2, DataType.BF16: 3}


class LibraryError(Exception):
    """The library cannot be loaded, or its target rejects the device; the message is for people."""


class DeviceRejectedError(LibraryError):
    """The target rejects the device."""


class DeviceError(OSError):
    """The target could not do what was asked: its device may be of no use to this process any more."""


class CProblem(ctypes.Structure):
    """``ckprof_problem``."""

    _fields_: ClassVar = [("ndim", c_int32), ("split_k", c_int32), ("values", c_int64 * MAX_VALUES)]

    @classmethod
    def of(cls, problem: Problem, split_k: int) -> CProblem:
        """Return the C form of a problem."""
        return cls.from_values(problem.ndim, problem.values(), split_k)

    @classmethod
    def from_values(cls, ndim: int, values: Sequence[int], split_k: int) -> CProblem:
        """Return the C form of a problem that is given by its sizes.

        :param values: in the operation's order; those that are missing are 0.
        """
        return cls(ndim=ndim, split_k=split_k, values=(c_int64 * MAX_VALUES)(*values))


class CBuffers(ctypes.Structure):
    """``ckprof_buffers``: an array of the tensors' addresses, in the operation's order."""

    _fields_: ClassVar = [("tensors", c_void_p * MAX_TENSORS)]

    @classmethod
    def of(cls, *addresses: int) -> CBuffers:
        """Return the C form of the addresses."""
        return cls(tensors=(c_void_p * MAX_TENSORS)(*addresses))


class CPlan(ctypes.Structure):
    """``ckprof_plan``."""

    _fields_: ClassVar = [("workspace_bytes", c_uint64), ("split_k", c_int32)]


_REPORT = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
_IS_SUPPORTED = ctypes.CFUNCTYPE(c_int, POINTER(CProblem), POINTER(CPlan), _REPORT, c_void_p)
_INSTANCE_STRING = ctypes.CFUNCTYPE(c_int, POINTER(c_char), c_size_t)
_RUN = ctypes.CFUNCTYPE(
    c_int, POINTER(CProblem), POINTER(CBuffers), c_int32, POINTER(c_double), POINTER(c_char), c_size_t
)


class CKernel(ctypes.Structure):
    """``ckprof_kernel``."""

    _fields_: ClassVar = [
        ("key", c_char_p),
        ("name", c_char_p),
        ("is_supported", _IS_SUPPORTED),
        ("instance_string", _INSTANCE_STRING),
        ("run", _RUN),
    ]


class CDevice(ctypes.Structure):
    """``ckprof_device``."""

    _fields_: ClassVar = [
        ("model", c_char * 128),
        ("driver", c_char * 64),
        ("partition", c_char * 64),
        ("memory_bytes", c_uint64),
        ("compute_units", c_uint32),
        ("event_clock", c_uint32),
    ]


class CTarget(ctypes.Structure):
    """``ckprof_target``."""

    _fields_: ClassVar = [
        ("id", c_char_p),
        ("select_device", ctypes.CFUNCTYPE(c_int, c_char_p, c_int32, POINTER(c_char), c_size_t)),
        ("set_cpu_threads", ctypes.CFUNCTYPE(None, c_int32)),
        ("describe_device", ctypes.CFUNCTYPE(None, POINTER(c_char), c_size_t)),
        ("allocate", ctypes.CFUNCTYPE(c_void_p, c_size_t)),
        ("release", ctypes.CFUNCTYPE(None, c_void_p)),
        ("copy_to_device", ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)),
        ("copy_to_host", ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)),
        ("flush_cache", ctypes.CFUNCTYPE(c_int, c_size_t)),
        ("available_bytes", ctypes.CFUNCTYPE(c_uint64)),
        ("last_error", ctypes.CFUNCTYPE(None, POINTER(c_char), c_size_t)),
        ("identify_device", ctypes.CFUNCTYPE(c_int, POINTER(CDevice))),
    ]


class CLibrary(ctypes.Structure):
    """``ckprof_library``."""

    _fields_: ClassVar = [
        ("abi_version", c_uint32),
        ("kernel_count", c_uint32),
        ("kernels", POINTER(POINTER(CKernel))),
        ("target", POINTER(CTarget)),
    ]


class CInfo(ctypes.Structure):
    """``ckprof_library_info``."""

    _fields_: ClassVar = [
        ("operation", c_char_p),
        ("arch", c_char_p),
        ("version", c_char_p),
        ("fields", POINTER(c_char_p)),
    ]


class Kernel:
    """One kernel of a library."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._reason = ctypes.create_string_buffer(_TEXT_BYTES)
        self._time_ms = c_double()
        self.key = _text(table.key)
        self.name = _text(table.name)

    def is_supported(self, problem: CProblem) -> Support:
        """Ask the kernel whether it supports the problem, and how it would compute it."""
        unmet_requirements: list[UnmetRequirement] = []

        def note(_: int | None, condition: bytes | None, message: bytes | None) -> None:
            unmet_requirements.append(UnmetRequirement(rule=_text(condition), message=_text(message)))

        plan = CPlan(split_k=problem.split_k)
        status = AbiStatus(
            self._table.is_supported(ctypes.byref(problem), ctypes.byref(plan), _REPORT(note), None)
        )
        return Support(
            status=status,
            unmet_requirements=tuple(unmet_requirements),
            split_k=plan.split_k,
            workspace_bytes=plan.workspace_bytes,
        )

    def instance_string(self) -> tuple[AbiStatus, str]:
        """Return CK Builder's text of the instance; what went wrong if the status is not OK."""
        buffer = ctypes.create_string_buffer(_INSTANCE_STRING_BYTES)
        status = AbiStatus(self._table.instance_string(buffer, _INSTANCE_STRING_BYTES))
        return status, _text(buffer.value)

    def run(self, problem: CProblem, buffers: CBuffers, launches: int = 1) -> tuple[AbiStatus, str, float]:
        """Run so many times in a row; return status, its reason and the launcher's milliseconds of one."""
        self._reason[0] = b"\0"
        self._time_ms.value = 0.0
        status = AbiStatus(
            self._table.run(
                ctypes.byref(problem),
                ctypes.byref(buffers),
                launches,
                ctypes.byref(self._time_ms),
                self._reason,
                _TEXT_BYTES,
            )
        )
        return status, _text(self._reason.value), self._time_ms.value


class AbiTarget:
    """What the target that a library was built for offers."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.id = _text(table.id)

    def select_device(self, arch: str, index: int) -> None:
        """Select the device.

        :raises DeviceRejectedError: the target rejects it.
        """
        reason = ctypes.create_string_buffer(_TEXT_BYTES)
        status = AbiStatus(self._table.select_device(arch.encode(), index, reason, _TEXT_BYTES))
        if status is not AbiStatus.OK:
            text = _text(reason.value) or "no reason given"
            raise DeviceRejectedError(f"target {self.id} cannot use device {index} as {arch}: {text}")

    def set_cpu_threads(self, cpu_threads: int) -> None:
        """Set the number of CPU threads that kernels may use; 0 restores the default."""
        self._table.set_cpu_threads(cpu_threads)

    def describe_device(self) -> str:
        """Return one line about the device."""
        buffer = ctypes.create_string_buffer(_TEXT_BYTES)
        self._table.describe_device(buffer, _TEXT_BYTES)
        return _text(buffer.value)

    def identify_device(self) -> DeviceIdentity | None:
        """Return what really computes; ``None`` where the target does not say."""
        # a target may leave the function out
        if not self._table.identify_device:
            return None
        device = CDevice()
        if self._table.identify_device(ctypes.byref(device)) != AbiStatus.OK:
            return None
        return DeviceIdentity(
            model=_text(device.model),
            # a minor release is no other device
            driver=_text(device.driver).partition(".")[0],
            partition=_text(device.partition),
            memory_bytes=device.memory_bytes,
            compute_units=device.compute_units,
            clock=EVENT_CLOCK if device.event_clock else WALL_CLOCK,
        )

    def allocate(self, size_bytes: int) -> int:
        """Return the address of new target memory.

        :raises MemoryError: there is not enough.
        :raises DeviceError: the device has failed.
        """
        address = self._table.allocate(size_bytes)
        if not address:
            error = self._last_error()
            message = f"target {self.id} cannot allocate {size_bytes} bytes"
            raise DeviceError(f"{message}: {error}") if error else MemoryError(message)
        return int(address)

    def release(self, address: int) -> None:
        """Give memory back."""
        self._table.release(address)

    def copy_to_device(self, device: int, host: int, size_bytes: int) -> None:
        """Copy from host memory to target memory, both given by address."""
        self._check("copy to the device", self._table.copy_to_device(device, host, size_bytes))

    def copy_to_host(self, host: int, device: int, size_bytes: int) -> None:
        """Copy from target memory to host memory, both given by address."""
        self._check("copy from the device", self._table.copy_to_host(host, device, size_bytes))

    def flush_cache(self, size_bytes: int) -> None:
        """Evict the caches by touching that many bytes of memory; 0 frees the memory for that.

        :raises MemoryError: there is not that much.
        :raises DeviceError: the device has failed.
        """
        status = self._table.flush_cache(size_bytes)
        if status == AbiStatus.REJECTED:
            raise MemoryError(f"target {self.id} cannot allocate {size_bytes} bytes to flush the caches")
        self._check("flush the caches", status)

    def available_bytes(self) -> int | None:
        """Return how much memory can still be allocated, or ``None`` if the target does not know."""
        # a target may leave the function out
        function = self._table.available_bytes
        return (int(function()) or None) if function else None

    def _check(self, action: str, status: int) -> None:
        if status != AbiStatus.OK:
            error = self._last_error()
            raise DeviceError(f"target {self.id} failed to {action}" + (f": {error}" if error else ""))

    def _last_error(self) -> str:
        """Return the device's error in the call that has just failed; empty if memory was short."""
        # a target may leave the function out
        if not self._table.last_error:
            return ""
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        self._table.last_error(text, _TEXT_BYTES)
        return _text(text.value)


class Library:
    """A loaded kernel library. It is never unloaded: the process ends instead.

    :param table: what its entry returned.
    :param binary: has functions that a library may lack.
    """

    def __init__(self, table: Any, binary: ctypes.CDLL) -> None:
        #: what verifies results on the device; ``None`` if its target has nothing for that
        self.checks = DeviceChecks.of(binary)
        self._peak = getattr(binary, "ckprof_measure_peak", None)
        self._units = getattr(binary, "ckprof_units_used", None)
        self.target = AbiTarget(table.target.contents)
        self.kernels: dict[str, Kernel] = {}
        for index in range(table.kernel_count):
            kernel = Kernel(table.kernels[index].contents)
            if kernel.key in self.kernels:
                other = self.kernels[kernel.key].name
                raise LibraryError(f"kernels {other} and {kernel.name} have the same key {kernel.key}")
            self.kernels[kernel.key] = kernel
        #: what it says about itself; ``None`` if it says nothing
        self.info = self._described(getattr(binary, "ckprof_get_info", None))

    def _described(self, get: Any) -> LibraryInfo | None:
        if get is None:
            return None
        get.restype = POINTER(CInfo)
        info = get().contents
        return LibraryInfo(
            direction=_text(info.operation),
            arch=_text(info.arch),
            version=_text(info.version),
            kernels={key: _text(info.fields[index]) for index, key in enumerate(self.kernels)},
        )

    @classmethod
    def load(cls, path: Path) -> Library:
        """Load a library.

        :raises LibraryError: it cannot be loaded or was built for another version of the interface.
        """
        try:
            # The full path: a bare name would be searched for in the system's library folders.
            binary = ctypes.CDLL(str(path.resolve()))
            entry = binary.ckprof_get_library
        except (OSError, AttributeError) as exc:
            raise LibraryError(f"cannot load kernel library {path}: {exc}") from exc
        entry.restype = POINTER(CLibrary)
        entry.argtypes = []
        table = entry()
        if not table:
            raise LibraryError(f"kernel library {path} returned no table")
        version = table.contents.abi_version
        if version != ABI_VERSION:
            raise LibraryError(
                f"kernel library {path} was built for interface version {version}, this ckprof uses "
                f"{ABI_VERSION}: build it again"
            )
        return cls(table.contents, binary)

    @property
    def identity(self) -> DeviceIdentity | None:
        """What really computes; ``None`` where the target does not say."""
        return self.target.identify_device()

    def measure_peak(self, dtype: DataType | None, size_bytes: int, seconds: float) -> float:
        """Return bytes per second of a copy, or operations per second; 0 where that is not measured.

        :param dtype: type whose multiply-adds are meant; ``None`` for a copy.
        :param size_bytes: of source and of destination of the copy.
        :param seconds: how long to measure, about.
        :raises DeviceError: the device has failed.
        """
        if self._peak is None or dtype not in _PEAKS:
            return 0.0
        self._peak.restype = c_int
        self._peak.argtypes = [c_int, c_size_t, c_double, POINTER(c_double)]
        rate = c_double()
        status = self._peak(_PEAKS[dtype], size_bytes, seconds, ctypes.byref(rate))
        if status == AbiStatus.FAILED:
            raise DeviceError(f"target {self.target.id} failed to measure what the device reaches")
        return rate.value if status == AbiStatus.OK else 0.0

    def units_used(self) -> tuple[str, ...]:
        """Return which units of the device computed the launches since the last call.

        Nothing where the target does not choose one for each launch.
        """
        if self._units is None:
            return ()
        self._units.restype = None
        self._units.argtypes = [c_char_p, c_size_t]
        names = ctypes.create_string_buffer(_TEXT_BYTES)
        self._units(names, _TEXT_BYTES)
        return tuple(filter(None, _text(names.value).split(",")))


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")
