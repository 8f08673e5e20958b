"""One kernel's way through a measurement, as the parent drives it: support, run, verify, time, verify again.

The worker runs the kernel and copies tensors out; everything is judged here, where the kernel's code cannot
reach. The reference never enters the worker, unless the device computes it: then the worker reports what the
device has found, and digests tell whether operands and reference are still those that it has made.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.measure.verify.comparison import compare, comparison_of
from ckprof.measure.verify.storage import storage_type
from ckprof.measure.verify.tolerance import Sums, derive_tolerance
from ckprof.measure.worker import guards, messages
from ckprof.measure.worker.messages import MOST_LAUNCHES, AbiStatus
from ckprof.measure.worker.remote import RequestFailed
from ckprof.model.noise import quantile
from ckprof.model.outcome import TIMEOUT, KernelResult, Status
from ckprof.model.ranking import summarise
from ckprof.model.requirement import MEMORY_IN_USE, UnmetRequirement
from ckprof.model.tolerance import Tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.verify.comparison import Comparison
    from ckprof.measure.verify.stored_file import StoredFile
    from ckprof.measure.worker.remote import RemoteLibrary
    from ckprof.model.outcome import Verification
    from ckprof.model.types import SplitSum

#: seconds that the parent's clock may deviate from the worker's
_CLOCK_SLACK_S: Final = 1e-3
#: how many times its reported duration a run may take on the parent's clock, beside this many milliseconds
#: for what a launcher does before and after
_MOST_SLOWDOWN: Final = 20.0
_LAUNCH_MS: Final = 20.0
#: what a rejected run may name first: the id of the condition that is not met
_NAMED_CONDITION: Final = re.compile(r"(?P<rule>[a-z][a-z0-9]*(?:-[a-z0-9]+)+): (?P<message>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A result that was compared with the reference and found right: the same bytes need no second look."""

    #: of all bytes of the result
    digest: bytes
    verification: Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(KernelResult):
    """What became of one kernel, and what the next measurement has to know."""

    #: every condition that the problem does not meet, if that is why
    unmet_requirements: tuple[UnmetRequirement, ...] = ()
    #: splits of the reduction that were run; ``None`` if it did not come to that
    split_k: int | None = None
    #: the last result that was found right
    verified: Verified | None = None
    #: wall seconds of the timing stage
    timing_s: float = 0.0
    #: seconds of these spent on flushing caches
    flush_s: float = 0.0
    #: bytes touched before every sample
    flush_bytes: int = 0
    #: False if it did not come to that for a reason that has nothing to do with the kernel
    launched: bool = True
    #: the kernel did what may harm the next one: the worker must not be used any more
    tainted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRequest:
    """Which kernel is measured, and how."""

    key: str
    #: splits of the reduction; less than 1 lets the kernel choose
    split_k: int
    split_sum: SplitSum
    timing: messages.TimingSettings
    #: seconds for verification and copying, each time
    own_limit_s: float
    #: least duration that the device could need, in milliseconds; 0 if that is not known
    least_ms: float = 0.0
    #: what an earlier measurement of the kernel on the problem found right; then only the result of the timed
    #: runs is judged
    verified: Verified | None = None


