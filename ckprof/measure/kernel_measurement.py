"""One kernel's way through a measurement, as the parent drives it: support, run, verify, time, verify again.

The worker runs the kernel and copies tensors out; everything is judged here, where the kernel's code cannot
reach. The reference never enters the worker, unless the device computes it: then the worker reports what the
device has found, and digests tell whether operands and reference are still those that it has made.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ckprof.measure.measured import (
    AUDIT_LEAST_S,
    AUDIT_SHARE,
    KernelRequest,
    Measured,
    Verified,
    dishonest,
    implausible,
    not_met,
    not_run,
    with_share,
    written_late,
)
from ckprof.measure.verify.comparison import compare, comparison_of
from ckprof.measure.verify.exact import roundings_of
from ckprof.measure.verify.storage import storage_type
from ckprof.measure.verify.tolerance import Sums, derive_tolerance, exact_tolerance
from ckprof.measure.worker import guards, messages
from ckprof.measure.worker.messages import AbiStatus
from ckprof.measure.worker.remote import RequestFailed
from ckprof.measure.worker.sampling import Audit, Sample, Sampled, Sampling
from ckprof.model.computation import Rounding, Tolerance
from ckprof.model.outcome import HOST_REFERENCE, TIMEOUT, Status, Verification
from ckprof.model.ranking import summarise
from ckprof.model.requirement import UnmetRequirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.verify.comparison import ResultComparison
    from ckprof.measure.verify.storage import StoredFile
    from ckprof.measure.worker.remote import RemoteLibrary


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
        #: why the kernel does not run on exact operands, though it should; empty where it does
        self.one_set = ""
        #: splits of the reduction, once the support test has said how many
        self.split_k: int | None = None
        self._roundings = prepared.roundings

    def measure(self) -> Measured:
        """Run one kernel and say what became of it.

        :raises WorkerFailure: the worker is lost; :attr:`stage` says when.
        """
        request, support = self._request, self._support()
        if isinstance(support, Measured):
            return support
        self._roundings = max(self._roundings, support.roundings)
        # Who was told a number has no choice: the tolerance depends on it.
        self.split_k = splits = request.split_k if request.split_k >= 1 else support.split_k
        run = messages.RunOnce(key=request.key, split_k=splits, workspace_bytes=support.workspace_bytes)
        repeated = request.verified is not None
        exact = request.exact if not repeated else None
        first = self._run_exact(run, exact) if exact is not None else None
        if first is None:
            exact, first = None, self._run_first(run, verify=not repeated)
        measured = first.measured
        if measured.status is Status.OK:
            measured = self._sampled(run, first, fresh=exact is not None)
        self._library.check_silence()
        return replace(measured, split_k=splits, one_set=self.one_set)

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

    def _sampled(self, run: messages.RunOnce, first: _First, *, fresh: bool) -> Measured:
        """Time a kernel that has run once, and verify again.

        :param fresh: it has run on other operands.
        """
        request = self._request
        self.stage = "time"
        sample = Sample(
            key=request.key,
            split_k=run.split_k,
            timing=request.timing,
            first_ms=first.time_ms,
            first_s=first.elapsed_s,
            rtol=self._tolerance().rtol,
            atol=self._tolerance().atol,
            verified="" if self._verified is None else self._verified.digest.hex(),
            fresh=fresh,
            audit_share=self._audit_share(),
            audit_least_s=AUDIT_LEAST_S,
        )
        with self._clock() as clock:
            sampled = self._library.sample(sample, clock.limit_s)
        if isinstance(sampled, messages.Ran):
            # An error may stay with the device, and the next kernel would be blamed for it.
            return replace(first.measured, status=Status.RUN_ERROR, reason=sampled.reason, tainted=True)
        sampling, elapsed_s = sampled.sampling, clock.elapsed_s
        # Without time for another run, the first one is the sample.
        only_first = sampling.stopped_by == TIMEOUT and sampling.samples_ms == (first.time_ms,)
        if only_first and fresh:
            # That one had other operands.
            first = self._run_first(run, verify=True)
            sampling = msgspec.structs.replace(sampling, samples_ms=(first.time_ms,))
        if only_first:
            elapsed_s += first.elapsed_s
        if first.measured.status is not Status.OK:
            return first.measured
        reason = implausible(sampling, elapsed_s, request.least_ms) or dishonest(sampled.audit)
        if reason:
            return replace(first.measured, status=Status.RUN_ERROR, reason=reason, tainted=True)
        self.stage = "verify"
        odd = self._verify_launches(sampled.audit)
        last = odd or (first.measured if only_first and request.verified is None else self._verify())
        if last.status is not Status.OK:
            return replace(last, reason=f"{last.reason} (in a timed run)")
        return self._timed(last, sampled, sampling, elapsed_s)

    def _timed(
        self,
        last: Measured,
        sampled: Sampled,
        sampling: Sampling,
        elapsed_s: float,
    ) -> Measured:
        """Return a right result with its times."""
        keep = self._request.timing.keep_samples
        return replace(
            last,
            verified=self._verified,
            verification=with_share(last.verification, sampled.audit),
            measurement=replace(
                summarise(sampling.samples_ms, sampling.stopped_by, keep_samples=keep),
                launches=sampling.launches,
                units=sampled.units,
            ),
            timing_s=min(sampling.wall_s, elapsed_s),
            flush_s=sampling.flush_s,
            flush_bytes=sampled.flush_bytes,
        )

    def _run_first(self, run: messages.RunOnce, *, verify: bool) -> _First:
        """Run the kernel once, and compare the result if that is wanted."""
        self.stage = "run"
        with self._clock() as clock:
            ran = self._library.run(run, clock.limit_s)
        measured = Measured(status=Status.OK)
        if ran.status is not AbiStatus.OK:
            measured = not_run(ran)
        elif verify:
            self.stage = "verify"
            measured = self._verify()
        return _First(time_ms=ran.time_ms, elapsed_s=clock.elapsed_s, measured=measured)

    def _run_exact(self, run: messages.RunOnce, exact: PreparedProblem) -> _First | None:
        """Run the kernel once on operands whose sums are exact; it does not pay for that.

        :returns: ``None`` where there is no memory for their reference: it has not run.
        """
        limit_s, usual = self._request.own_limit_s, self._prepared
        reply = self._library.set_operands(exact.request.operands, limit_s)
        first = None
        if isinstance(reply, messages.ProblemRejected):
            self.one_set = f"not enough memory: {reply.reason}"
        else:
            remaining_s, verified = self._remaining_s, self._verified
            self._prepared = exact.loaded(reply)
            first = self._run_first(run, verify=True)
            self._prepared, self._remaining_s, self._verified = usual, remaining_s, verified
            if first.measured.status is Status.WRONG_RESULT:
                reason = f"{first.measured.reason} (with exact operands)"
                first = replace(first, measured=replace(first.measured, reason=reason))
            if first.measured.tainted:
                return first
        back = self._library.set_operands(usual.request.operands, limit_s)
        if isinstance(back, messages.ProblemRejected) and (
            first is None or first.measured.status is Status.OK
        ):
            # the device has lost memory since the problem was loaded; the worker must load it again
            lacking = UnmetRequirement(rule=back.rule, message=f"not enough memory: {back.reason}")
            return _First(
                time_ms=0.0,
                elapsed_s=0.0,
                measured=replace(not_met(lacking, reason=lacking.message), tainted=True),
            )
        return first

    def _audit_share(self) -> float:
        """Return the share of the time of sampling that may be spent on looking at launches."""
        if self._prepared.reference is None and not self._prepared.on_device:
            return 0.0
        return 1.0 if self._request.suspected else AUDIT_SHARE

    def _verify_launches(self, audit: Audit) -> Measured | None:
        """Judge what was seen of launches in between, and results that wait for it.

        :returns: ``None`` if all is right.
        """
        late = written_late(audit)
        if late:
            return Measured(status=Status.WRONG_RESULT, reason=late, tainted=True)
        if audit.findings is not None:
            elements = self._prepared.result.elements
            found = comparison_of(audit.findings, elements, self._tolerance())
            return self._judge(lambda _: found)
        reference = self._prepared.reference
        if reference is None:
            return None
        for number in range(audit.kept):
            judged = self._judge(partial(self._compare_kept, number, reference))
            if judged.status is not Status.OK:
                return judged
        return None

    def _compare_kept(self, number: int, reference: StoredFile, rounding: Rounding) -> ResultComparison:
        """Compare a result that the worker has kept with the reference."""
        limit_s = self._request.own_limit_s

        def read(_: str, start: int, size: int) -> NDArray[np.uint8]:
            return self._library.copy_kept(number, start, size, limit_s)

        types, tolerance = self._prepared.types, self._tolerance()
        return compare(self._result(read), reference, types.result, tolerance, rounding, ocp=types.ocp)

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
        right = self._right_results()
        if right and (verification := right.get(self._read_digest())) is not None:
            return Measured(status=Status.OK, verification=verification)
        reference, types, tolerance = prepared.reference, prepared.types, self._tolerance()
        return self._judge(
            lambda rounding: compare(
                self._result(self._read), reference, types.result, tolerance, rounding, ocp=types.ocp
            )
        )

    def _right_results(self) -> dict[bytes, Verification]:
        """Return results that are known to be right, by the digests of their bytes."""
        prepared = self._prepared
        if prepared.expected is None:
            verified = self._verified
            return {} if verified is None else {verified.digest: verified.verification}
        nothing_wrong = Verification(
            max_error=0.0,
            wrong_elements=0,
            elements=prepared.result.elements,
            rtol=0.0,
            atol=0.0,
            reference=HOST_REFERENCE,
        )
        return dict.fromkeys(prepared.expected.digests, nothing_wrong)

    def _verify_on_device(self) -> Measured:
        """Have the device compare, and look at what it says of guards and of what must stay as it was.

        :returns: ``ok`` or ``wrong_result``.
        """
        prepared, request, tolerance = self._prepared, self._request, self._tolerance()
        damages = []

        def compared(rounding: Rounding) -> ResultComparison:
            wanted = messages.Check(rtol=tolerance.rtol, atol=tolerance.atol, rounding=rounding)
            seen = self._library.check(wanted, request.own_limit_s)
            names = [tensor.name for tensor in prepared.tensors]
            damages.append(guards.reported_writes(seen, names, prepared.digests))
            return comparison_of(seen.findings, prepared.result.elements, tolerance)

        judged = self._judge(compared)
        damage = next(filter(None, damages), "")
        if damage:
            return Measured(status=Status.WRONG_RESULT, reason=damage, tainted=True)
        return judged

    def _judge(self, compared: Callable[[Rounding], ResultComparison]) -> Measured:
        """Return what becomes of the result, rounded in the way in which it is least wrong.

        :param compared: compares it with the reference, rounded in one way.
        """
        prepared = self._prepared
        rounds_once = prepared.exact and prepared.types.compute_type is None
        comparisons = []
        for rounding in roundings_of(prepared.types.result) if rounds_once else (Rounding.NONE,):
            comparisons.append(comparison := compared(rounding))
            if comparison.verification.passed:
                self._verified = Verified(digest=self._digest.digest(), verification=comparison.verification)
                return Measured(status=Status.OK, verification=comparison.verification)
        least = min(comparisons, key=lambda one: one.verification.wrong_elements)
        return Measured(
            status=Status.WRONG_RESULT,
            reason=least.reason(prepared.result),
            verification=least.verification,
        )

    def _tolerance(self) -> Tolerance:
        prepared, request = self._prepared, self._request
        if prepared.tolerance is not None:
            return prepared.tolerance
        sums = Sums(
            reduction_length=prepared.reduction_length,
            magnitude=prepared.magnitude,
            deviation=prepared.deviation,
            roundings=self._roundings,
            is_changed=prepared.is_changed,
        )
        if prepared.exact:
            return exact_tolerance(prepared.types, sums)
        splits = self.split_k or 1
        return derive_tolerance(prepared.types, sums, split_k=splits, split_sum=request.split_sum)

    def _result(self, read: guards.Reader) -> Iterator[NDArray[np.generic]]:
        """Yield the stored values of the result, and take their digest."""
        storage = storage_type(self._prepared.types.result)
        self._digest = blake2b()
        for raw in guards.read_tensor(read, self._prepared.tensors[-1]):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _First:
    """The first run of a measurement, or of some operands in one."""

    #: as the launcher reported it
    time_ms: float
    #: on the parent's clock
    elapsed_s: float
    measured: Measured


@dataclass(slots=True, kw_only=True)
class _Clock:
    """The parent's clock while the worker works for a kernel."""

    limit_s: float
    start_s: float
    elapsed_s: float = 0.0
