"""A kernel library of any operation as a Python object: kernels run in this very process.

That is what programs want that compute with them. A kernel that crashes takes the program down; to find out
whether one is right and how fast, use ``ckprof run`` or :func:`ckprof.measure.call.call_library`: their
kernels run in processes of their own.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ckprof.errors import InputError, ToolchainError, UsageError, input_errors
from ckprof.files import scratch_folder
from ckprof.measure.verify.storage import FLOAT8_TYPES, decode, encode, storage_type
from ckprof.measure.worker.abi import CProblem, Library, LibraryError
from ckprof.measure.worker.guards import (
    CheckedTensor,
    out_of_bounds_writes,
    read_tensor,
    with_gaps,
    without_gaps,
)
from ckprof.measure.worker.memory import DeviceTensors
from ckprof.measure.worker.messages import AbiStatus
from ckprof.measure.worker.sampling import KernelFailure
from ckprof.measure.worker.session import timed_run
from ckprof.model.ranking import summarise
from ckprof.model.roofline import rates_of
from ckprof.model.tensor import layout_named
from ckprof.model.types import DataType, SplitSum, TypeSet, types_on
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.measure.worker.messages import LibraryInfo
    from ckprof.model.problem import Problem
    from ckprof.model.tensor import Layout, TensorSpec
    from ckprof.plugin.protocols import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryKernel:
    """One kernel of a library."""

    index: int
    name: str
    #: content key of the instance
    key: str
    #: everything that makes the kernel, as ``ckprof list instances --format json`` shows it
    fields: Mapping[str, int | float | str | bool | None]
    #: memory order of the tensors
    layout: Layout

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions."""
        return int(self.fields["ndim"] or 0)

    @property
    def dtype(self) -> DataType:
        """Type of the operands."""
        return DataType(self.fields["dtype"])

    def types(self, operation: Operation) -> TypeSet:
        """Return the types of the tensors: what the library says, else the usual ones of the operation."""
        said = self.fields.get("types")
        return TypeSet.parse(str(said)) if said else operation.types(self.dtype)

    @property
    def split_sum(self) -> SplitSum:
        """How the parts of a split reduction are added up."""
        return SplitSum(self.fields.get("split_sum", SplitSum.RESULT_TYPE.value))

    @property
    def prepares_untimed(self) -> bool:
        """Whether its launcher does something around it, such as padding, that is no part of the time."""
        return bool(self.fields.get("prepares_untimed"))


def library_kernels(operation: Operation, info: LibraryInfo) -> tuple[LibraryKernel, ...]:
    """Return the kernels of a library in its order.

    :param operation: what they compute.
    :raises InputError: the operation does not have a kernel's layout.
    """
    kernels = []
    for index, (key, text) in enumerate(info.kernels.items()):
        fields = json.loads(text)
        name = str(fields["name"])
        layout = layout_named(operation.layouts, str(fields["layout"]))
        if layout is None:
            raise InputError(f"kernel {name} has an unknown layout: {fields['layout']}")
        kernels.append(LibraryKernel(index=index, name=name, key=key, fields=fields, layout=layout))
    return tuple(kernels)


def find_kernel(kernels: Sequence[LibraryKernel], which: int | str | LibraryKernel) -> LibraryKernel:
    """Return a kernel by its number, its name, or the start of its key.

    :raises UsageError: there is none, or several keys start like that.
    """
    if isinstance(which, LibraryKernel):
        return which
    if isinstance(which, int):
        if not 0 <= which < len(kernels):
            raise UsageError(f"kernel {which}: the library has {len(kernels)}, from 0")
        return kernels[which]
    matching = [kernel for kernel in kernels if kernel.name == which]
    matching = matching or [kernel for kernel in kernels if which and kernel.key.startswith(which)]
    if len(matching) != 1:
        names = [kernel.name for kernel in kernels]
        raise UsageError(unknown_name("kernel", which, names, "the library has none"))
    return matching[0]


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
class LibraryResult:
    """What a run gave."""

    kernel: LibraryKernel
    #: of one run, in milliseconds
    time_ms: float
    tflops: float
    #: the computed tensor in the memory order of the kernel's layout; bf16 as float32
    output: NDArray[Any]


