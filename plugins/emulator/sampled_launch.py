"""What the process does in which a few workgroups of each launch are executed.

The device maps tensors without touching them. A first execution of the chosen workgroups shows which pages
they reach, since addresses do not depend on values. These pages get their operands, those of the result get
the poison, and each workgroup is executed once more, by itself. What it has written is compared with the sums
of the same products, whose offsets are integers of 64 bits.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.verify.operands import Drawing
from ckprof.measure.verify.storage import decode, encode, storage_type
from ckprof.measure.worker.abi import CBuffers, CProblem
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.messages import AbiStatus
from ckprof.model.types import types_on
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation
from ckprof_plugins.emulator.emulated_library import opened
from ckprof_plugins.emulator.sums import SumsOfProducts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.measure.kernel_library import LibraryKernel
    from ckprof.model.problem import Problem
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import DataType
    from ckprof_plugins.emulator.emulated_library import OpenedLibrary

#: products of a sum that are executed and computed in reasonable time
_LONGEST_SUM: Final = 2**17
_OPERANDS: Final = 2
#: where 32-bit integers end, with a sign and without, be they counts of bytes or of elements
_ENDS: Final = (2**31, 2**32)
#: relative distance of the places before and after such an end
_NEAR: Final = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRun:
    """What a few workgroups of each launch did."""

    #: why nothing was compared, or what ended a launch
    reason: str = ""
    #: the kernel does not support the problem, or cannot be sampled on it
    unsupported: bool = False
    #: workgroups of each launch that were executed
    workgroups: int = 0
    #: places of those that stored nothing, from 0 for the first to 1 for the last workgroup
    silent: tuple[float, ...] = ()
    #: elements of the result that were written, and those of them that were wrong
    compared: int = 0
    wrong: int = 0
    #: the first wrong element: its index, what it is and what was expected
    first_wrong: str = ""
    #: most memory that the process has had
    resident_bytes: int = 0

    @property
    def found(self) -> str:
        """Return what is wrong, in a sentence; empty if nothing is, or the kernel cannot be sampled."""
        if self.unsupported or self.reason:
            return "" if self.unsupported else self.reason
        wrong = (
            f"{self.first_wrong}; {self.wrong} of {self.compared} elements are wrong" if self.wrong else ""
        )
        silent = f"{len(self.silent)} of {self.workgroups} workgroups stored nothing" if self.silent else ""
        return "; ".join(filter(None, (wrong, silent)))

    @property
    def is_right(self) -> bool:
        """Whether something was compared, and nothing is wrong."""
        return bool(self.compared) and not self.found


class _Tensor:
    """A tensor of which the pages that somebody touches take memory."""

    def __init__(self, target: Any, spec: TensorSpec, dtype: DataType) -> None:
        self.spec, self.dtype = spec, dtype
        storage = storage_type(dtype)
        self._bytes = spec.stored_elements * storage.itemsize
        self.address = target.allocate(self._bytes)
        self._target = target
        memory = (ctypes.c_uint8 * self._bytes).from_address(self.address)
        self.values: NDArray[Any] = np.ctypeslib.as_array(memory).view(storage)

    def release(self) -> None:
        self.values = self.values[:0]
        self._target.release(self.address)

    def touched(self) -> NDArray[np.int64]:
        """Return the offsets of the elements of all pages that were touched."""
        pages = -(-self._bytes // mmap.PAGESIZE)
        resident = np.zeros(pages, dtype=np.uint8)
        where = (
            ctypes.c_void_p(self.address),
            ctypes.c_size_t(self._bytes),
            ctypes.c_void_p(resident.ctypes.data),
        )
        if ctypes.CDLL(None, use_errno=True).mincore(*where):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        per_page = mmap.PAGESIZE // self.values.itemsize
        starts = np.flatnonzero(resident & 1) * per_page
        offsets = (starts[:, None] + np.arange(per_page)).ravel()
        return offsets[offsets < self.values.size]

    def is_written(self, offsets: NDArray[np.int64], *, cleared: bool) -> NDArray[np.bool_]:
        """Say which elements a kernel has written; of memory that it sets first, those that are not 0."""
        raw = self.values[offsets].view(np.uint8).reshape(-1, self.values.itemsize)
        written: NDArray[np.bool_] = (raw != POISON_BYTE).any(axis=1)
        return written & (raw != 0).any(axis=1) if cleared else written

    def poison(self, offsets: NDArray[np.int64]) -> None:
        self.values.view(np.uint8).reshape(-1, self.values.itemsize)[offsets] = POISON_BYTE


class _Sampling:
    """Chosen workgroups of a library's kernels."""

    def __init__(self, opened: OpenedLibrary) -> None:
        self.library, self.operation = opened.library, opened.operation
        self.kernels, self.arch, self.choose = opened.kernels, opened.arch, opened.choose
        self.choose(0.0)  # memory that is allocated from now on takes what is touched of it

    def run(self, key: str, problem: Problem, split_k: int, workgroups: int, seed: int) -> SampledRun:
        kernel = self.kernels[key]
        support = self.library.kernels[key].is_supported(CProblem.of(problem, split_k))
        if support.unmet_requirements:
            return SampledRun(unsupported=True, reason=support.unmet_requirements[0].message)
        types = types_on(kernel.types(self.operation), self.arch.partition(":")[0])
        if why := self._obstacle(problem, kernel, support.split_k, support.workspace_bytes):
            return SampledRun(unsupported=True, reason=why)
        names = self.operation.tensors_of(problem)
        specs = tuple(problem.tensor(name, kernel.layout) for name in names)
        exact = ExactKind.of(support.split_k, kernel.split_sum, self.operation.roundings(problem))
        length = self.operation.reduction_length(problem)
        wanted = exact.values(specs, types, length, seed)
        drawings = {
            spec.name: Drawing.of(spec, dtype, wanted)
            for spec, dtype in zip(specs[:-1], types.operands, strict=True)
        }
        sums = SumsOfProducts(self.operation.contraction(problem), specs, drawings)
        tensors: list[_Tensor] = []
        try:
            for spec, dtype in zip(specs, types.of_so_many(len(specs)), strict=True):
                tensors.append(_Tensor(self.library.target, spec, dtype))
            places = _places(tensors, workgroups, seed)
            trial = _Trial(self, key, CProblem.of(problem, split_k), tensors)
            return trial.run(places, sums, drawings, types.ocp)
        except (MemoryError, OSError) as error:
            return SampledRun(reason=str(error))
        finally:
            for tensor in tensors:
                tensor.release()

    def _obstacle(self, problem: Problem, kernel: LibraryKernel, split_k: int, workspace_bytes: int) -> str:
        """Return why a few workgroups cannot be judged by themselves; empty if they can."""
        length = self.operation.reduction_length(problem)
        if split_k != 1:
            return f"the sums of {split_k} splits meet in memory: workgroups cannot be judged by themselves"
        if workspace_bytes:
            return "the kernel keeps sums in a workspace: workgroups cannot be judged by themselves"
        if length > _LONGEST_SUM:
            return f"sums of {length:,} products take too long, at most {_LONGEST_SUM:,} are executed"
        if not offers(self.operation, Operation.contraction) or not self.operation.is_exact(problem):
            return f"operation {self.operation.id} does not describe its sums"
        contraction = self.operation.contraction(problem)
        operands = len(self.operation.tensors_of(problem)) - 1
        rounds_operands = kernel.types(self.operation).compute_type is not None
        if contraction.is_changed or operands != _OPERANDS or rounds_operands:
            return "its results are no sums of products of its operands alone"
        return ""


