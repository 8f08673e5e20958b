"""A kernel library as a Python object."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof.bindings import foreign
from ckprof.errors import InputError, ToolchainError, UsageError
from ckprof.model.dtype import DataType
from ckprof.model.layout import find_layout
from ckprof.model.suggestion import unknown_name
from ckprof.model.tensor import TENSORS, tensor_shape
from ckprof.run.abi import CBuffers, CProblem
from ckprof.run.storage import decode, encode, storage_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ckprof.model.layout import ConvLayout
    from ckprof.model.problem import ConvProblem

_TEXT_BYTES: Final = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvKernel:
    """One kernel of a library."""

    index: int
    name: str
    #: content key of the instance
    key: str
    #: everything that makes the kernel, as ``ckprof list instances --format json`` shows it
    fields: Mapping[str, int | str | bool | None]

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions."""
        return int(self.fields["ndim"] or 0)

    @property
    def dtype(self) -> DataType:
        """Type of all three tensors."""
        return DataType(self.fields["dtype"])

    @property
    def layout(self) -> ConvLayout:
        """Memory order of the tensors."""
        layout = find_layout(str(self.fields["layout"]))
        if layout is None:
            raise InputError(f"kernel {self.name} has an unknown layout: {self.fields['layout']}")
        return layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How a run is timed."""

    #: runs before the timed ones
    warmup: int = 0
    #: timed runs
    repeat: int = 1
    #: take the median of the timed runs instead of their mean
    median: bool = False
    #: bytes to touch before each timed run to evict the caches
    flush_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvResult:
    """What a run gave."""

    kernel: ConvKernel
    #: of one run, in milliseconds
    time_ms: float
    tflops: float
    #: the computed tensor in the memory order of the kernel's layout; bf16 as float32
    output: NDArray[Any]


class ConvLibrary:
    """The kernels of one ``libckprof_conv_<direction>.so``.

    Nothing is loaded until it is needed, and no device is touched until a kernel is asked or run. In a forked
    child the library is loaded anew, so that locks, threads and the device of the parent do not matter; a GPU
    that the parent has used already cannot be used in the child, which is a limit of its driver.

    :param path: the library.
    :param arch: device to choose; by default the one that the kernels were built for.
    :param device: index of the device.
    """

    def __init__(self, path: Path | str, *, arch: str | None = None, device: int = 0) -> None:
        self.path = Path(path)
        self._arch = arch
        self._device = device
        self._loaded: tuple[int, ctypes.CDLL] | None = None
        self._has_device = False
        self._kernels: tuple[ConvKernel, ...] | None = None

    @property
    def direction(self) -> str:
        """Id of the direction."""
        return _text(self._binary().ckprof_conv_direction())

    @property
    def arch(self) -> str:
        """Architecture that the kernels were built for."""
        return _text(self._binary().ckprof_conv_arch())

    @property
    def version(self) -> str:
        """Version of the dispatcher's C interface."""
        return _text(self._binary().conv_dispatcher_version())

    @property
    def tensors(self) -> tuple[str, str, str]:
        """Which of ``input``, ``weight``, ``output`` are the two operands and the result."""
        a, b, c = (TENSORS[self._binary().ckprof_conv_buffer(position)] for position in range(3))
        return a, b, c

    @property
    def kernels(self) -> tuple[ConvKernel, ...]:
        """All kernels, in the order of the library."""
        if self._kernels is None:
            binary = self._binary()
            self._kernels = tuple(
                ConvKernel(
                    index=index,
                    name=_text(binary.ckprof_conv_kernel_name(index)),
                    key=_text(binary.ckprof_conv_kernel_key(index)),
                    fields=json.loads(binary.ckprof_conv_kernel_fields(index)),
                )
                for index in range(binary.ckprof_conv_kernel_count())
            )
        return self._kernels

    def kernel(self, which: int | str | ConvKernel) -> ConvKernel:
        """Return a kernel by its number, its name, or the start of its key.

        :raises UsageError: there is none, or several keys start like that.
        """
        if isinstance(which, ConvKernel):
            return which
        if isinstance(which, int):
            if not 0 <= which < len(self.kernels):
                raise UsageError(f"kernel {which}: the library has {len(self.kernels)}, from 0")
            return self.kernels[which]
        found = [kernel for kernel in self.kernels if kernel.name == which]
        found = found or [kernel for kernel in self.kernels if which and kernel.key.startswith(which)]
        if len(found) != 1:
            names = [kernel.name for kernel in self.kernels]
            raise UsageError(unknown_name("kernel", which, names, "the library has none"))
        return found[0]

    def instance_string(self, which: int | str | ConvKernel) -> str:
        """Return CK Builder's text for a kernel.

        :raises InputError: the library was built without it.
        """
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        if self._binary().ckprof_conv_instance_string(self.kernel(which).index, text, _TEXT_BYTES) != 0:
            raise InputError(_text(text.value) or "the kernel has no instance string", self.path)
        return _text(text.value)

    def rejection(self, which: int | str | ConvKernel, problem: ConvProblem, split_k: int = 1) -> str:
        """Return why a kernel does not support a problem; empty if it does.

        :raises ToolchainError: the device cannot be used.
        """
        binary = self._ready()
        reason = ctypes.create_string_buffer(_TEXT_BYTES)
        answer = binary.ckprof_conv_is_supported(
            self.kernel(which).index, CProblem.of(problem, split_k), reason, _TEXT_BYTES
        )
        return "" if answer == 1 else _text(reason.value) or "no reason given"

    def supporting(self, problem: ConvProblem, split_k: int = 1) -> tuple[ConvKernel, ...]:
        """Return the kernels that support a problem, in the order of the library."""
        return tuple(kernel for kernel in self.kernels if not self.rejection(kernel, problem, split_k))

    def run(
        self,
        problem: ConvProblem,
        operands: Mapping[str, NDArray[Any]],
        kernel: int | str | ConvKernel | None = None,
        *,
        split_k: int = 1,
        timing: Timing | None = None,
    ) -> ConvResult:
        """Run one kernel and return what it computed.

        :param problem: K and C per group.
        :param operands: the two operands by tensor name (see :attr:`tensors`), in the memory order of the
            kernel's layout; floating-point values, or for bf16 also raw 16-bit words.
        :param kernel: which one; by default the first that supports the problem.
        :param split_k: splits of the reduction.
        :raises UsageError: there is no such kernel, or an operand is missing.
        :raises InputError: an operand has the wrong shape or type, or no kernel supports the problem.
        :raises ToolchainError: the device cannot be used.
        """
        if kernel is None:
            chosen = next(iter(self.supporting(problem, split_k)), None)
            if chosen is None:
                raise InputError(f"no kernel of {self.path.name} supports {problem.describe()}")
        else:
            chosen = self.kernel(kernel)
        *sources, result = self.tensors
        stored = {name: _stored(operands, name, problem, chosen) for name in sources}
        unknown = set(operands).difference(sources)
        if unknown:
            raise UsageError(
                f"{', '.join(sorted(unknown))}: {self.direction} kernels read {' and '.join(sources)}"
            )
        stored[result] = np.zeros(tensor_shape(problem, chosen.layout, result), storage_type(chosen.dtype))
        options = timing or Timing()
        timed = foreign.CTiming(options.warmup, options.repeat, options.median, options.flush_bytes)
        reason = ctypes.create_string_buffer(_TEXT_BYTES)
        binary = self._ready()
        with _on_device(binary, stored, result) as buffers:
            time_ms = binary.ckprof_conv_run(
                chosen.index, CProblem.of(problem, split_k), buffers, timed, reason, _TEXT_BYTES
            )
        if time_ms <= 0:
            raise InputError(f"kernel {chosen.name}: {_text(reason.value) or 'it failed without a reason'}")
        output = stored[result]
        if chosen.dtype is DataType.BF16:
            output = decode(output, chosen.dtype).astype(np.float32)
        return ConvResult(kernel=chosen, time_ms=time_ms, tflops=problem.flop / 1e9 / time_ms, output=output)

    def describe_device(self) -> str:
        """Return one line about the device.

        :raises ToolchainError: it cannot be used.
        """
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        self._ready().ckprof_conv_describe_device(text, _TEXT_BYTES)
        return _text(text.value)

    def _binary(self) -> ctypes.CDLL:
        """Load the library when it is first needed, and again in a forked child."""
        process = os.getpid()
        if self._loaded is None or self._loaded[0] != process:
            try:
                binary = foreign.load(self.path) if self._loaded is None else _load_copy(self.path)
            except (OSError, AttributeError) as exc:
                raise InputError(f"not a kernel library of ckprof: {exc}", self.path) from None
            self._loaded = process, binary
            self._has_device = False
        return self._loaded[1]

    def _ready(self) -> ctypes.CDLL:
        """Return the library with its device chosen."""
        binary = self._binary()
        if not self._has_device:
            reason = ctypes.create_string_buffer(_TEXT_BYTES)
            arch = self._arch.encode() if self._arch else None
            if binary.ckprof_conv_select_device(arch, self._device, reason, _TEXT_BYTES) != 0:
                raise ToolchainError(
                    f"{self.path.name} cannot use device {self._device}: {_text(reason.value)}"
                )
            self._has_device = True
        return binary


