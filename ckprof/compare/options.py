"""How two sides are compared, and unclear rows settled: frozen, typed, each default in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.option import Limits, in_percent, limits, limits_text, percentage, settable

if TYPE_CHECKING:
    from ckprof.measure.options import RunOptions

#: pairs of processes that settling gives a row at least
ENOUGH_PAIRS: Final = 4


class FailOn(Enum):
    """What makes a comparison fail."""

    #: a kernel is slower
    SLOWER = "slower"
    #: a kernel that worked does not any more
    STATUS = "status"
    #: a kernel of the old side is missing in the new one
    MISSING = "missing"
    #: all rows changed alike, and nothing says whether the machine or the code did
    SHIFT = "shift"
    #: a row is not settled
    UNCLEAR = "unclear"
    #: a kernel is faster: for tests of the machine itself
    FASTER = "faster"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePolicy:
    """What counts as a change, how sure a verdict must be, and which verdicts fail the comparison.

    Changes and scatters are shares, e.g. 0.02.

    :raises UsageError: a value is out of range.
    """

    min_change: float = settable(
        0.02, "smallest change of interest", metavar="PERCENT", parse=percentage, show=in_percent
    )
    #: of the intervals
    confidence: float = 0.95
    #: expected share of wrong verdicts among those that say FASTER or SLOWER
    false_discovery_rate: float = 0.001
    #: a kernel that computes wrong numbers now and did not before is a failure in any case
    fail_on: Limits[FailOn] = settable(
        (FailOn.SLOWER, FailOn.STATUS, FailOn.SHIFT),
        "what makes the comparison fail, with exit code 1, separated by commas: "
        f"{', '.join(reason.value for reason in FailOn)}, or none; slower=10% from that share on",
        metavar="LIST",
        parse=partial(limits, FailOn, graded=(FailOn.SLOWER, FailOn.FASTER)),
        show=lambda reasons: ",".join(limits_text(reasons)),
        several="store",
    )
    resamples: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("min_change", "confidence", "false_discovery_rate"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise UsageError(f"{name} is {value}, expected more than 0 and less than 1")
        if self.resamples < 200:
            raise UsageError(f"resamples is {self.resamples}, expected at least 200")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleOptions:
    """How the kernels of both sides are found and built again, and when settling ends.

    :raises UsageError: there are too few rounds for a verdict.
    """

    #: the lists or the rule set that the kernels come from
    query: InstanceQuery
    old: BuildOptions = field(default_factory=BuildOptions)
    new: BuildOptions = field(default_factory=BuildOptions)
    run: RunOptions | None = None
    max_rounds: int = settable(
        20, "pairs of new processes that measure a row at most", flag="--settle-rounds", metavar="N"
    )

    def __post_init__(self) -> None:
        if self.max_rounds < ENOUGH_PAIRS:
            raise UsageError(f"max_rounds is {self.max_rounds}, expected at least {ENOUGH_PAIRS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """How two sides are compared."""

    policy: ChangePolicy = field(default_factory=ChangePolicy)
    direction: str | None = settable(None, "only of this direction", metavar="ID")
    #: measure the unclear rows again, both sides interleaved; ``None``: do not
    settle: SettleOptions | None = None
