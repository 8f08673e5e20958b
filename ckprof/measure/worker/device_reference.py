"""A problem whose operands and reference the device has made, in the worker that holds them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ckprof.measure.worker import messages, sampling_messages
from ckprof.measure.worker.check_work import bytes_of
from ckprof.measure.worker.device_checks import Limits
from ckprof.measure.worker.memory import GuardedTensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.measure.worker.check_work import ContractionWork
    from ckprof.measure.worker.device_checks import DeviceChecks
    from ckprof.measure.worker.kernel_provider import TargetMemory
    from ckprof.measure.worker.memory import DeviceTensors
    from ckprof.measure.worker.signs import SignedAxis

_DOUBLE_BYTES: Final = 8


class ProblemTooLargeError(Exception):
    """The device cannot compute so large a reference; the message says what to do."""


def fill_operands(
    checks: DeviceChecks, tensors: DeviceTensors, files: Sequence[messages.TensorFile]
) -> tuple[float, ...]:
    """Fill the operands; return the sums of the squares of their values."""
    squares = []
    for file in files:
        if file.fill is None:
            raise ValueError(f"nobody says what {file.name} holds")
        # gaps between the lines hold the poison
        tensors[file.name].poison()
        squares.append(checks.fill_operand(file.fill, tensors[file.name].address))
    return tuple(squares)


class DeviceReference:
    """The reference of a problem in the device's memory, between guards as the tensors are.

    :param checks: what the device does.
    :param target: whose memory to use.
    :param work: the sum of products.
    :param tensors: of the problem, with the operands in place.
    :param names: of the operands and, as the last one, the result.
    :raises MemoryError: the target has not enough memory.
    :raises ProblemTooLargeError: the device does not take it.
    """

    def __init__(
        self,
        checks: DeviceChecks,
        target: TargetMemory,
        work: ContractionWork,
        tensors: DeviceTensors,
        names: Sequence[str],
    ) -> None:
        self._checks = checks
        self._work = work
        self._tensors = tensors
        *self._operands, self._result = names
        self._reference = GuardedTensor(target, work.stored * _DOUBLE_BYTES, checks)
        try:
            self._compute(target)
        except BaseException:
            self._reference.release()
            raise

    @property
    def work(self) -> ContractionWork:
        """The sum of products."""
        return self._work

    def _compute(self, target: TargetMemory) -> None:
        # every byte of the poison set is a NaN: what nothing is stored into is a gap
        self._reference.poison()
        reference = partial = self._reference.address
        sliced = self._work.slices > 1
        if sliced:
            size = self._work.slices * self._work.stored * _DOUBLE_BYTES
            partial = target.allocate(size)
        try:
            if sliced:
                self._checks.fill(partial, 0xFF, size)
            addresses = [self._tensors[name].address for name in self._operands]
            if not self._checks.contract(self._work, addresses, partial=partial, reference=reference):
                raise ProblemTooLargeError("the problem is too large for the device's reference")
        finally:
            if sliced:
                target.release(partial)

    def release(self) -> None:
        """Give its memory back."""
        self._reference.release()

    def facts(self, squares: tuple[float, ...]) -> messages.ReferenceFacts:
        """Return what the parent needs to know of it.

        :param squares: of the operands' values, added up.
        """
        magnitude, gaps = self._checks.magnitude(self._reference.address, self._work.stored)
        return messages.ReferenceFacts(
            magnitude=magnitude if math.isfinite(magnitude) else None,
            gaps=gaps,
            squares=squares,
            digests=self._digests(),
        )

    @property
    def result(self) -> GuardedTensor:
        """The result."""
        return self._tensors[self._result]

    def result_digest(self) -> int:
        """Return a number that changes when a byte of the result does."""
        return self._checks.digest(self.result.address, self.result.size_bytes)

    def negate_operand(self, axis: SignedAxis, signs: int) -> None:
        """Negate indices of an axis of an operand.

        :param signs: address of a byte per index.
        """
        tensor = self._tensors[axis.operand]
        element = self._work.elements[self._operands.index(axis.operand)]
        place = axis.length, axis.operand_step
        self._checks.negate(tensor.address, element, tensor.size_bytes // bytes_of(element), place, signs)

    def negate_result(self, axis: SignedAxis, signs: int) -> None:
        """Negate indices of an axis of the result.

        :param signs: address of a byte per index.
        """
        place = axis.length, axis.result_step
        self._checks.negate(self.result.address, self._work.result_element, self._work.stored, place, signs)

    def late_bytes(self, poison: int) -> int:
        """Poison the result now, and return how many bytes of it are others once the device is idle."""
        self.result.poison()
        self._checks.wait()
        return self._checks.count_others(self.result.address, poison, self.result.size_bytes)

    def compare(self, limits: Limits) -> sampling_messages.Findings:
        """Compare the result."""
        return self._checks.compare(
            self._work.result_element,
            self.result.address,
            self._reference.address,
            self._work.stored,
            limits,
        )

    def check(self, request: messages.Check) -> messages.Checked:
        """Compare the result, and look at all that kernels must leave alone."""
        every = [self._tensors[name] for name in (*self._operands, self._result)]
        return messages.Checked(
            guards=tuple(tensor.changed_guards(self._checks) for tensor in (*every, self._reference)),
            digests=self._digests(),
            findings=self.compare(Limits(rtol=request.rtol, atol=request.atol, rounding=request.rounding)),
        )

    def _digests(self) -> tuple[int, ...]:
        every = [*(self._tensors[name] for name in self._operands), self._reference]
        return tuple(self._checks.digest(tensor.address, tensor.size_bytes) for tensor in every)


class DeviceReferences:
    """The references of a problem, each for other values of its operands.

    They are kept as long as there is room; what is missing is computed again.

    :param checks: what the device does.
    :param target: whose memory to use.
    :param problem: the problem, with the sum of products.
    :param tensors: of the problem.
    """

    def __init__(
        self,
        checks: DeviceChecks,
        target: TargetMemory,
        problem: messages.LoadProblem,
        tensors: DeviceTensors,
    ) -> None:
        self._checks = checks
        self._target = target
        self._problem = problem
        self._tensors = tensors
        self._kept: dict[tuple[messages.TensorFile, ...], DeviceReference] = {}
        #: that of the values which the operands have
        self.current: DeviceReference | None = None

    def use(self, operands: tuple[messages.TensorFile, ...]) -> messages.ReferenceFacts:
        """Fill the operands, and compare results with their reference from now on.

        :raises MemoryError: the target has not enough memory for one reference.
        :raises ProblemTooLargeError: the device does not take it.
        """
        self.current = None
        squares = fill_operands(self._checks, self._tensors, operands)
        reference = self._kept.get(operands)
        if reference is None:
            try:
                reference = self._computed()
            except MemoryError:
                if not self._kept:
                    raise
                self.release_others()
                reference = self._computed()
            self._kept[operands] = reference
        self.current = reference
        return reference.facts(squares)

    def _computed(self) -> DeviceReference:
        problem = self._problem
        if problem.contraction is None:
            raise ValueError("nobody says what the device computes")
        names = [file.name for file in (*problem.operands, problem.result)]
        return DeviceReference(self._checks, self._target, problem.contraction, self._tensors, names)

    def release_others(self) -> None:
        """Give the memory of all but the current one back."""
        others = {key: one for key, one in self._kept.items() if one is not self.current}
        for key, reference in others.items():
            reference.release()
            del self._kept[key]

    def release(self) -> None:
        """Give all memory back."""
        self.current = None
        self.release_others()
