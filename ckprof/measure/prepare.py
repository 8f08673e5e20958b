"""Operands and reference of a problem, computed once; operands are handed to workers as files.

This happens in the parent process, between measurements: a direction that comes from a file named on the
command line could not be imported in a fresh child, and forking a process with threads is unsafe. Nothing
stays in memory: workers read the files, and a worker that crashes costs no second computation. The reference
is not for them: a kernel that could read it could pass it off as its result.
"""

from __future__ import annotations

import math
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import psutil

from ckprof.errors import PluginError, ToolchainError, UsageError
from ckprof.measure.options import ReferencePlace
from ckprof.measure.verify.exact import ExpectedBytes
from ckprof.measure.verify.operands import InitKind, OperandValues, make_operand
from ckprof.measure.verify.storage import StoredFile, decode
from ckprof.measure.verify.tolerance import Sums
from ckprof.measure.worker.check_work import NotExpressibleError, lower, operand_fill
from ckprof.measure.worker.guards import CheckedTensor, with_gaps
from ckprof.measure.worker.messages import LoadProblem, ProblemValues, TensorFile
from ckprof.measure.worker.sampling import signed_axes
from ckprof.model.computation import Computation
from ckprof.model.types import TypeSet
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.measure.options import RunOptions
    from ckprof.measure.verify.exact import ExactKind
    from ckprof.measure.worker.check_work import CContraction
    from ckprof.measure.worker.messages import ReferenceFacts
    from ckprof.measure.worker.sampling import SignedAxis
    from ckprof.model.computation import Tolerance
    from ckprof.model.problem import Problem
    from ckprof.model.tensor import Layout, TensorSpec
    from ckprof.model.types import DataType

_DOUBLE_BYTES = 8

#: doubles that one part of the reference's computation may take
_PART_ELEMENTS = 32 * 2**20 // _DOUBLE_BYTES


