"""What became of one instance on one problem, and of another library on the same problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

from ckprof.model.requirement import UnmetRequirement

if TYPE_CHECKING:
    from ckprof.model.types import ComputeType, DataType


#: ``stopped_by`` of the rules that are no criterion
MAX_TIME: Final = "max-time"
TIMEOUT: Final = "timeout"
CUT_OFF: Final = frozenset((MAX_TIME, TIMEOUT))
#: ``stopped_by`` of rounds that ended before the criterion was met: the kernel is surely slower than the
#: best, or the order of all is known
PRUNED: Final = "left-early"
SETTLED: Final = "settled"


#: ``reference`` of verifications: where it was computed and compared with, and in which precision
HOST_REFERENCE: Final = "host, double"
DEVICE_REFERENCE: Final = "device, double"


#: name, in the evidence of an attempt, of the times of the canaries when its round began, in milliseconds
CANARY_MS: Final = "canary_ms"
#: name, in the evidence of a visit, of :attr:`Outcome.second`
SECOND: Final = "second"


class Status(Enum):
    """The end of an instance's way through build, support test, run and verification."""

    OK = "ok"
    UNSUPPORTED = "unsupported"
    COMPILE_ERROR = "compile_error"
    COMPILE_TIMEOUT = "compile_timeout"
    RUN_ERROR = "run_error"
    RUN_TIMEOUT = "run_timeout"
    WRONG_RESULT = "wrong_result"

    @property
    def is_failure(self) -> bool:
        """True when the instance should have worked and did not; ``unsupported`` is no failure."""
        return self not in (Status.OK, Status.UNSUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Comparison of an output with the double-precision reference.

    An element passes when ``|out - ref| <= atol + rtol * |ref|`` and both are finite.
    """

    max_error: float
    wrong_elements: int
    elements: int
    rtol: float
    atol: float
    #: where, and in which precision; empty where an old record does not say
    reference: str = ""
    #: launches of the kernel, and those of them whose results were found right, bit by bit or within the
    #: tolerance; 0 where that is not known
    launches: int = 0
    checked: int = 0
    #: distance of neighbouring numbers of the result's type at the largest magnitude of the reference; 0:
    #: unknown
    spacing: float = 0.0

    @property
    def error_ulp(self) -> float | None:
        """Largest error in units in the last place of the largest result; ``None`` where that is not known.

        Errors of sums do not shrink with the results in which products cancel, so units of each element would
        say nothing of the kernel.
        """
        return self.max_error / self.spacing if self.spacing else None

    @property
    def passed(self) -> bool:
        """True when no element is wrong."""
        return self.wrong_elements == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Timing samples of one instance on one problem, in milliseconds."""

    #: of one visit the median of the samples; of several the median of the trials, see
    #: :mod:`ckprof.model.ranking`
    time_ms: float
    #: half the distance between the first and third quartile
    spread_ms: float
    min_ms: float
    mean_ms: float
    samples: int
    #: which rule ended the sampling, e.g. ``stdrel``, ``timeout``
    stopped_by: str
    #: the raw samples, in the order they were taken
    samples_ms: tuple[float, ...] = ()
    #: launches in a row that each sample is the mean of: more than one for short kernels on warm caches
    launches: int = 1
    #: units of the device that computed them, where the target chooses one for each launch
    units: tuple[str, ...] = ()
    #: limits that hold the time at 95 %; ``None`` where nothing says them
    low_ms: float | None = None
    high_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTime:
    """The time of one kernel in one round, verified."""

    #: the median of the round's samples, in milliseconds
    time_ms: float
    #: half the distance between the first and third quartile of the samples
    spread_ms: float = 0.0
    #: (session, number of the round): equal for kernels that ran beside each other; ``None`` where unknown
    place: tuple[str, int] | None = None
    #: rounds with more doubt count where a kernel has none with less: 0 for sound ones, 1 where each of
    #: several devices ran a part of the kernels, 2 where the canaries were off or the device is slow
    doubtful: int = 0
    #: seconds since the epoch; 0 where unknown
    started: float = 0.0
    #: others used the machine or the device, or the clock was below its base
    contended: bool = False
    #: identifies the worker process that measured it among those of all sessions; empty where unknown
    process: str = ""
    #: the kernel left the rounds after it: slower than the best by more than was asked for
    pruned: bool = False

    @property
    def trial(self) -> str:
        """What identifies the trial: its process, or its session, since sessions are different processes."""
        return self.process or (self.place[0] if self.place else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """When and under which conditions a kernel was measured. ``None`` and 0 stand for what is not known."""

    #: seconds since the epoch
    started: float
    #: from 1; attempts of one session, problem and round ran one after the other; 0 where an import has none
    round: int = 0
    #: position within the round, from 0
    order: int = 0
    #: wall seconds of the whole attempt: loading, verification, flushes and samples
    wall_s: float | None = None
    #: load average over one minute
    load: float | None = None
    clock_mhz: float | None = None
    temperature_c: float | None = None
    #: further evidence from observers, as plain JSON values
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def canaries(self) -> Mapping[str, float]:
        """Times of the canaries when the round began, in milliseconds; empty where they were not measured."""
        seen = self.extra.get(CANARY_MS)
        said = seen if isinstance(seen, Mapping) else {}
        return {name: time_ms for name, time_ms in said.items() if isinstance(time_ms, float)}


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResult:
    """What became of a kernel on a problem, whatever names both."""

    status: Status
    #: why, for every status but ``ok``
    reason: str = ""
    #: with the raw samples in ``samples_ms`` if these are kept
    measurement: Measurement | None = None
    #: ``None``: the output was not compared
    verification: Verification | None = None

    @property
    def ranked(self) -> bool:
        """True for a verified ``ok`` result with a time: only these may be ranked."""
        return (
            self.status is Status.OK
            and self.measurement is not None
            and self.verification is not None
            and self.verification.passed
        )

    def without_samples(self: Result) -> Result:
        """Return the result without raw samples."""
        if self.measurement is None or not self.measurement.samples_ms:
            return self
        return replace(self, measurement=replace(self.measurement, samples_ms=()))


Result = TypeVar("Result", bound=KernelResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(KernelResult):
    """Result of one instance in a run."""

    #: content key of the instance
    key: str
    #: position of the problem in the run
    problem_index: int
    #: for ``unsupported``: every condition that is not met, the one that decides first
    unmet_requirements: tuple[UnmetRequirement, ...] = ()
    #: splits of the reduction; less than 1 where the kernel was to choose and did not come to it
    split_k: int = 1
    #: whether the number of splits was left to the kernel
    split_k_deduced: bool = False
    #: of the visit that gave it; ``None`` where several visits are summed up, or none was made
    conditions: Conditions | None = None
    #: each measurement of it, oldest first; empty where there was at most one
    rounds: tuple[RoundTime, ...] = ()
    #: False where device or worker had failed before, or the device failed beside the launch, which says
    #: nothing of the kernel
    launched: bool = True
    #: why it was not verified with exact operands as well, though it should be; empty where it was
    one_set: str = ""
    #: digest of the second problems that the kernel was right on before; empty where it was verified on none
    second: str = ""

    @property
    def pruned(self) -> bool:
        """It left the rounds, because it is slower than the best by more than was asked for."""
        return bool(self.rounds) and self.rounds[-1].pruned


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineOutcome:
    """What became of a baseline on one problem, for instances of one layout and data type."""

    #: id of the baseline
    baseline: str
    #: versions and device, in one line
    description: str
    layout: str
    dtype: DataType
    #: what operands could be rounded to before they were multiplied; ``None`` for nothing
    compute_type: ComputeType | None = None
    #: as of an instance; its ``key`` is the id of the baseline
    outcome: Outcome
