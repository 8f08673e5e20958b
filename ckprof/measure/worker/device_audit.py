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

from ckprof.measure.worker.audit import Signs, chance
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.sampling_messages import MOST_LAUNCHES, Audit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ckprof.measure.worker.audit import LaunchTimes
    from ckprof.measure.worker.device_checks import DeviceChecks, Limits
    from ckprof.measure.worker.device_reference import DeviceReference
    from ckprof.measure.worker.kernel_provider import TargetMemory
    from ckprof.measure.worker.signs import SignedAxis

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