class KernelMeasurement:
    """A measurement under way.

    :param library: the worker, with the problem loaded.
    :param prepared: that problem.
    :param request: what to measure.
    """

    def __init__(self, library: RemoteLibrary, prepared: PreparedProblem, request: KernelRequest) -> None:
        self._library = library
        self._prepared = prepared
        self._request = request
        self._remaining_s = request.timing.timeout_s
        self._verified = request.verified
        self._digest = blake2b()
        #: what is going on: ``support``, ``run``, ``verify`` or ``time``
        self.stage = "support"
        #: splits of the reduction, once the support test has said how many
        self.split_k: int | None = None

    def measure(self) -> Measured:
        """Run one kernel and say what became of it.

        :raises WorkerFailure: the worker is lost; :attr:`stage` says when.
        """
        support = self._support()
        if isinstance(support, Measured):
            return support
        # Who was told a number has no choice: the tolerance depends on it.
        self.split_k = self._request.split_k if self._request.split_k >= 1 else support.split_k
        measured = self._run(support)
        self._library.check_silence()
        return replace(measured, split_k=self.split_k)

    def _support(self) -> messages.Support | Measured:
        request = self._request
        query = messages.SupportQuery(problem=self._prepared.problem, split_k=request.split_k)
        try:
            with self._clock() as clock:
                (support,) = self._library.support(request.key, (query,), clock.limit_s)
        except RequestFailed as failure:
            return Measured(status=Status.RUN_ERROR, reason=str(failure))
        unmet = support.unmet_requirements
        if support.status is AbiStatus.OK and not unmet:
            return support
        reason = unmet[0].message if unmet else "the kernel gave no reason"
        if support.status is AbiStatus.FAILED:
            measured = Measured(status=Status.RUN_ERROR, reason=f"in the support test: {reason}")
        else:
            measured = not_met(*unmet, reason=reason)
        return replace(measured, split_k=support.split_k)

    def _run(self, support: messages.Support) -> Measured:
        """Run the kernel once, verify, time and verify again."""
        self.stage = "run"
        request, splits = self._request, support.split_k if self.split_k is None else self.split_k
        with self._clock() as clock:
            ran = self._library.run(request.key, splits, support.workspace_bytes, clock.limit_s)
        if ran.status is not AbiStatus.OK:
            return _not_run(ran)
        self.stage = "verify"
        repeated = request.verified is not None
        first = Measured(status=Status.OK) if repeated else self._verify()
        if first.status is not Status.OK:
            return first
        self.stage = "time"
        sample = messages.Sample(
            key=request.key,
            split_k=splits,
            timing=request.timing,
            first_ms=ran.time_ms,
            first_s=clock.elapsed_s,
        )
        first_s = clock.elapsed_s
        with self._clock() as clock:
            sampled = self._library.sample(sample, clock.limit_s)
        if isinstance(sampled, messages.Ran):
            # An error may stay with the device, and the next kernel would be blamed for it.
            return replace(first, status=Status.RUN_ERROR, reason=sampled.reason, tainted=True)
        sampling = sampled.sampling
        # Without time for another run, the first one is the sample.
        only_first = sampling.stopped_by == TIMEOUT and sampling.samples_ms == (ran.time_ms,)
        elapsed_s = clock.elapsed_s + (first_s if only_first else 0.0)
        reason = implausible(sampling, elapsed_s, request.least_ms)
        if reason:
            return replace(first, status=Status.RUN_ERROR, reason=reason, tainted=True)
        self.stage = "verify"
        last = first if only_first and not repeated else self._verify()
        if last.status is not Status.OK:
            return replace(last, reason=f"{last.reason} (in a timed run)")
        keep = request.timing.keep_samples
        return replace(
            last,
            verified=self._verified,
            measurement=replace(
                summarise(sampling.samples_ms, sampling.stopped_by, keep_samples=keep),
                launches=sampling.launches,
            ),
            timing_s=min(sampling.wall_s, elapsed_s),
            flush_s=sampling.flush_s,
            flush_bytes=sampled.flush_bytes,
        )

    def _verify(self) -> Measured:
        """Look for writes outside, and compare the result with the reference, unless it was right before.

        :returns: ``ok`` or ``wrong_result``.
        """
        prepared = self._prepared
        if prepared.on_device:
            return self._verify_on_device()
        damage = guards.out_of_bounds_writes(self._read, prepared.tensors)
        if damage:
            return Measured(status=Status.WRONG_RESULT, reason=damage, tainted=True)
        if prepared.reference is None:
            return Measured(status=Status.OK)
        if self._verified is not None and self._read_digest() == self._verified.digest:
            return Measured(status=Status.OK, verification=self._verified.verification)
        return self._judge(self._compare(prepared.reference))

    def _verify_on_device(self) -> Measured:
        """Have the device compare, and look at what it says of guards and of what must stay as it was.

        :returns: ``ok`` or ``wrong_result``.
        """
        prepared, request = self._prepared, self._request
        tolerance = self._tolerance()
        wanted = messages.Check(rtol=tolerance.rtol, atol=tolerance.atol)
        seen = self._library.check(wanted, request.own_limit_s)
        damage = guards.reported_writes(seen, [tensor.name for tensor in prepared.tensors], prepared.digests)
        if damage:
            return Measured(status=Status.WRONG_RESULT, reason=damage, tainted=True)
        return self._judge(comparison_of(seen.findings, prepared.result.elements, tolerance))

    def _judge(self, comparison: Comparison) -> Measured:
        prepared = self._prepared
        if comparison.verification.passed:
            self._verified = Verified(digest=self._digest.digest(), verification=comparison.verification)
            return Measured(status=Status.OK, verification=comparison.verification)
        return Measured(
            status=Status.WRONG_RESULT,
            reason=comparison.reason(prepared.result),
            verification=comparison.verification,
        )

    def _compare(self, reference: StoredFile) -> Comparison:
        return compare(self._result(), reference, self._prepared.types.result, self._tolerance())

    def _tolerance(self) -> Tolerance:
        prepared, request = self._prepared, self._request
        if prepared.tolerance is not None:
            return prepared.tolerance
        if prepared.exact:
            return Tolerance(rtol=0.0, atol=0.0)
        return derive_tolerance(
            prepared.types,
            Sums(
                reduction_length=prepared.reduction_length,
                magnitude=prepared.magnitude,
                deviation=prepared.deviation,
                roundings=prepared.roundings,
            ),
            split_k=self.split_k or 1,
            split_sum=request.split_sum,
        )

    def _result(self) -> Iterator[NDArray[np.generic]]:
        """Yield the stored values of the result, and take their digest."""
        storage = storage_type(self._prepared.types.result)
        self._digest = blake2b()
        for raw in guards.read_tensor(self._read, self._prepared.tensors[-1]):
            self._digest.update(raw.data)
            yield raw.view(storage)

    def _read_digest(self) -> bytes:
        digest = blake2b()
        for raw in guards.read_tensor(self._read, self._prepared.tensors[-1]):
            digest.update(raw.data)
        return digest.digest()

    def _read(self, tensor: str, start: int, size: int) -> NDArray[np.uint8]:
        return self._library.copy_out(tensor, start, size, self._request.own_limit_s)

    @contextmanager
    def _clock(self) -> Iterator[_Clock]:
        """Charge the kernel for what happens meanwhile; it does not pay for verification."""
        clock = _Clock(limit_s=self._remaining_s, start_s=time.monotonic())
        yield clock
        clock.elapsed_s = time.monotonic() - clock.start_s
        self._remaining_s = max(0.0, self._remaining_s - clock.elapsed_s)