class _Trial:
    """One kernel on one problem."""

    def __init__(self, device: _Sampling, key: str, problem: CProblem, tensors: Sequence[_Tensor]) -> None:
        self._device, self._problem = device, problem
        self._kernel = device.library.kernels[key]
        *self._operands, self._result = tensors
        in_order = sorted(tensors, key=lambda tensor: tensor.spec.position)
        self._buffers = CBuffers.of(*(tensor.address for tensor in in_order))

    def run(
        self, places: Sequence[float], sums: SumsOfProducts, drawings: Mapping[str, Drawing], ocp: bool
    ) -> SampledRun:
        self._device.choose(*places)
        if reason := self._launched():
            return SampledRun(reason=reason, workgroups=len(places))
        for tensor in self._operands:
            touched = tensor.touched()
            number, inside = sums.element_numbers(tensor.spec, touched)
            drawn = drawings[tensor.spec.name].values(number.astype(np.uint64))
            tensor.values[touched] = encode(drawn, tensor.dtype, ocp=ocp)
            tensor.poison(touched[~inside])
        reached = self._result.touched()
        silent, first = [], ""
        compared = wrong = reached[:0]
        for place in places:
            self._result.poison(reached)
            self._device.choose(place)
            if reason := self._launched():
                return SampledRun(reason=reason, workgroups=len(places))
            cleared = self._device.choose(place)
            reached = self._result.touched()
            written = reached[self._result.is_written(reached, cleared=cleared)]
            if not written.size:
                silent.append(place)
                continue
            got = decode(self._result.values[written], self._result.dtype, ocp=ocp)
            right = sums.are_right(written, got, self._result.dtype, ocp=ocp)
            compared = np.union1d(compared, written)
            wrong = np.union1d(wrong, written[~right])
            if not first and not right.all():
                at = int(np.argmin(right))
                first = sums.described(int(written[at]), float(got[at]))
        return SampledRun(
            workgroups=len(places),
            silent=tuple(silent),
            compared=compared.size,
            wrong=wrong.size,
            first_wrong=first,
            resident_bytes=_most_memory(),
        )

    def _launched(self) -> str:
        """Launch the kernel once; return what went wrong, empty if nothing did."""
        status, reason, _ = self._kernel.run(self._problem, self._buffers, 0)
        return "" if status is AbiStatus.OK else reason or "the launch failed"


def _most_memory() -> int:
    """Return the most bytes that this process has had; getrusage() counts those of its parent as well."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found[1]) * 1024 if found is not None else 0


def _places(tensors: Sequence[_Tensor], count: int, seed: int) -> list[float]:
    """Return which workgroups are executed, from 0 for the first to 1 for the last one."""
    places = [0.0, 1.0]
    for tensor in tensors:
        for end in _ENDS:
            for size in (tensor.values.size, tensor.values.nbytes):
                if size > end:
                    places += [end / size * (1 + side * _NEAR) for side in (-1, 0, 1)]
    drawn = random.Random(seed)  # noqa: S311 - places, no secret
    places += [drawn.random() for _ in range(count)]
    return [min(place, 1.0) for place in dict.fromkeys(places)][:count]


def run_places(key: str, problem: Problem, split_k: int, workgroups: int, seed: int) -> SampledRun:
    """Run a kernel of the library, see :meth:`ckprof_plugins.emulator.sampling.Sampler.run`."""
    return _Sampling(opened()).run(key, problem, split_k, workgroups, seed)
