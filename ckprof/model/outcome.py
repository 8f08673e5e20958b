"""What became of one instance on one problem."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from ckprof.model.requirement import UnmetRequirement
from ckprof.model.standing import Standing

#: ``stopped_by`` of the rules that are no criterion
MAX_TIME: Final = "max-time"
TIMEOUT: Final = "timeout"
CUT_OFF: Final = frozenset((MAX_TIME, TIMEOUT))
#: ``stopped_by`` of rounds that ended before the criterion was met: the kernel is surely slower than the
#: best, or the order of all is known
LEFT_EARLY: Final = "left-early"
SETTLED: Final = "settled"


#: ``reference`` of verifications: where it was computed and compared with, and in which precision
HOST_REFERENCE: Final = "host, double"
DEVICE_REFERENCE: Final = "device, double"


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

    @property
    def passed(self) -> bool:
        """True when no element is wrong."""
        return self.wrong_elements == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Timing samples of one instance on one problem, in milliseconds."""

    median_ms: float
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of one instance on one problem. Only a verified ``ok`` result may be ranked."""

    #: content key of the instance
    key: str
    #: position of the problem in the run
    problem_index: int
    status: Status
    #: why, for every status but ``ok``
    reason: str = ""
    #: for ``unsupported``: every condition that is not met, the one that decides first
    unmet_requirements: tuple[UnmetRequirement, ...] = ()
    #: splits of the reduction; less than 1 where the kernel was to choose and did not come to it
    split_k: int = 1
    #: whether the number of splits was left to the kernel
    split_k_deduced: bool = False
    measurement: Measurement | None = None
    verification: Verification | None = None
    #: ``None`` where it was not measured in rounds
    standing: Standing | None = None