@dataclass(slots=True, kw_only=True)
class _Clock:
    """The parent's clock while the worker works for a kernel."""

    limit_s: float
    start_s: float
    elapsed_s: float = 0.0


def implausible(sampling: messages.Sampling, elapsed_s: float, least_ms: float) -> str:
    """Return why reported durations cannot be true, or an empty text.

    :param elapsed_s: seconds on the parent's clock during which the samples were taken.
    :param least_ms: least duration that the device could need; 0 if that is not known.
    """
    samples = np.asarray(sampling.samples_ms, dtype=np.float64)
    if not samples.size or not np.isfinite(samples).all() or not (samples > 0).all():
        return "the worker reported durations that are no positive numbers"
    if not 0 <= sampling.flush_s <= elapsed_s + _CLOCK_SLACK_S:
        return f"the worker reported {sampling.flush_s:.3g} s of flushing within {elapsed_s:.3g} s"
    launches = sampling.launches
    if not 1 <= launches <= MOST_LAUNCHES:
        return f"the worker reported samples of {launches} launches, expected 1 to {MOST_LAUNCHES}"
    total_s = float(samples.sum()) * launches / 1e3
    if total_s > elapsed_s + _CLOCK_SLACK_S:
        return f"the launcher reported runs of {total_s:.3g} s, which took {elapsed_s:.3g} s with all else"
    taken_ms = (elapsed_s - sampling.flush_s) * 1e3 / (samples.size + max(0, sampling.warmup))
    mean_ms = float(samples.mean()) * launches
    if taken_ms > _MOST_SLOWDOWN * mean_ms + _LAUNCH_MS:
        run_ms, whole_ms = mean_ms / launches, taken_ms / launches
        return f"the launcher reported {run_ms:.3g} ms per run, which took {whole_ms:.3g} ms"
    median_ms = quantile(sorted(sampling.samples_ms), 0.5)
    if median_ms < least_ms:
        return f"the launcher reported {median_ms:.3g} ms, the device's peak allows {least_ms:.3g} ms"
    return ""


def not_met(*unmet: UnmetRequirement, reason: str) -> Measured:
    """Return what becomes of a kernel whose requirements are not met: unsupported, unless that may pass."""
    if any(requirement.rule == MEMORY_IN_USE for requirement in unmet):
        return Measured(
            status=Status.RUN_ERROR,
            reason=f"not launched: {reason}; others use the device's memory now",
            launched=False,
        )
    return Measured(status=Status.UNSUPPORTED, reason=reason, unmet_requirements=unmet)


def _not_run(ran: messages.Ran) -> Measured:
    if ran.status is AbiStatus.REJECTED:
        named = _NAMED_CONDITION.fullmatch(ran.reason)
        rejection = (
            UnmetRequirement(rule=named["rule"], message=named["message"])
            if named
            else UnmetRequirement(rule="run", message=ran.reason or "the kernel gave no reason")
        )
        return not_met(rejection, reason=rejection.message)
    # An error may stay with the device, and the next kernel would be blamed for it.
    reason = ran.reason or "the run failed without a reason"
    return Measured(status=Status.RUN_ERROR, reason=reason, tainted=True)