class InsufficientMemoryError(Exception):
    """The tensors do not fit into memory or onto the disk; the message has the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedProblem:
    """A problem ready to be loaded by workers, and what their results are compared with."""

    request: LoadProblem
    problem: Problem
    types: TypeSet
    #: the operands and, as the last one, the result
    tensors: tuple[CheckedTensor, ...]
    #: elements of each operand
    elements: tuple[int, ...]
    #: how the result lies in memory
    result: TensorSpec
    #: doubles in the order of the result, NaN where it has gaps; ``None`` without verification, and where the
    #: device verifies
    reference: StoredFile | None
    #: magnitude and deviation are 0 without a reference
    sums: Sums
    #: what the operation says of it; ``None``: it follows from types, sums and splits
    tolerance: Tolerance | None
    #: whether every sum of products is exact, however it is computed
    exact: bool
    #: whether results are known to the bit where sums are exact
    can_be_exact: bool
    #: wall seconds that it took
    seconds: float
    #: the result of operands with exact sums, where the host knows it; ``None`` for other operands
    expected: ExpectedBytes | None = None
    #: of each operand and of the reference, as the device has made them; empty before it has
    digests: tuple[int, ...] = ()

    @property
    def on_device(self) -> bool:
        """Whether the device makes operands and reference, and compares."""
        return self.request.contraction is not None

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """The files that it holds."""
        held = (self.reference, *(tensor.values for tensor in self.tensors))
        return tuple(values for values in held if isinstance(values, StoredFile))

    def close(self) -> None:
        """Give the files back that it holds; it is of no use afterwards."""
        for values in self.files:
            values.close()

    def loaded(self, made: ReferenceFacts | None) -> PreparedProblem:
        """Return the problem with what is known of it since a device has made its reference.

        :raises PluginError: the reference is not finite.
        """
        if made is None:
            return self
        if made.magnitude is None or made.gaps != self.result.stored_elements - self.result.elements:
            raise PluginError(
                f"operation {self.request.computation.operation}: the device's reference is not finite on "
                f"{self.problem.describe()}; --reference host does without it"
            )
        variance = float(self.sums.reduction_length)
        for sum_of_squares, elements in zip(made.squares, self.elements, strict=True):
            variance *= sum_of_squares / elements
        sums = replace(self.sums, magnitude=made.magnitude, deviation=math.sqrt(variance))
        return replace(self, sums=sums, digests=made.digests)


def prepare_problem(
    operation: Operation,
    problem: Problem,
    layout: Layout,
    types: TypeSet | DataType,
    options: RunOptions,
    folder: Path,
    *,
    can_check: bool = False,
    exact: ExactKind | None = None,
    change: Callable[[dict[str, NDArray[Any]]], None] | None = None,
) -> PreparedProblem:
    """Write the operands and, unless verification is off, the reference.

    Where a device makes both, nothing is written: the request says how.

    :param types: one type stands for :meth:`~ckprof.model.types.TypeSet.shared`.
    :param folder: where to write; must exist.
    :param can_check: whether workers verify results on their device.
    :param exact: what to fill the operands with in the place of what the options say.
    :param change: changes operands that the host makes, as they are stored, by name and without gaps.
    :raises InsufficientMemoryError: memory or disk do not suffice.
    :raises PluginError: the operation's reference fails, or has the wrong shape.
    :raises ToolchainError: the folder cannot be written.
    :raises UsageError: the device was asked for and cannot make the reference.
    """
    start = time.perf_counter()
    all_types = types if isinstance(types, TypeSet) else TypeSet.shared(types)
    work = _Preparation(operation, problem, layout, all_types, folder)
    contraction = _on_device(work, options, can_check=can_check)
    length = operation.reduction_length(problem)
    roundings = operation.roundings(problem)
    can_be_exact = operation.is_exact(problem)
    if exact is None:
        wanted = OperandValues(kind=options.init, seed=options.seed, reduction_length=length)
    else:
        wanted = exact.values(work.specs, all_types, length, options.seed)
    reference, magnitude, deviation = None, 0.0, 0.0
    if contraction is None:
        check_memory(problem, work.specs, all_types, options, folder)
        with work.writing():
            stored, files = work.write_operands(wanted, change), work.files()
            if options.verify:
                reference, magnitude, deviation = work.write_reference(stored)
    else:
        files = work.filled_files(wanted)
    return PreparedProblem(
        request=work.request(files, contraction),
        problem=problem,
        types=all_types,
        tensors=tuple(
            CheckedTensor(
                name=file.name,
                size_bytes=math.prod(file.shape) * file.dtype.properties.size_bytes,
                values=StoredFile.open(Path(file.path)) if file.path else None,
            )
            for file in files
        ),
        elements=tuple(spec.elements for spec in work.specs[:-1]),
        result=work.specs[-1],
        reference=reference,
        sums=Sums(
            reduction_length=length,
            magnitude=magnitude,
            deviation=deviation,
            roundings=1 if all_types.changes_sums else roundings,
            is_changed=all_types.changes_sums and roundings > 1,
        ),
        tolerance=operation.tolerance(problem, all_types, magnitude),
        exact=can_be_exact and (exact is not None or options.init is InitKind.EXACT or all_types.is_exact),
        can_be_exact=can_be_exact,
        seconds=time.perf_counter() - start,
        expected=ExpectedBytes(reference, all_types) if exact is not None and reference is not None else None,
    )


def _on_device(work: _Preparation, options: RunOptions, *, can_check: bool) -> CContraction | None:
    """Return the sum of products that a device computes; ``None`` where the CPU does."""
    where, operation = options.reference, work.operation
    # a device that the target brings along computes on this machine, too, and with more work
    on_host = where is ReferencePlace.HOST or (where is ReferencePlace.AUTO and bool(options.device_name))
    if on_host or not options.verify:
        return None
    if not can_check:
        reason = "the target of the kernels does not verify on its device"
    elif not offers(operation, Operation.contraction):
        reason = f"operation {operation.id} does not describe its sums for devices"
    else:
        try:
            return lower(operation.contraction(work.problem), work.specs, work.types)
        except NotExpressibleError as exc:
            reason = f"operation {operation.id} on {work.problem.describe()}: {exc}"
    if where is ReferencePlace.DEVICE:
        raise UsageError(f"--reference device: {reason}; use --reference host or auto")
    return None


def check_memory(
    problem: Problem, specs: Sequence[TensorSpec], types: TypeSet, options: RunOptions, folder: Path
) -> None:
    """Estimate what the tensors need before anything is allocated.

    Preparing holds all tensors as stored, and those of a part of the problem in double precision; the
    reference is budgeted for with as much again for its own purposes. Running holds all tensors as stored.

    :param specs: the operands and, as the last one, the result.
    :raises InsufficientMemoryError: memory or disk do not suffice.
    """
    stored = sum(
        spec.stored_elements * dtype.properties.size_bytes
        for spec, dtype in zip(specs, types.of_so_many(len(specs)), strict=True)
    )
    elements = sum(spec.stored_elements for spec in specs)
    axis = problem.part_axis
    shared = sum(spec.elements for spec in specs if axis not in spec.axes)
    (first, _), *_ = problem.parts(_PART_ELEMENTS)
    length = max(dict(zip(spec.axes, spec.shape, strict=True)).get(axis, 1) for spec in specs)
    divided = sum(spec.elements for spec in specs if axis in spec.axes)
    part = shared + divided // length * (first.stop - first.start)
    needed = stored + (2 * part * _DOUBLE_BYTES if options.verify else 0)
    available = psutil.virtual_memory().available
    if needed > available:
        raise InsufficientMemoryError(
            f"the tensors need about {_gib(needed)} of memory, {_gib(available)} are available"
        )
    # The reference has the size of the result, which is one of the tensors.
    written = stored + (elements * _DOUBLE_BYTES if options.verify else 0)
    free = shutil.disk_usage(folder).free
    if written > free:
        raise InsufficientMemoryError(
            f"the tensors need up to {_gib(written)} in {folder}, {_gib(free)} are free: "
            "use another work folder"
        )


class _Preparation:
    """Writes the tensors of a problem into a folder."""

    def __init__(
        self, operation: Operation, problem: Problem, layout: Layout, types: TypeSet, folder: Path
    ) -> None:
        self.operation, self.problem, self.layout, self.types = operation, problem, layout, types
        #: the operands and, as the last one, the result
        self.specs = tuple(problem.tensor(name, layout) for name in operation.tensors_of(problem))
        self._dtypes = types.of_so_many(len(self.specs))
        self._folder = folder

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Tell in the words of a run what keeps files from being written.

        :raises InsufficientMemoryError: memory does not suffice.
        :raises ToolchainError: the folder cannot be written.
        """
        try:
            yield
        except MemoryError as exc:
            raise InsufficientMemoryError(f"not enough memory to prepare the problem: {exc}") from exc
        except OSError as exc:
            raise ToolchainError(
                f"{self._folder}: operands cannot be written: {exc.strerror or exc}; free some space, or set "
                "TMPDIR to a folder with more"
            ) from exc

    def request(self, files: tuple[TensorFile, ...], contraction: CContraction | None) -> LoadProblem:
        """Return what workers are asked to load."""
        return LoadProblem(
            problem=ProblemValues.of(self.problem),
            operands=files[:-1],
            result=files[-1],
            computation=Computation.of(
                self.operation.id, self.layout.name, self.problem, self.specs, self.types
            ),
            contraction=None if contraction is None else bytes(contraction),
            signs=self._signs(),
        )

    def _signs(self) -> tuple[SignedAxis, ...]:
        """Return where operands may be negated, and the result with them; nothing where that is not known."""
        if not offers(self.operation, Operation.contraction):
            return ()
        return signed_axes(self.operation.contraction(self.problem), self.specs, self.types)

    def write_operands(
        self, wanted: OperandValues, change: Callable[[dict[str, NDArray[Any]]], None] | None
    ) -> dict[str, NDArray[Any]]:
        """Write the operands' files; return their values without gaps."""
        pairs = [*zip(self.specs[:-1], self._dtypes, strict=False)]
        stored = {spec.name: make_operand(spec, dtype, wanted, ocp=self.types.ocp) for spec, dtype in pairs}
        if change is not None:
            change(stored)
        for spec in self.specs[:-1]:
            np.save(self._path(spec), with_gaps(stored[spec.name], spec), allow_pickle=False)
        return stored

    def files(self) -> tuple[TensorFile, ...]:
        """Return how the tensors are handed to workers."""
        result = self.specs[-1]
        return tuple(
            TensorFile(
                name=spec.name,
                shape=spec.stored_shape,
                dtype=dtype,
                position=spec.position,
                path="" if spec is result else str(self._path(spec)),
            )
            for spec, dtype in zip(self.specs, self._dtypes, strict=True)
        )

    def filled_files(self, wanted: OperandValues) -> tuple[TensorFile, ...]:
        """Return how a device fills the tensors."""
        fills = [
            bytes(operand_fill(spec, dtype, wanted, ocp=self.types.ocp))
            for spec, dtype in zip(self.specs[:-1], self.types.of_tensors, strict=False)
        ]
        return tuple(
            msgspec.structs.replace(file, path="", fill=fill)
            for file, fill in zip(self.files(), (*fills, None), strict=True)
        )

    def _path(self, spec: TensorSpec) -> Path:
        return self._folder / f"{spec.name}.npy"

    def write_reference(self, stored: Mapping[str, NDArray[Any]]) -> tuple[StoredFile, float, float]:
        """Compute the reference part by part and write it; return it with its magnitude and deviation.

        A result with the axis that divides the problem is written part by part, one without is the sum over
        all parts. Doubles of everything at once would take several times the memory of the tensors. The file
        has no name: it is nobody else's business, and it is gone with this process.
        """
        *operands, result = self.specs
        axis = self.problem.part_axis
        # What is written part by part must come in the order of the memory.
        whole = [(slice(None), self.problem)]
        parts = whole if result.axes.find(axis) > 0 else self.problem.parts(_PART_ELEMENTS)
        values = StoredFile.unnamed(self._folder, np.dtype(np.float64), result.stored_elements)
        magnitude = 0.0
        squares = dict.fromkeys(stored, 0.0)
        total: NDArray[np.float64] | None = None
        for number, (some, part) in enumerate(parts):
            decoded = {
                spec.name: decode(_part(stored[spec.name], spec, axis, some), dtype, ocp=self.types.ocp)
                for spec, dtype in zip(operands, self._dtypes, strict=False)
            }
            decoded = {**decoded, **self.operation.multiplied(part, decoded, self.types)}
            for spec in operands:
                if number == 0 or axis in spec.axes:
                    squares[spec.name] += float(np.vdot(decoded[spec.name], decoded[spec.name]))
            reference = self._compute(part, decoded)
            if axis in result.axes:
                values.append(with_gaps(reference, part.tensor(result.name, self.layout), fill=np.nan))
                magnitude = max(magnitude, float(reference.max()), -float(reference.min()))
            else:
                total = reference if total is None else total + reference
        if total is not None:
            values.append(with_gaps(total, result, fill=np.nan))
            magnitude = max(float(total.max()), -float(total.min()))
        mean_squares = {name: total / stored[name].size for name, total in squares.items()}
        deviation = self.operation.deviation(self.problem, mean_squares)
        return values, magnitude, deviation

    def _compute(self, problem: Problem, operands: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        shape = problem.tensor(self.specs[-1].name, self.layout).shape
        computed = self.operation.reference(problem, self.layout, operands, self.types)
        reference = np.asarray(computed, dtype=np.float64)
        if reference.shape != shape:
            raise PluginError(
                f"operation {self.operation.id}: the reference has shape {reference.shape}, expected {shape}"
            )
        if not math.isfinite(float(reference.sum())):
            raise PluginError(
                f"operation {self.operation.id}: the reference is not finite on {problem.describe()}"
            )
        return np.ascontiguousarray(reference)


def _part(values: NDArray[Any], spec: TensorSpec, axis: str, some: slice) -> NDArray[Any]:
    """Return the part of a tensor that belongs to a part of the problem."""
    at = spec.axes.find(axis)
    return values if at < 0 else values[(slice(None),) * at + (some,)]


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"
