"""Two sides of predicted figures, kernel by kernel: what changed, why, and whether that fails."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from math import exp, log
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from ckprof.errors import InputError
from ckprof.option import Limits, least_of, limits, limits_text, settable
from ckprof_plugins.tuning.gate.baseline import PREDICTED
from ckprof_plugins.tuning.gate.causes import reasons

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof_plugins.tuning.gate.baseline import KernelFigures, LoopInstruction, PredictionBaseline
    from ckprof_plugins.tuning.gate.causes import Reason


class Regression(Enum):
    """What may fail a comparison; the value is what users type and what reports print."""

    SLOWER = ("slower", "predicted times became longer")
    FASTER = ("faster", "predicted times became shorter")
    SPILLS = ("spills", "more registers are spilled")
    OCCUPANCY = ("occupancy", "fewer workgroups share a compute unit")
    STATUS = ("status", "kernels no longer compile, support the problem or can be predicted")
    MISSING = ("missing", "kernels or problems that the list after no longer has")

    #: for readers of reports
    meaning: str

    def __new__(cls, value: str, meaning: str) -> Regression:
        member = object.__new__(cls)
        member._value_, member.meaning = value, meaning
        return member


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """What fails a comparison of predictions."""

    fail_on: Limits[Regression] = settable(
        (Regression.SLOWER, Regression.SPILLS, Regression.OCCUPANCY, Regression.STATUS),
        "changes that make --diff exit with 1, separated by commas, or none; slower=3% counts from that "
        f"share on: {', '.join(kind.value for kind in Regression)}",
        metavar="LIST",
        parse=partial(limits, Regression, graded=(Regression.SLOWER, Regression.FASTER)),
        show=lambda kinds: ",".join(limits_text(kinds)),
        several="store",
    )


@dataclass(frozen=True, kw_only=True)
class KernelChange:
    """A kernel on a problem; a side that lacks it is ``None``."""

    problem: str
    old: KernelFigures | None
    new: KernelFigures | None
    #: the loops of both sides, empty without one
    before: Sequence[LoopInstruction] = ()
    after: Sequence[LoopInstruction] = ()

    @property
    def either(self) -> KernelFigures:
        """What names the kernel."""
        found = self.new or self.old
        assert found is not None  # noqa: S101 - one side has it
        return found

    @property
    def predicted(self) -> tuple[KernelFigures, KernelFigures] | None:
        """Both sides, if both have a time."""
        if self.old is None or self.new is None:
            return None
        both = self.old.status == self.new.status == PREDICTED
        return (self.old, self.new) if both else None

    @property
    def ratio(self) -> float | None:
        """Predicted time after / before; ``None`` unless both sides have one."""
        return self.new.time_us / self.old.time_us if self.predicted and self.old and self.new else None

    @cached_property
    def regressions(self) -> Mapping[Regression, float]:
        """What changed -> by how much: of times a share, of anything else a count."""
        if self.new is None:
            return {Regression.MISSING: 1.0}
        if self.old is None:
            return {}
        if self.predicted is None:
            return {Regression.STATUS: 1.0} if self.old.status == PREDICTED else {}
        ratio = self.new.time_us / self.old.time_us
        found = {
            Regression.SLOWER: ratio - 1,
            Regression.FASTER: 1 - ratio,
            Regression.SPILLS: self.new.spills - self.old.spills,
            Regression.OCCUPANCY: self.old.resident - self.new.resident,
        }
        return {kind: amount for kind, amount in found.items() if amount > 0}

    @cached_property
    def reasons(self) -> Sequence[Reason]:
        """Why it changed, what explains most first; empty unless both sides have a time, and it differs."""
        return reasons(*self.predicted, self.before, self.after) if self.predicted and self.differs else []

    @property
    def differs(self) -> bool:
        """Whether a report names it: any figure changed, or a side lacks it."""
        if self.old is None or self.new is None or self.old.status != self.new.status:
            return True
        return self.old.time_us != self.new.time_us or bool(self.regressions)

    def fails(self, fail_on: Limits[Regression]) -> list[Regression]:
        """Return what of it fails a comparison."""
        return [
            kind
            for kind, amount in self.regressions.items()
            if kind in fail_on and amount >= least_of(fail_on, kind)
        ]


@dataclass(frozen=True, kw_only=True)
class PredictionDiff:
    """Two sides."""

    #: as the user named them
    before: str
    after: str
    old: PredictionBaseline
    new: PredictionBaseline
    #: all rows, what became slower most first
    rows: tuple[KernelChange, ...]
    fail_on: Limits[Regression]

    @property
    def differing(self) -> list[KernelChange]:
        """Rows that reports name."""
        return [row for row in self.rows if row.differs]

    @property
    def ratio(self) -> float | None:
        """Geometric mean of time after / before; ``None`` without a row with both."""
        logs = [log(row.ratio) for row in self.rows if row.ratio]
        return exp(fmean(logs)) if logs else None

    @property
    def counts(self) -> Mapping[Regression, int]:
        """How many rows have each change."""
        return {kind: sum(kind in row.regressions for row in self.rows) for kind in Regression}

    @property
    def failures(self) -> list[str]:
        """Return why the comparison fails, one phrase per kind; exit codes and all formats go by it."""
        failing = [kind for row in self.rows for kind in row.fails(self.fail_on)]
        return [f"{failing.count(kind)} {kind.value}" for kind in Regression if kind in failing]


#: fields that both sides have to share, and what they are called
_SHARED = {
    "direction": "of another direction",
    "arch": "for another architecture",
    "gpu": "for another product",
    "model": "by another time model",
}


def require_comparable(names: tuple[str, str], figures: PredictionBaseline, other: Mapping[str, str]) -> None:
    """Check that figures were predicted as those of another side are, or will be.

    :param names: of the side that the figures are of, and of the other one.
    :param other: field -> its value on the other side; fields that are missing are not compared.
    :raises InputError: they were predicted otherwise.
    """
    for field, what in _SHARED.items():
        was, now = getattr(figures, field), other.get(field)
        if now is not None and was != now:
            raise InputError(
                f"it was predicted {what} ({was}) than {names[1]} ({now}): predictions of both are not "
                "comparable; predict it again, with 'ckprof predict --write'",
                names[0],
            )


def compare_figures(
    names: tuple[str, str], old: PredictionBaseline, new: PredictionBaseline, fail_on: Limits[Regression]
) -> PredictionDiff:
    """Compare two sides: kernels by the content of their lines or else by where these stand.

    :param names: of the sides, as the user named them.
    :raises InputError: the sides are not comparable.
    """
    require_comparable(names, old, {field: getattr(new, field) for field in _SHARED})
    rows = []
    for problem, was, now in _matched(old, new):
        rows.append(
            KernelChange(
                problem=problem,
                old=was,
                new=now,
                before=old.loops.get(was.loop, ()) if was else (),
                after=new.loops.get(now.loop, ()) if now else (),
            )
        )
    rows.sort(key=_order)
    return PredictionDiff(
        before=names[0], after=names[1], old=old, new=new, rows=tuple(rows), fail_on=fail_on
    )


_Pair: TypeAlias = "tuple[str, KernelFigures | None, KernelFigures | None]"


def _matched(old: PredictionBaseline, new: PredictionBaseline) -> Iterator[_Pair]:
    """Yield problems and the kernels of both sides that belong together.

    The same instance is the same kernel, wherever its line stands. Of those that are left, kernels belong
    together whose lines have the same number: the line was changed.
    """
    sides = [
        {(problem.problem, one.key, one.split_k): one for problem in side.problems for one in problem.kernels}
        for side in (old, new)
    ]
    for at in [at for at in sides[0] if at in sides[1]]:
        yield at[0], sides[0].pop(at), sides[1].pop(at)
    by_line = {
        (problem, _number(one.line), split): (problem, key, split)
        for (problem, key, split), one in sides[1].items()
        if _number(one.line)
    }
    for (problem, _, split), was in sides[0].items():
        place = by_line.pop((problem, _number(was.line), split), None)
        yield problem, was, sides[1].pop(place) if place else None
    for (problem, _, _), now in sides[1].items():
        yield problem, None, now


def _number(line: str) -> str:
    """Return the number of a line; empty for a catalog, whose lines say nothing."""
    number = line.rpartition(":")[2]
    return number if number.isdecimal() else ""


def _order(row: KernelChange) -> tuple[bool, float]:
    """Return where a row stands: those without a status as before first, then the slowest."""
    worse = Regression.STATUS in row.regressions or Regression.MISSING in row.regressions
    return not worse, -(row.ratio or 0.0)
