"""What a worker does around launches where the device itself compares: as :mod:`ckprof.measure.worker.audit`.

Every launch is looked at, or one in four of kernels that were found right before. The device negates
operands; the digest of a result is what it would be without that. A result with another digest than the
verified one is compared with the reference as a whole.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from ckprof.measure.worker.audit import NOW_AND_THEN, chance
from ckprof.measure.worker.check_work import CContraction, COperand, element_number
from ckprof.measure.worker.device_checks import CPiece
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.memory import GuardedTensor
from ckprof.measure.worker.messages import Checked, ReferenceFacts
from ckprof.measure.worker.sampling import MOST_LAUNCHES, Audit
from ckprof.model.computation import Rounding

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self.result = tensors[problem.result.name]
        # results of types with variants are compared on the host
        self._result_element = element_number(problem.result.dtype, ocp=True)
        self._kept: dict[tuple[TensorFile, ...], tuple[GuardedTensor, ReferenceFacts]] = {}
        #: that of the values which the operands have
        self.current: GuardedTensor | None = None
        #: of the result, as long as no operand is negated
        self.result_piece = self.result.whole
        self.result_piece.element, self.result_piece.axes = self._result_element, len(problem.signs)
        #: of each axis that may be negated, its operand
        self.operand_pieces = []
        elements = dict(zip(self._operands, self.work.elements, strict=True))
        for number, axis in enumerate(problem.signs):
            piece = self._operands[axis.operand].whole
            piece.element, piece.axes = elements[axis.operand], 1
            piece.signs[0].length, piece.signs[0].step = axis.length, axis.operand_step
            self.operand_pieces.append(piece)
            of_result = self.result_piece.signs[number]
            of_result.length, of_result.step = axis.length, axis.result_step

    def use(self, operands: tuple[TensorFile, ...]) -> ReferenceFacts:
        """Fill the operands, and compare results with their reference from now on.

        :raises MemoryError: the target has not enough memory for one reference.
        :raises ProblemTooLargeError: the device does not take it.
        """
        self.current = None
        squares = tuple(self._filled(file) for file in operands)
        if operands not in self._kept:
            try:
                reference = self._computed()
            except MemoryError:
                if not self._kept:
                    raise
                self.release_others()
                reference = self._computed()
            magnitude, gaps = self.checks.magnitude(reference.address, self.work.stored)
            self.current = reference
            finite = magnitude if math.isfinite(magnitude) else None
            facts = ReferenceFacts(magnitude=finite, gaps=gaps, squares=squares, digests=self._survey()[1])
            self._kept[operands] = reference, facts
        # what was found then: a kernel may have changed the reference since
        self.current, facts = self._kept[operands]
        return facts

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
        others = {key: one for key, (one, _) in self._kept.items() if one is not self.current}
        for key, reference in others.items():
            reference.release()
            del self._kept[key]

    def release(self) -> None:
        """Give all memory back."""
        self.current = None
        self.release_others()

    def late_bytes(self) -> int:
        """Poison the result now, and return how many bytes of it are others once the device is idle."""
        self.result.poison()
        self.checks.wait()
        poison = CPiece.of(self.result.address, self.result.size_bytes, others=POISON_BYTE)
        return self.checks.survey(poison)[0]

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

    def check(self, tolerance: Tolerance, roundings: tuple[Rounding, ...]) -> Checked:
        """Compare the result, and look at all that kernels must leave alone."""
        findings: list[Findings] = []
        for rounding in roundings:
            findings.append(self.compare(tolerance, rounding))
            if not findings[-1].wrong:
                break
        guards, digests, result = self._survey()
        return Checked(guards=guards, digests=digests, result=result, findings=tuple(findings))

    def _survey(self) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...], str]:
        """Return the changed bytes of guards, the digests of operands and reference, and that of the result.

        Guards are those of the operands, the result and the reference.
        """
        tensors = filter(None, (*self._operands.values(), self.result, self.current))
        pieces = [piece for tensor in tensors for piece in (*tensor.guards, tensor.whole)]
        found = self.checks.survey(*pieces)
        *operands, result, reference = found[2::3]
        return tuple(zip(found[::3], found[1::3], strict=True)), (*operands, reference), hex(result)


#: a trial comes before one of the first so many samples
_FIRST_SAMPLES: Final = 3
#: milliseconds that the launches of a trial should take together
_TRIAL_MS: Final = 0.5
#: trials at most, where the first ones are suspicious: other work of the host may have held one up
_TRIALS: Final = 3
#: one of so many times any share of the indices is drawn, else a few, which are so many at most
_FEW_ELSE_ANY: Final = 3
_FEW: Final = 4
#: more than what is drawn before a launch needs
_DRAWN_BITS: Final = 512
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
        # nothing is negated
        self._result = CPiece.from_buffer_copy(references.result_piece)
        #: the last result is that of operands which are negated
        self._is_negated = False
        self._run, self._times = run, times
        #: launches of a trial
        self._trial = (
            0 if first_ms is None else min(MOST_LAUNCHES, math.ceil(_TRIAL_MS / max(first_ms, 1e-3)))
        )
        #: launches, those that were compared, and bytes that were written after one
        self._launches = self.checked = self._late = 0
        #: of the result that others are compared with; the first launch gives it where there is none yet
        self._digest: int | None = None
        self._findings = None
        if not request.fresh:
            (self._digest,) = self._checks.survey(self._result)
            if hex(self._digest) != request.verified:
                self._findings = self._wrong()
        self._trial_at = chance.randrange(_FIRST_SAMPLES)
        if request.is_brief:
            self._trial_at = 0 if chance.random() < NOW_AND_THEN else -1
        self.spent_s = time.perf_counter() - start

    def before(self) -> None:
        """Negate and poison; try how long launches really take once."""
        self._looks = self.looks_always or not self._is_brief or chance.random() < NOW_AND_THEN
        if not self._looks:
            return
        start = time.perf_counter()
        if self._result.axes and chance.random() < 0.9:
            self._change()
        if self._trial_at == 0:
            self._try()
        self._trial_at -= 1
        if chance.random() < 0.7:
            self._references.result.poison()
        self.spent_s += time.perf_counter() - start

    def after(self, launches: int) -> bool:
        """Compare the result of the last one of some launches; say whether it is wrong."""
        self._launches += launches
        self._is_negated = True
        if not self._looks:
            return False
        start = time.perf_counter()
        self.checked += 1
        (digest,) = self._checks.survey(self._result)
        if digest != self._digest and self._findings is None:
            self._findings = self._wrong()
        if self._digest is None:
            self._digest = digest
        self.spent_s += time.perf_counter() - start
        return self._findings is not None

    def _wrong(self) -> Findings | None:
        """Compare the result as it would be if no operand were negated."""
        if self._is_negated:
            self._checks.negate(self._result)
            self._is_negated = False
        findings = self._references.compare(self._tolerance)
        return findings if findings.wrong else None

    def _change(self) -> None:
        """Draw a set of indices anew, a few or any share of them.

        A kernel that compares a sample of an operand with an earlier one overlooks a few.
        """
        # one call of the system for all that is drawn
        bits = chance.getrandbits(_DRAWN_BITS)

        def drawn(count: int) -> int:
            nonlocal bits
            bits, number = divmod(bits, count)
            return number

        axes = self._result.axes
        for number in range(axes) if drawn(2) else [drawn(axes)]:
            few = drawn(_FEW_ELSE_ANY) > 0
            length = self._result.signs[number].length
            share = min((1 + drawn(_FEW)) / length, 0.5) if few else drawn(2**32) / 2**32
            self._negate(number, int(few), share, drawn(2**64))

    def _negate(self, number: int, which: int, share: float, key: int) -> None:
        """Negate another set of indices of an axis than before.

        :param which: of the two sets that an axis has.
        """
        signs, piece = self._result.signs[number], self._references.operand_pieces[number]
        limit = int(share * 2**32)
        changes = piece.signs[0]
        changes.key[:], changes.share[:] = (signs.key[which], key), (signs.share[which], limit)
        signs.key[which], signs.share[which] = key, limit
        self._checks.negate(piece)

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
        self._late = self._references.late_bytes()

    def finish(self) -> Audit:
        """Give operands, and the result, their signs back."""
        if self._is_negated:
            self._checks.negate(self._result)
        for number, signs in enumerate(self._result.signs):
            for which, share in enumerate(signs.share):
                if share:
                    self._negate(number, which, 0.0, 0)
        return Audit(
            launches=self._launches, checked=self.checked, late_bytes=self._late, findings=self._findings
        )
