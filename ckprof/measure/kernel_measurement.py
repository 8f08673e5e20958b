"""One kernel's way through a measurement, as the parent drives it: support, run, verify, time, verify again.

The worker runs the kernel and copies tensors out; everything is judged here, where the kernel's code cannot
reach. The reference never enters the worker, unless the device computes it: then the worker reports what the
device has found, and digests tell whether operands and reference are still those that it has made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import numpy as np

from ckprof.measure.plausibility import dishonest, implausible
from ckprof.measure.verify.comparison import compare, reason_of, verification_of
from ckprof.measure.verify.exact import roundings_of
from ckprof.measure.verify.storage import storage_type
from ckprof.measure.verify.tolerance import derive_tolerance, exact_tolerance, spacing
from ckprof.measure.worker import guards
from ckprof.measure.worker.messages import AbiStatus, Support, SupportQuery
from ckprof.measure.worker.remote import CallFailed
from ckprof.measure.worker.sampling import Audit, AuditRequest
from ckprof.model.computation import Rounding, Tolerance
from ckprof.model.outcome import DEVICE_REFERENCE, HOST_REFERENCE, TIMEOUT, Outcome, Status, Verification
from ckprof.model.ranking import summarise
from ckprof.model.requirement import MEMORY_IN_USE, UnmetRequirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.verify.storage import StoredFile
    from ckprof.measure.worker.remote import RemoteLibrary
    from ckprof.measure.worker.sampling import Findings, Sampling, TimingSettings
    from ckprof.model.types import SplitSum

Given = TypeVar("Given")

#: what a rejected run may name first: the id of the condition that is not met
_NAMED_CONDITION: Final = re.compile(r"(?P<rule>[a-z][a-z0-9]*(?:-[a-z0-9]+)+): (?P<message>.+)", re.DOTALL)
#: share of the time of sampling that looking at launches may take
AUDIT_SHARE: Final = 0.03
#: seconds that it may take in any case, and that launches may take which are made for that alone; on a device
#: as many launches take less
AUDIT_LEAST_S: Final = 0.01
DEVICE_AUDIT_LEAST_S: Final = 0.006
_TIMING: Final = "while it was timed"
_VERIFYING: Final = "while its result was verified"
#: in place of the number of a result that was kept
_LAST: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a measurement has found right, which the next one of the kernel on the problem need not ask."""

    #: of all bytes of a result that was compared: the same bytes need no second look
    digest: str
    #: what was found
    verification: Verification
    support: Support


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRequest:
    """Which kernel is measured, and how."""

    key: str
    problem_index: int = 0
    #: splits of the reduction; less than 1 lets the kernel choose
    split_k: int
    split_sum: SplitSum
    #: its launcher does something around the kernel that is no part of the time
    prepares_untimed: bool = False
    timing: TimingSettings
    #: seconds for verification and copying, each time
    own_limit_s: float
    #: least duration that the device could need, in milliseconds; 0 if that is not known
    least_ms: float = 0.0
    #: what an earlier measurement of the kernel on the problem found right; then it is timed, and some of its
    #: launches are looked at
    verified: Verified | None = None
    #: the problem with operands whose sums are exact; the kernel runs on it first
    exact: PreparedProblem | None = None
    #: a launch was wrong for which a kernel before may be to blame: every one is looked at
    suspected: bool = False

    def outcome(self, status: Status, reason: str = "", **known: Any) -> Outcome:
        """Return what became of the kernel; ``known`` is what else an outcome says."""
        return Outcome(
            key=self.key,
            problem_index=self.problem_index,
            status=status,
            reason=reason,
            split_k=known.pop("split_k", self.split_k),
            split_k_deduced=self.split_k < 1,
            **known,
        )

    def not_met(self, *unmet: UnmetRequirement) -> Outcome:
        """Return what becomes of the kernel if it cannot run: unsupported, unless that may pass."""
        reason = unmet[0].message if unmet else "the kernel gave no reason"
        if any(requirement.rule == MEMORY_IN_USE for requirement in unmet):
            reason = f"not launched: {reason}; others use the device's memory now"
            return self.outcome(Status.RUN_ERROR, reason, launched=False)
        return self.outcome(Status.UNSUPPORTED, reason, unmet_requirements=unmet)


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
        self._read = partial(library.copy_out, request.own_limit_s)
        #: the last result that was found right
        self.verified = request.verified
        self._support = Support(status=AbiStatus.OK, split_k=request.split_k)
        #: of the last result that was read, or that the device has compared
        self._digest = ""
        #: what is going on, as reasons say it
        self.stage = "in the support test"
        #: why the kernel does not run on exact operands, though it should; empty where it does
        self.one_set = ""
        #: the kernel did what may harm the next one: the worker must not be used any more
        self.tainted = False
        #: splits of the reduction, as asked for until the support test has said how many
        self.split_k = request.split_k
        #: bytes touched before every sample, once it was timed
        self.flush_bytes = 0
        self._roundings = prepared.sums.roundings
        #: of the first run: milliseconds by the launcher, and seconds on the parent's clock
        self._first = 0.0, 0.0

    def measure(self) -> Outcome:
        """Run one kernel and say what became of it.

        :raises WorkerFailure: the worker is lost; :attr:`stage` says when.
        """
        known = self._request.verified
        outcome = self._again(known) if known is not None else None
        if outcome is None:
            support = self._asked_support()
            if isinstance(support, Outcome):
                return support
            self._rely_on(support)
            exact, timed = self._request.exact, self._request.timing.min_samples > 0
            first = self._run_exact(exact) if exact is not None else None
            if first is None or (first.status is Status.OK and not timed):
                exact, first = None, self._run_first()
            timed = timed and first.status is Status.OK
            outcome = self._sampled(first, fresh=exact is not None) if timed else first
        self._library.check_silence()
        return replace(outcome, split_k=self.split_k, one_set=self.one_set)

    def _rely_on(self, support: Support) -> None:
        self._support = support
        self._roundings = max(self._roundings, support.roundings)
        # Who was told a number has no choice: the tolerance depends on it.
        if self._request.split_k < 1:
            self.split_k = support.split_k

    def _asked_support(self) -> Support | Outcome:
        request = self._request
        query = SupportQuery(problem=self._prepared.problem, split_k=request.split_k)
        try:
            (support,), _ = self._charged(
                lambda limit_s: self._library.support(limit_s, request.key, (query,))
            )
        except CallFailed as failure:
            return request.outcome(Status.RUN_ERROR, str(failure))
        unmet = support.unmet_requirements
        if support.status is AbiStatus.OK and not unmet:
            return support
        rejected = request.not_met(*unmet)
        if support.status is AbiStatus.FAILED:
            reason = f"in the support test: {unmet[0].message if unmet else rejected.reason}"
            rejected = request.outcome(Status.RUN_ERROR, reason)
        return replace(rejected, split_k=support.split_k)

    def _tainted(self, status: Status, reason: str, verification: Verification | None = None) -> Outcome:
        """Return what becomes of a kernel after which the worker must not be used any more."""
        self.tainted = True
        return self._request.outcome(status, reason, verification=verification)

    def _again(self, known: Verified) -> Outcome | None:
        """Time a kernel that was right before by one message; ``None`` where it does not run any more."""
        request, watch = self._request, self._audit_request(is_brief=True)
        self._rely_on(known.support)
        self.stage = _TIMING
        sampling, elapsed_s = self._charged(
            lambda limit_s: self._library.sample_again(
                limit_s, request.key, self.split_k, known.support.workspace_bytes, request.timing, watch
            )
        )
        if sampling is None:
            return None
        right = request.outcome(Status.OK, verification=known.verification)
        is_seen = not isinstance(sampling, str) and sampling.audit.checked > 0
        return self._timed(sampling, elapsed_s, right, right if is_seen else None)

    def _sampled(self, first: Outcome, *, fresh: bool) -> Outcome:
        """Time a kernel that has run once, on other operands where it is ``fresh``, and verify again."""
        request = self._request
        self.stage = _TIMING
        watch = self._audit_request(fresh=fresh)
        sampling, elapsed_s = self._charged(
            lambda limit_s: self._library.sample(
                limit_s, request.key, self.split_k, request.timing, *self._first, watch
            )
        )
        # Without time for another run, the first one is the sample.
        if isinstance(sampling, str) or not (
            sampling.stopped_by == TIMEOUT and sampling.samples_ms == (self._first[0],)
        ):
            return self._timed(sampling, elapsed_s, first, None)
        if fresh:
            # That one had other operands.
            first = self._run_first()
            sampling = msgspec.structs.replace(sampling, samples_ms=(self._first[0],))
        if first.status is not Status.OK:
            return first
        return self._timed(sampling, elapsed_s + self._first[1], first, first)

    def _timed(
        self, sampling: Sampling | str, elapsed_s: float, first: Outcome, last: Outcome | None
    ) -> Outcome:
        """Judge samples, and what was seen of the launches.

        :param first: what was found of the first launch, which was right.
        :param last: the same of the last one; ``None`` where nobody has looked at it yet.
        """
        request = self._request
        if isinstance(sampling, str):
            # An error may stay with the device, and the next kernel would be blamed for it.
            return self._tainted(Status.RUN_ERROR, sampling, first.verification)
        audit = sampling.audit
        reason = implausible(sampling, elapsed_s, request.least_ms) or dishonest(
            audit, request.prepares_untimed
        )
        if reason:
            return self._tainted(Status.RUN_ERROR, reason, first.verification)
        self.stage = _VERIFYING
        last = self._verify_launches(audit) or last or self._verify()
        if last.status is not Status.OK:
            return replace(last, reason=f"{last.reason} (in a timed run)")
        self.flush_bytes = max(0, sampling.flush_bytes)
        times = summarise(sampling.samples_ms, sampling.stopped_by, keep_samples=request.timing.keep_samples)
        seen = last.verification
        return replace(
            last,
            # the first launch was looked at in any case
            verification=seen and replace(seen, launches=audit.launches + 1, checked=audit.checked + 1),
            measurement=replace(times, launches=sampling.launches, units=sampling.units),
        )

    def _run_first(self) -> Outcome:
        """Run the kernel once, and compare the result."""
        self.stage = "in the first run"
        (status, reason, time_ms), elapsed_s = self._charged(
            lambda limit_s: self._library.run(
                limit_s, self._request.key, self.split_k, self._support.workspace_bytes
            )
        )
        self._first = time_ms, elapsed_s
        if status is AbiStatus.REJECTED:
            named = _NAMED_CONDITION.fullmatch(reason)
            rule, message = named.groups() if named else ("run", reason or "the kernel gave no reason")
            return self._request.not_met(UnmetRequirement(rule=rule, message=message))
        if status is not AbiStatus.OK:
            # An error may stay with the device, and the next kernel would be blamed for it.
            return self._tainted(Status.RUN_ERROR, reason or "the run failed without a reason")
        self.stage = _VERIFYING
        return self._verify()

    def _run_exact(self, exact: PreparedProblem) -> Outcome | None:
        """Run it once on operands with exact sums, for free; ``None`` where there is no memory for that."""
        limit_s, usual = self._request.own_limit_s, self._prepared
        made = self._library.set_operands(limit_s, exact.request.operands)
        first = None
        if isinstance(made, UnmetRequirement):
            self.one_set = f"not enough memory: {made.message}"
        else:
            remaining_s, verified = self._remaining_s, self.verified
            self._prepared = exact.loaded(made)
            first = self._run_first()
            self._prepared, self._remaining_s, self.verified = usual, remaining_s, verified
            if first.status is Status.WRONG_RESULT:
                first = replace(first, reason=f"{first.reason} (with exact operands)")
            if self.tainted:
                return first
        back = self._library.set_operands(limit_s, usual.request.operands)
        if isinstance(back, UnmetRequirement) and (first is None or first.status is Status.OK):
            # the device has lost memory since the problem was loaded; the worker must load it again
            self.tainted = True
            return self._request.not_met(replace(back, message=f"not enough memory: {back.message}"))
        return first

    def _audit_request(self, *, fresh: bool = False, is_brief: bool = False) -> AuditRequest | None:
        """Return how launches are looked at; ``None`` where results are not verified."""
        if self._prepared.reference is None and not self._prepared.on_device:
            return None
        return AuditRequest(
            tolerance=self._tolerance(),
            verified="" if self.verified is None else self.verified.digest,
            fresh=fresh,
            share=1.0 if self._request.suspected else AUDIT_SHARE,
            least_s=DEVICE_AUDIT_LEAST_S if self._prepared.on_device else AUDIT_LEAST_S,
            is_brief=is_brief,
        )

    def _verify_launches(self, audit: Audit) -> Outcome | None:
        """Judge what was seen of launches in between, and kept results; ``None`` where all is right."""
        if audit.late_bytes:
            late = f"wrote {audit.late_bytes} bytes of its result after the launch was over"
            return self._tainted(Status.WRONG_RESULT, late)
        if audit.findings is not None:
            found = audit.findings
            return self._judge(lambda _: found)
        reference = self._prepared.reference
        if reference is None:
            return None
        for number in range(audit.kept):
            judged = self._judge(partial(self._compared, number, reference))
            if judged.status is not Status.OK:
                return judged
        return None

    def _compared(self, kept: int, reference: StoredFile, rounding: Rounding) -> Findings:
        """Compare a result that the worker has kept, or the last one, with the reference."""
        types, tolerance = self._prepared.types, self._tolerance()
        values = self._result(partial(self._read, kept=kept))
        return compare(values, reference, types.result, tolerance, rounding, ocp=types.ocp)

    def _verify(self) -> Outcome:
        """Look for writes outside, and compare the result with the reference, unless it was right before."""
        prepared = self._prepared
        if prepared.on_device:
            return self._verify_on_device()
        damage = guards.out_of_bounds_writes(self._read, prepared.tensors)
        if damage:
            return self._tainted(Status.WRONG_RESULT, damage)
        if prepared.reference is None:
            return self._request.outcome(Status.OK)
        right = self._right_results()
        if right and (verification := right.get(self._read_digest())) is not None:
            return self._request.outcome(Status.OK, verification=verification)
        return self._judge(partial(self._compared, _LAST, prepared.reference))

    def _right_results(self) -> dict[str, Verification]:
        """Return results that are known to be right, by the digests of their bytes."""
        prepared = self._prepared
        if prepared.expected is None:
            known = self.verified
            return {} if known is None else {known.digest: known.verification}
        nothing_wrong = Verification(
            max_error=0.0,
            wrong_elements=0,
            elements=prepared.result.elements,
            rtol=0.0,
            atol=0.0,
            reference=HOST_REFERENCE,
            spacing=self._spacing(),
        )
        return dict.fromkeys(prepared.expected.digests, nothing_wrong)

    def _verify_on_device(self) -> Outcome:
        """Have the device compare, and look at what it says of guards and of what must stay as it was."""
        prepared, request, tolerance = self._prepared, self._request, self._tolerance()
        roundings = self._possible_roundings()
        seen = self._library.check(request.own_limit_s, tolerance, roundings)
        self._digest = seen.result
        judged = self._judge(dict(zip(roundings, seen.findings, strict=False)).__getitem__)
        damage = guards.reported_writes(seen, [tensor.name for tensor in prepared.tensors], prepared.digests)
        return self._tainted(Status.WRONG_RESULT, damage) if damage else judged

    def _possible_roundings(self) -> tuple[Rounding, ...]:
        """Return how the kernel may have rounded sums that are exact, one of them for all elements."""
        prepared = self._prepared
        rounds_once = prepared.exact and prepared.types.compute_type is None
        return roundings_of(prepared.types.result) if rounds_once else (Rounding.NONE,)

    def _judge(self, compared: Callable[[Rounding], Findings]) -> Outcome:
        """Return what becomes of the result, rounded in the way in which it is least wrong."""
        prepared, tolerance = self._prepared, self._tolerance()
        place = DEVICE_REFERENCE if prepared.on_device else HOST_REFERENCE
        seen = []
        for rounding in self._possible_roundings():
            found = compared(rounding)
            verification = verification_of(found, prepared.result.elements, tolerance, place)
            verification = replace(verification, spacing=self._spacing())
            if verification.passed:
                self.verified = Verified(
                    digest=self._digest, verification=verification, support=self._support
                )
                return self._request.outcome(Status.OK, verification=verification)
            seen.append((found, verification))
        found, verification = min(seen, key=lambda one: one[0].wrong)
        reason = reason_of(found, verification, prepared.result)
        return self._request.outcome(Status.WRONG_RESULT, reason, verification=verification)

    def _spacing(self) -> float:
        return spacing(self._prepared.types.result, self._prepared.sums.magnitude)

    def _tolerance(self) -> Tolerance:
        prepared, request = self._prepared, self._request
        if prepared.tolerance is not None:
            return prepared.tolerance
        sums = replace(prepared.sums, roundings=self._roundings)
        if prepared.exact:
            return exact_tolerance(prepared.types, sums)
        splits = self.split_k or 1
        return derive_tolerance(prepared.types, sums, split_k=splits, split_sum=request.split_sum)

    def _result(self, read: guards.Reader) -> Iterator[NDArray[np.generic]]:
        """Yield the stored values of the result, and take their digest."""
        storage, digest = storage_type(self._prepared.types.result), blake2b()
        for raw in guards.read_tensor(read, self._prepared.tensors[-1]):
            digest.update(raw.data)
            yield raw.view(storage)
        self._digest = digest.hexdigest()

    def _read_digest(self) -> str:
        for _ in self._result(self._read):
            pass
        return self._digest

    def _charged(self, ask: Callable[[float], Given]) -> tuple[Given, float]:
        """Return what a worker says within what is left of the kernel's time, and the seconds it took."""
        before_s = self._library.waited_s
        given = ask(self._remaining_s)
        elapsed_s = self._library.waited_s - before_s
        self._remaining_s = max(0.0, self._remaining_s - elapsed_s)
        return given, elapsed_s