def _load_copy(path: Path) -> ctypes.CDLL:
    """Load the library with state of its own: the loader would hand out the parent's."""
    with tempfile.TemporaryDirectory(prefix="ckprof-") as folder:
        return foreign.load(Path(shutil.copy2(path, folder)))


def _stored(
    operands: Mapping[str, NDArray[Any]], name: str, problem: ConvProblem, kernel: ConvKernel
) -> NDArray[Any]:
    """Return an operand as the kernel reads it."""
    if name not in operands:
        raise UsageError(f"operand {name} is missing")
    values = np.asarray(operands[name])
    shape = tensor_shape(problem, kernel.layout, name)
    if values.shape != shape:
        order = getattr(kernel.layout, name)
        raise InputError(f"{name} has shape {values.shape}, expected {shape} ({order})")
    wanted = storage_type(kernel.dtype)
    if values.dtype == wanted or (kernel.dtype is DataType.BF16 and values.dtype.name == "bfloat16"):
        return np.ascontiguousarray(values).view(wanted)
    if not np.issubdtype(values.dtype, np.floating):
        raise InputError(f"{name} has type {values.dtype}, expected floating-point values")
    return np.ascontiguousarray(encode(values, kernel.dtype))


@contextmanager
def _on_device(binary: ctypes.CDLL, tensors: Mapping[str, NDArray[Any]], result: str) -> Iterator[CBuffers]:
    """Hold copies of the tensors in memory of the target, and copy the result back at the end."""
    memory: dict[str, int] = {}
    try:
        for name, array in tensors.items():
            address = binary.ckprof_conv_allocate(array.nbytes)
            if not address:
                raise MemoryError(f"the target cannot allocate {array.nbytes} bytes")
            memory[name] = address
            if binary.ckprof_conv_copy_to_device(address, array.ctypes.data, array.nbytes) != 0:
                raise ToolchainError(f"{name} cannot be copied to the device")
        yield CBuffers(**memory)
        array = tensors[result]
        if binary.ckprof_conv_copy_to_host(array.ctypes.data, memory[result], array.nbytes) != 0:
            raise ToolchainError(f"{result} cannot be copied from the device")
    finally:
        for address in memory.values():
            binary.ckprof_conv_release(address)


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")