class KernelLibrary:
    """The kernels of one library, of whatever operation.

    Nothing is loaded until it is needed, and no device is touched until a kernel is asked or run. In a forked
    child the library is loaded again: locks, threads and the device of the parent do not matter. A GPU
    that the parent has used already cannot be used in the child, which is a limit of its driver. Threads may
    share an object; kernels run one after the other.

    :param path: the library.
    :param operation: what its kernels compute; by default found by the library's word among those that
        plugins provide.
    :param arch: device to choose; by default the one that the kernels were built for.
    :param device: index of the device.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        operation: Operation | None = None,
        arch: str | None = None,
        device: int = 0,
    ) -> None:
        self.path = Path(path)
        self._given_operation = None if operation is None else _completed(operation)
        self._arch = arch
        self._device = device
        self._loaded: tuple[int, Library, LibraryInfo] | None = None
        self._has_device = False
        self._kernels: tuple[LibraryKernel, ...] | None = None
        self._lock = threading.Lock()

    @property
    def direction(self) -> str:
        """Id of the operation."""
        return self._load()[1].direction

    @property
    def arch(self) -> str:
        """Architecture that the kernels were built for."""
        return self._load()[1].arch

    @property
    def version(self) -> str:
        """Version of the dispatcher's C interface; empty if the library does not say it."""
        return self._load()[1].version

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the operands and of the result."""
        return self._operation().tensors

    def _operation(self) -> Operation:
        """Return what the kernels compute.

        :raises UsageError: no plugin provides it.
        """
        if self._given_operation is None:
            from ckprof.plugin.manager import installed_registry

            self._given_operation = installed_registry().operation(self.direction)
        return self._given_operation

    def _types(self, kernel: LibraryKernel) -> TypeSet:
        """Return the types of a kernel's tensors."""
        return types_on(kernel.types(self._operation()), self._arch or self.arch)

    @property
    def kernels(self) -> tuple[LibraryKernel, ...]:
        """All kernels, in the order of the library."""
        if self._kernels is None:
            self._kernels = library_kernels(self._operation(), self._load()[1])
        return self._kernels

    def kernel(self, which: int | str | LibraryKernel) -> LibraryKernel:
        """Return a kernel by its number, its name, or the start of its key.

        :raises UsageError: there is none, or several keys start like that.
        """
        return find_kernel(self.kernels, which)

    def instance_string(self, which: int | str | LibraryKernel) -> str:
        """Return CK Builder's text for a kernel.

        :raises InputError: the library was built without it.
        """
        status, text = self._load()[0].kernels[self.kernel(which).key].instance_string()
        if status is not AbiStatus.OK:
            raise InputError(text or "the kernel has no instance string", self.path)
        return text

    def rejection(self, which: int | str | LibraryKernel, problem: Problem, split_k: int = 1) -> str:
        """Return why a kernel does not support a problem; empty if it does.

        :raises ToolchainError: the device cannot be used.
        """
        kernel = self._ready().kernels[self.kernel(which).key]
        support = kernel.is_supported(CProblem.of(problem, split_k))
        if support.supported:
            return ""
        return "; ".join(unmet.message for unmet in support.unmet_requirements) or "no reason given"

    def supporting(self, problem: Problem, split_k: int = 1) -> tuple[LibraryKernel, ...]:
        """Return the kernels that support a problem, in the order of the library."""
        return tuple(kernel for kernel in self.kernels if not self.rejection(kernel, problem, split_k))

    def run(
        self,
        problem: Problem,
        operands: Mapping[str, NDArray[Any]],
        kernel: int | str | LibraryKernel | None = None,
        *,
        split_k: int = 1,
        timing: Timing | None = None,
    ) -> LibraryResult:
        """Run one kernel in this process and return what it computed.

        :param problem: channels of a convolution count those of one group.
        :param operands: the operands by tensor name (see :attr:`tensors`, and what a problem adds to them),
            in the memory order of the kernel's layout, without gaps between lines; floating-point values,
            integers where the kernel has them, or values as they are stored: raw words of bf16 and of types
            of 8 bits.
        :param kernel: which one; by default the first that supports the problem.
        :param split_k: splits of the reduction.
        :raises UsageError: there is no such kernel, an operand is missing, or there are no timed runs.
        :raises InputError: an operand has the wrong shape or type, no kernel supports the problem, or the
            kernel wrote outside of its result.
        :raises ToolchainError: the device cannot be used.
        """
        timing = timing or Timing()
        if timing.repeat < 1:
            raise UsageError(f"repeat is {timing.repeat}, expected at least 1")
        chosen = (
            next(iter(self.supporting(problem, split_k)), None) if kernel is None else self.kernel(kernel)
        )
        if chosen is None:
            raise InputError(f"no kernel of {self.path.name} supports {problem.describe()}")
        stored = self._stored(problem, operands, chosen)
        with self._lock:
            time_ms, output = self._compute(problem, stored, chosen, split_k, timing)
        types, spec = self._types(chosen), problem.tensor(self.tensors[-1], chosen.layout)
        output = without_gaps(output, 0, spec)
        if types.result is DataType.BF16 or types.result in FLOAT8_TYPES:
            output = decode(output, types.result, ocp=types.ocp).astype(np.float32)
        return LibraryResult(
            kernel=chosen,
            time_ms=time_ms,
            tflops=rates_of(problem, types, time_ms)[0] / 1e3,
            output=output.reshape(spec.shape),
        )

    def describe_device(self) -> str:
        """Return one line about the device.

        :raises ToolchainError: it cannot be used.
        """
        return self._ready().target.describe_device()

    def _stored(
        self, problem: Problem, operands: Mapping[str, NDArray[Any]], kernel: LibraryKernel
    ) -> dict[str, NDArray[Any]]:
        """Return the operands as the kernel reads them."""
        tensors, types = self._operation().tensors_of(problem), self._types(kernel)
        sources, layout = tensors[:-1], kernel.layout
        if (unmet := problem.unmet_by(layout)) is not None:
            raise InputError(f"kernel {kernel.name}: {unmet.message}")
        stored = {
            name: _stored(operands, problem.tensor(name, layout), dtype, ocp=types.ocp)
            for name, dtype in zip(sources, types.of_so_many(len(tensors)), strict=False)
        }
        if unknown := set(operands).difference(sources):
            raise UsageError(
                f"{', '.join(sorted(unknown))}: {self.direction} kernels read {' and '.join(sources)}"
            )
        return stored

    def _compute(
        self,
        problem: Problem,
        operands: Mapping[str, NDArray[Any]],
        chosen: LibraryKernel,
        split_k: int,
        timing: Timing,
    ) -> tuple[float, NDArray[Any]]:
        """Return the duration in milliseconds and the stored values of the result."""
        library, given = self._ready(), CProblem.of(problem, split_k)
        target, kernel = library.target, library.kernels[chosen.key]
        names = self._operation().tensors_of(problem)
        specs = {name: problem.tensor(name, chosen.layout) for name in names}
        stored_type = self._types(chosen).result
        output_name = names[-1]
        result = CheckedTensor(
            name=output_name,
            size_bytes=specs[output_name].stored_elements * stored_type.properties.size_bytes,
        )
        checked = [
            *(CheckedTensor(name=n, size_bytes=v.nbytes, values=v) for n, v in operands.items()),
            result,
        ]
        checked.sort(key=lambda tensor: specs[tensor.name].position)
        tensors = DeviceTensors(target, {tensor.name: tensor.size_bytes for tensor in checked})
        try:
            for name, values in operands.items():
                tensors[name].upload(values)
            tensors[result.name].poison()
            buffers = tensors.buffers
            for _ in range(timing.warmup):
                timed_run(kernel, given, buffers)
            samples = []
            for _ in range(timing.repeat):
                if timing.flush_bytes:
                    target.flush_cache(timing.flush_bytes)
                samples.append(timed_run(kernel, given, buffers))
            damage = out_of_bounds_writes(tensors.read, checked)
            if damage:
                raise InputError(f"kernel {chosen.name} {damage}")
            output = np.concatenate([raw.copy() for raw in read_tensor(tensors.read, result)])
        except KernelFailure as failure:
            raise InputError(f"kernel {chosen.name}: {failure}") from failure
        except OSError as exc:
            raise ToolchainError(f"{self.path.name}: {exc}") from exc
        finally:
            tensors.release()
        summary = summarise(samples, "", keep_samples=False)
        time_ms = summary.time_ms if timing.median else summary.mean_ms
        return time_ms, output.view(storage_type(stored_type))

    def _load(self) -> tuple[Library, LibraryInfo]:
        """Load the library when it is first needed, and again in a forked child."""
        process = os.getpid()
        if self._loaded is None or self._loaded[0] != process:
            with input_errors(LibraryError, "not a kernel library of ckprof", self.path):
                if self._loaded is None:
                    library = Library.load(self.path)
                else:
                    # with state of its own: the loader would hand out the parent's
                    with scratch_folder() as folder:
                        library = Library.load(Path(shutil.copy2(self.path, folder)))
            if library.info is None:
                raise InputError("not a kernel library of ckprof: it does not say what it holds", self.path)
            self._loaded = process, library, library.info
            self._has_device = False
            self._lock = threading.Lock()
        return self._loaded[1:]

    def _ready(self) -> Library:
        """Return the library with its device chosen."""
        library, info = self._load()
        if not self._has_device:
            try:
                library.target.select_device(self._arch or info.arch, self._device)
            except LibraryError as exc:
                raise ToolchainError(f"{self.path.name}: {exc}") from None
            self._has_device = True
        return library


