"""What a worker does around launches where the device itself compares: as :mod:`ckprof.measure.worker.audit`.

Every launch is looked at. The device negates operands, and the result back; a result with other bits than the
verified one is compared with the reference as a whole.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from ckprof.measure.worker import messages
from ckprof.measure.worker.audit import Signs, chance
from ckprof.measure.worker.check_work import bytes_of
from ckprof.measure.worker.device_checks import Limits
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.memory import GuardedTensor
from ckprof.measure.worker.sampling import MOST_LAUNCHES, Audit, Findings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ckprof.measure.worker.audit import LaunchTimes
    from ckprof.measure.worker.check_work import ContractionWork
    from ckprof.measure.worker.device_checks import DeviceChecks
    from ckprof.measure.worker.memory import DeviceTensors, TargetMemory
    from ckprof.measure.worker.sampling import SignedAxis


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

    def compare(self, limits: Limits) -> Findings:
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


#: a trial comes before one of the first so many samples
_FIRST_SAMPLES: Final = 3
#: milliseconds that the launches of a trial should take together
_TRIAL_MS: Final = 0.5
#: trials at most, where the first ones are suspicious: other work of the host may have held one up
_TRIALS: Final = 3
#: milliseconds, and a share, of a trial that launchers need not report: what a launch costs the host
_HOST_MS: Final = 0.1
_HOST_SHARE: Final = 0.2


class SignBytes:
    """Memory of the device that says which indices are negated.

    :param target: whose memory to use.
    :param axes: one piece of memory each for what is negated, and for what changes.
    :raises MemoryError: there is not enough.
    """

    def __init__(self, target: TargetMemory, checks: DeviceChecks, axes: Sequence[SignedAxis]) -> None:
        self._target = target
        self.checks = checks
        self.axes = tuple(axes)
        self._addresses: list[tuple[int, int]] = []
        for axis in axes:
            self._addresses.append((target.allocate(axis.length), target.allocate(axis.length)))

    def upload(self, number: int, negated: NDArray[np.bool_], *, changes: bool) -> int:
        """Copy the signs of an axis to the device; return their address."""
        address = self._addresses[number][changes]
        self._target.copy_to_device(address, negated.ctypes.data, negated.size)
        return address

    def address(self, number: int) -> int:
        """Return where the signs of an axis are."""
        return self._addresses[number][False]

    def release(self) -> None:
        """Give the memory back."""
        for pair in self._addresses:
            for address in pair:
                self._target.release(address)
        self._addresses = []


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchWork:
    """What is looked at."""

    #: launches so many times in a row and returns the milliseconds of one
    run: Callable[[int], float]
    #: what trials have taken
    times: LaunchTimes
    #: whether the launcher's times are compared with those of the host
    timed: bool
    first_ms: float
    #: whether the result is that of other operands
    fresh: bool = False


class DeviceAudit:
    """Looks at launches on the device.

    :param reference: with the tensors; the result is a verified one.
    :param limits: how far a result may be from the reference.
    :param signs: where operands may be negated.
    :param work: the kernel.
    """

    def __init__(
        self, reference: DeviceReference, limits: Limits, signs: SignBytes, work: LaunchWork
    ) -> None:
        start = time.perf_counter()
        self._reference = reference
        self._limits = limits
        self._bytes = signs
        self._checks = signs.checks
        self._signs = Signs(signs.axes)
        self._work = work
        self.is_searching = False
        for number, negated in enumerate(self._signs.negated):
            signs.upload(number, negated, changes=False)
        #: of the result that others are compared with; the first launch gives it where there is none yet
        self._digest = None if work.fresh else reference.result_digest()
        self._seen = Audit()
        self._findings = None if work.fresh else self._wrong()
        self._trial_at = chance.randrange(_FIRST_SAMPLES)
        self.spent_s = time.perf_counter() - start

    @property
    def checked(self) -> int:
        """Launches that were compared."""
        return self._seen.checked

    def before(self) -> None:
        """Negate and poison; try how long launches really take once."""
        start = time.perf_counter()
        if self._signs.axes and chance.random() < 0.9:
            self._change()
        if self._trial_at == 0:
            self._try()
        self._trial_at -= 1
        if chance.random() < 0.7:
            self._reference.result.poison()
        self.spent_s += time.perf_counter() - start

    def after(self, launches: int) -> bool:
        """Compare the result of the last one of some launches; say whether it is wrong."""
        start = time.perf_counter()
        for number, axis in enumerate(self._signs.axes):
            self._reference.negate_result(axis, self._bytes.address(number))
        digest = self._reference.result_digest()
        is_first, is_odd = self._digest is None, digest != self._digest
        if is_first:
            self._digest, is_odd = digest, False
        if (is_first or is_odd) and self._findings is None:
            self._findings = self._wrong()
        seen = self._seen
        self._seen = msgspec.structs.replace(
            seen, launches=seen.launches + launches, checked=seen.checked + 1, odd=seen.odd + is_odd
        )
        self.spent_s += time.perf_counter() - start
        return self._findings is not None

    def _wrong(self) -> object | None:
        findings = self._reference.compare(self._limits)
        return findings if findings.wrong else None

    def _change(self) -> None:
        """Negate half of the indices of an axis, or a few: a sample of an operand sees one or the other."""
        for number, indices in self._signs.draw(
            [chance.choice((1, 4, axis.length)) for axis in self._signs.axes]
        ):
            self._negate(number, indices)

    def _negate(self, number: int, indices: NDArray[np.intp]) -> None:
        axis = self._signs.axes[number]
        changes = np.zeros(axis.length, dtype=bool)
        changes[indices] = True
        self._reference.negate_operand(axis, self._bytes.upload(number, changes, changes=True))
        self._signs.note(number, indices)
        self._bytes.upload(number, self._signs.negated[number], changes=False)

    def _try(self) -> None:
        """Compare what the launcher reports with what passes until the whole device is idle, and look whether
        anything is written after a launch.
        """
        work = self._work
        if work.timed:
            launches = min(MOST_LAUNCHES, math.ceil(_TRIAL_MS / max(work.first_ms, 1e-3)))
            trials = []
            for _ in range(_TRIALS):
                self._checks.wait()
                start = time.perf_counter()
                reported_ms = work.run(launches) * launches
                self._checks.wait()
                taken_ms = (time.perf_counter() - start) * 1e3
                trials.append((taken_ms - reported_ms, taken_ms, reported_ms))
                if trials[-1][0] <= _HOST_MS + _HOST_SHARE * taken_ms:
                    break
            _, taken_ms, reported_ms = min(trials)
            work.times.add(taken_ms, reported_ms)
        work.run(1)
        late = self._reference.late_bytes(POISON_BYTE)
        self._seen = msgspec.structs.replace(self._seen, late_bytes=late)

    def finish(self) -> Audit:
        """Give operands their signs back; the result has them already."""
        for number, negated in enumerate(self._signs.negated):
            indices = np.flatnonzero(negated)
            if indices.size:
                self._negate(number, indices)
        return msgspec.structs.replace(self._seen, findings=self._findings)
