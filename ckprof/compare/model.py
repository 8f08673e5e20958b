"""What a comparison found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.compare.change import Change
from ckprof.compare.common_moves import Shift
from ckprof.compare.conditions import MachineState
from ckprof.compare.options import ChangePolicy, FailOn
from ckprof.compare.side import MeasuredRow, ProblemKey, RowKey
from ckprof.compare.verdict import Verdict
from ckprof.model.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Mapping


#: why a comparison fails besides verdicts
_TOGETHER: Final = "slower together"
_MISSING: Final = "missing"
_FAILING: Final = "failing"
_WRONG: Final = "computing wrong numbers"
_REASONS: Final = ("slower", "faster", "unclear", _TOGETHER, _MISSING, _FAILING, _WRONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """One kernel on one problem, on both sides."""

    key: RowKey
    old: MeasuredRow
    new: MeasuredRow
    #: how the time changed, and the verdict; ``None`` unless both sides have verified times
    change: Change | None = None

    @property
    def status_changed(self) -> bool:
        """True where the statuses differ."""
        return self.old.status is not self.new.status

    @property
    def worsened(self) -> bool:
        """True where a kernel that worked does not any more, or a failing one now computes wrong numbers."""
        return self.status_changed and (self.old.status is Status.OK or self.computes_wrong)

    @property
    def computes_wrong(self) -> bool:
        """True where the new side computes wrong numbers and the old one did not."""
        return self.status_changed and self.new.status is Status.WRONG_RESULT


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedProblem:
    """The best kernels of one problem."""

    key: ProblemKey
    old: MeasuredRow
    new: MeasuredRow
    #: new best time / old best time
    ratio: float
    #: the old side's best is none of those that share the first place on the new side
    changed: bool
    #: time of the old side's best on the new side / new best time; ``None`` where it has none
    old_best_now: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChange:
    """A part of the measurements' keys, or of their evidence, that differs between the sides."""

    #: e.g. ``toolchain.compiler``
    name: str
    old: str
    new: str
    #: rows that it holds for; 0 for evidence, which is no part of a row's key
    rows: int
    #: times are taken in different ways, or on different devices: verdicts compare different things
    incomparable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that a comparison found: the input of every format."""

    old_label: str
    new_label: str
    policy: ChangePolicy
    #: matched rows, in the order of the old side
    rows: tuple[ComparedRow, ...]
    problems: tuple[ComparedProblem, ...]
    #: best against best over all problems, new time / old time, and the interval that holds it; ``None``
    #: without a problem that both sides have verified times for
    geometric_mean: tuple[float, float, float] | None
    #: what all rows changed by; ``None`` with too few rows to tell
    shift: Shift | None
    #: by how much processes are taken to differ where a side has one; ``None`` without such rows
    process_noise: float | None
    #: of both sides
    states: tuple[MachineState, MachineState]
    what_changed: tuple[PartChange, ...]
    only_old: tuple[MeasuredRow, ...]
    only_new: tuple[MeasuredRow, ...]
    #: rows that were measured again, both sides beside each other, because they were unclear
    settled: int = 0
    #: rows of a side that stood back for later measurements of the same kernel and problem
    superseded: int = 0

    @property
    def verdicts(self) -> Mapping[Verdict, int]:
        """Return how many rows have each verdict."""
        counts = Counter(row.change.verdict for row in self.rows if row.change)
        return {verdict: counts[verdict] for verdict in Verdict}

    def with_verdict(self, verdict: Verdict) -> list[ComparedRow]:
        """Return the rows with a verdict, the largest change first."""
        rows = [row for row in self.rows if row.change and row.change.verdict is verdict]
        return sorted(rows, key=_size, reverse=True)

    @property
    def status_changes(self) -> list[ComparedRow]:
        """Return the rows whose statuses differ, the worsened ones first."""
        return sorted((row for row in self.rows if row.status_changed), key=lambda row: not row.worsened)

    @property
    def slower_by_shift(self) -> int:
        """How many rows are slower by a shift that all of them share, and that verdicts leave out."""
        shift = self.shift
        if shift is None or not shift.removed or shift.ratio <= 1 + self.policy.min_change:
            return 0
        return sum(row.change is not None for row in self.rows)

    def failure_of(self, row: ComparedRow) -> str:
        """Return why a row makes the comparison fail; empty if it does not."""
        if row.computes_wrong:
            return _WRONG
        if row.worsened:
            return _FAILING if FailOn.STATUS in self.policy.fail_on else ""
        verdict = row.change.verdict.value if row.change else ""
        return verdict if verdict in {reason.value for reason in self.policy.fail_on} else ""

    @property
    def missing_fail(self) -> bool:
        """Whether rows that only the old side has make the comparison fail."""
        return FailOn.MISSING in self.policy.fail_on and bool(self.only_old)

    @property
    def shift_fails(self) -> bool:
        """Whether what all rows share makes the comparison fail."""
        return FailOn.SHIFT in self.policy.fail_on and self.slower_by_shift > 0

    @property
    def failures(self) -> list[str]:
        """Return why the comparison fails, one phrase per reason; empty if it does not.

        This alone decides: exit codes and all formats go by it.
        """
        counts = Counter(map(self.failure_of, self.rows))
        counts[_TOGETHER] = self.slower_by_shift if self.shift_fails else 0
        counts[_MISSING] = len(self.only_old) if self.missing_fail else 0
        return [f"{counts[reason]} {reason}" for reason in _REASONS if counts[reason]]


def _size(row: ComparedRow) -> float:
    return abs(row.change.log_ratio) if row.change else 0.0
