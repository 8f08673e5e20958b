"""What a worker does around launches where the device itself compares: as :mod:`ckprof.measure.worker.audit`.

Every launch is looked at, or every other one of kernels that were found right before. The device negates
operands, and the result back; a result with other bits than the verified one is compared with the reference
as a whole.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from ckprof.measure.worker.audit import NOW_AND_THEN, Signs, chance
from ckprof.measure.worker.check_work import CContraction, COperand, element_number
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.memory import GuardedTensor
from ckprof.measure.worker.messages import Checked, ReferenceFacts
from ckprof.measure.worker.sampling import MOST_LAUNCHES, Audit
from ckprof.model.computation import Rounding

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ckprof.measure.worker.audit import LaunchTimes
    from ckprof.measure.worker.device_checks import DeviceChecks
    from ckprof.measure.worker.memory import DeviceTensors, Target
    from ckprof.measure.worker.messages import LoadProblem, TensorFile
    from ckprof.measure.worker.sampling import AuditRequest, Findings
    from ckprof.model.computation import Tolerance


_DOUBLE_BYTES: Final = 8


class ProblemTooLargeError(Exception):
    """The device cannot compute so large a reference; the message says what to do."""


class DeviceReferences:
    """The references of a problem in the device's memory, between guards as the tensors are.

    There is one for all values that its operands have had, as long as there is room; what is missing is
    computed again.

    :param checks: what the device does.
    :param target: whose memory to use.
    :param problem: the problem, with the sum of products.
    :param tensors: of the problem.
    :raises MemoryError: there is not enough for what says which indices are negated.
    """

    def __init__(
        self, checks: DeviceChecks, target: Target, problem: LoadProblem, tensors: DeviceTensors
    ) -> None:
        if problem.contraction is None:
            raise ValueError("nobody says what the device computes")
        self.checks = checks
        self._target = target
        self.work = CContraction.from_buffer_copy(problem.contraction)
        self._operands = {file.name: tensors[file.name] for file in problem.operands}
        #: type and number of an operand's elements
        self._elements = {
            file.name: (element, math.prod(file.shape))
            for file, element in zip(problem.operands, self.work.elements, strict=True)
        }
        self.result = tensors[problem.result.name]
        # results of types with variants are compared on the host
        self._result_element = element_number(problem.result.dtype, ocp=True)
        self._kept: dict[tuple[TensorFile, ...], GuardedTensor] = {}
        #: that of the values which the operands have
        self.current: GuardedTensor | None = None
        self.axes = problem.signs
        #: of each axis, where a byte per index says whether it is negated, and then one whether it changes
        self._signs = [target.allocate(2 * axis.length) for axis in self.axes]
        for axis, signs in zip(self.axes, self._signs, strict=True):
            checks.fill(signs, 0, 2 * axis.length)

    def use(self, operands: tuple[TensorFile, ...]) -> ReferenceFacts:
        """Fill the operands, and compare results with their reference from now on.

        :raises MemoryError: the target has not enough memory for one reference.
        :raises ProblemTooLargeError: the device does not take it.
        """
        self.current = None
        squares = tuple(self._filled(file) for file in operands)
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
        magnitude, gaps = self.checks.magnitude(reference.address, self.work.stored)
        return ReferenceFacts(
            magnitude=magnitude if math.isfinite(magnitude) else None,
            gaps=gaps,
            squares=squares,
            digests=self._digests(),
        )

    def _filled(self, file: TensorFile) -> float:
        """Fill an operand; return the sum of the squares of its values."""
        if file.fill is None:
            raise ValueError(f"nobody says what {file.name} holds")
        # gaps between the lines hold the poison
        self._operands[file.name].poison()
        fill = COperand.from_buffer_copy(file.fill)
        return self.checks.fill_operand(fill, self._operands[file.name].address)

    def _computed(self) -> GuardedTensor:
        reference = GuardedTensor(self._target, self.work.stored * _DOUBLE_BYTES, self.checks)
        try:
            self._compute(reference)
        except BaseException:
            reference.release()
            raise
        return reference

    def _compute(self, reference: GuardedTensor) -> None:
        # every byte of the poison set is a NaN: what nothing is stored into is a gap
        reference.poison()
        partial = reference.address
        sliced = self.work.slices > 1
        if sliced:
            size = self.work.slices * self.work.stored * _DOUBLE_BYTES
            partial = self._target.allocate(size)
        try:
            if sliced:
                self.checks.fill(partial, POISON_BYTE, size)
            addresses = [tensor.address for tensor in self._operands.values()]
            if not self.checks.contract(self.work, addresses, partial=partial, reference=reference.address):
                raise ProblemTooLargeError("the problem is too large for the device's reference")
        finally:
            if sliced:
                self._target.release(partial)

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
        for address in self._signs:
            self._target.release(address)
        self._signs = []

    def result_digest(self) -> int:
        """Return a number that changes when a byte of the result does."""
        return self.checks.digest(self.result.address, self.result.size_bytes)

    def negate_operand(self, number: int, changes: NDArray[np.bool_], negated: NDArray[np.bool_]) -> None:
        """Negate indices of an axis of an operand, and note which of them are negated by then."""
        axis, signs = self.axes[number], np.concatenate((negated, changes))
        self._target.copy_to_device(self._signs[number], signs.ctypes.data, signs.size)
        address, place = self._operands[axis.operand].address, (axis.length, axis.operand_step)
        self.checks.negate(address, *self._elements[axis.operand], place, self._signs[number] + axis.length)

    def negate_result(self) -> None:
        """Negate the result where operands are negated: it is as if they were not."""
        for axis, signs in zip(self.axes, self._signs, strict=True):
            place = axis.length, axis.result_step
            self.checks.negate(self.result.address, self._result_element, self.work.stored, place, signs)

    def late_bytes(self) -> int:
        """Poison the result now, and return how many bytes of it are others once the device is idle."""
        self.result.poison()
        self.checks.wait()
        return self.checks.count_others(self.result.address, POISON_BYTE, self.result.size_bytes)

    def compare(self, tolerance: Tolerance, rounding: Rounding = Rounding.NONE) -> Findings:
        """Compare the result with the current reference."""
        if self.current is None:
            raise ValueError("the device has no reference")
        return self.checks.compare(
            self._result_element,
            self.result.address,
            self.current.address,
            self.work.stored,
            tolerance,
            rounding,
        )

    def check(self, tolerance: Tolerance, rounding: Rounding) -> Checked:
        """Compare the result, and look at all that kernels must leave alone."""
        findings = self.compare(tolerance, rounding)
        every = filter(None, (*self._operands.values(), self.result, self.current))
        return Checked(
            guards=tuple(tensor.changed_guards(self.checks) for tensor in every),
            digests=self._digests(),
            findings=findings,
        )

    def _digests(self) -> tuple[int, ...]:
        every = filter(None, (*self._operands.values(), self.current))
        return tuple(self.checks.digest(tensor.address, tensor.size_bytes) for tensor in every)


#: a trial comes before one of the first so many samples
_FIRST_SAMPLES: Final = 3
#: milliseconds that the launches of a trial should take together
_TRIAL_MS: Final = 0.5
#: trials at most, where the first ones are suspicious: other work of the host may have held one up
_TRIALS: Final = 3
#: milliseconds, and a share, of a trial that launchers need not report: what a launch costs the host
_HOST_MS: Final = 0.1
_HOST_SHARE: Final = 0.2


class DeviceAudit:
    """Looks at launches on the device.

    :param references: with the tensors; the result is a verified one.
    :param request: how launches are looked at.
    :param run: launches so many times in a row and returns the milliseconds of one.
    :param times: what trials have taken.
    :param first_ms: of the first run; ``None`` where the launcher's times are not compared with the host's.
    """

    def __init__(
        self,
        references: DeviceReferences,
        request: AuditRequest,
        run: Callable[[int], float],
        times: LaunchTimes,
        first_ms: float | None,
    ) -> None:
        start = time.perf_counter()
        self._references = references
        self._tolerance, self._is_brief = request.tolerance, request.is_brief
        self.looks_always = self._looks = False
        self._checks = references.checks
        self._signs = Signs(references.axes)
        self._run, self._times = run, times
        #: launches of a trial
        self._trial = 0
        if first_ms is not None:
            self._trial = min(MOST_LAUNCHES, math.ceil(_TRIAL_MS / max(first_ms, 1e-3)))
        #: of the result that others are compared with; the first launch gives it where there is none yet
        self._digest = None if request.fresh else references.result_digest()
        self._seen = Audit()
        self._findings = None if request.fresh else self._wrong()
        self._trial_at = chance.randrange(_FIRST_SAMPLES)
        if request.is_brief:
            self._trial_at = 0 if chance.random() < NOW_AND_THEN else -1
        self.spent_s = time.perf_counter() - start

    @property
    def checked(self) -> int:
        """Launches that were compared."""
        return self._seen.checked

    def before(self) -> None:
        """Negate and poison; try how long launches really take once."""
        self._looks = self.looks_always or not self._is_brief or chance.random() < NOW_AND_THEN
        if not self._looks:
            return
        start = time.perf_counter()
        if self._signs.axes and chance.random() < 0.9:
            self._change()
        if self._trial_at == 0:
            self._try()
        self._trial_at -= 1
        if chance.random() < 0.7:
            self._references.result.poison()
        self.spent_s += time.perf_counter() - start

    def after(self, launches: int) -> bool:
        """Compare the result of the last one of some launches; say whether it is wrong."""
        seen = self._seen
        if not self._looks:
            self._seen = msgspec.structs.replace(seen, launches=seen.launches + launches)
            return False
        start = time.perf_counter()
        self._references.negate_result()
        digest = self._references.result_digest()
        is_first, is_odd = self._digest is None, digest != self._digest
        if is_first:
            self._digest, is_odd = digest, False
        if (is_first or is_odd) and self._findings is None:
            self._findings = self._wrong()
        self._seen = msgspec.structs.replace(
            seen, launches=seen.launches + launches, checked=seen.checked + 1, odd=seen.odd + is_odd
        )
        self.spent_s += time.perf_counter() - start
        return self._findings is not None

    def _wrong(self) -> Findings | None:
        findings = self._references.compare(self._tolerance)
        return findings if findings.wrong else None

    def _change(self) -> None:
        """Negate half of the indices of an axis, or a few: a sample of an operand sees one or the other."""
        for number, indices in self._signs.draw(
            [chance.choice((1, 4, axis.length)) for axis in self._signs.axes]
        ):
            self._negate(number, indices)

    def _negate(self, number: int, indices: NDArray[np.intp]) -> None:
        changes = np.zeros(self._signs.axes[number].length, dtype=bool)
        changes[indices] = True
        self._signs.negated[number][indices] ^= True
        self._references.negate_operand(number, changes, self._signs.negated[number])

    def _try(self) -> None:
        """Compare what the launcher reports with what passes until the whole device is idle, and look whether
        anything is written after a launch.
        """
        if self._trial:
            trials = []
            for _ in range(_TRIALS):
                self._checks.wait()
                start = time.perf_counter()
                reported_ms = self._run(self._trial) * self._trial
                self._checks.wait()
                taken_ms = (time.perf_counter() - start) * 1e3
                trials.append((taken_ms - reported_ms, taken_ms, reported_ms))
                if trials[-1][0] <= _HOST_MS + _HOST_SHARE * taken_ms:
                    break
            _, taken_ms, reported_ms = min(trials)
            self._times.add(taken_ms, reported_ms)
        self._run(1)
        late = self._references.late_bytes()
        self._seen = msgspec.structs.replace(self._seen, late_bytes=late)

    def finish(self) -> Audit:
        """Give operands their signs back; the result has them already."""
        for number, negated in enumerate(self._signs.negated):
            indices = np.flatnonzero(negated)
            if indices.size:
                self._negate(number, indices)
        return msgspec.structs.replace(self._seen, findings=self._findings)