def _stored(
    operands: Mapping[str, NDArray[Any]], spec: TensorSpec, dtype: DataType, *, ocp: bool
) -> NDArray[Any]:
    """Return an operand as the kernel reads it."""
    name = spec.name
    if name not in operands:
        raise UsageError(f"operand {name} is missing")
    values = np.asarray(operands[name])
    if values.shape != spec.shape:
        raise InputError(f"{name} has shape {values.shape}, expected {spec.shape} ({spec.axes})")
    wanted = storage_type(dtype)
    if values.dtype == wanted or (dtype is DataType.BF16 and values.dtype.name == "bfloat16"):
        return np.ascontiguousarray(with_gaps(np.ascontiguousarray(values).view(wanted), spec))
    if not np.issubdtype(values.dtype, np.floating):
        raise InputError(f"{name} has type {values.dtype}, expected floating-point values")
    return np.ascontiguousarray(with_gaps(encode(values, dtype, ocp=ocp), spec))


def _completed(operation: Operation) -> Operation:
    """Return an operation with what its protocol does in place of members that it lacks."""
    from ckprof.plugin.boundary import Boundary, guarded
    from ckprof.plugin.protocols import Operation as Protocol

    return cast("Operation", guarded(operation, Boundary("", f"operation {operation.id!r}"), Protocol))
