"""The best time of each problem over stores, or over the commands of one store."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.compare.side import side_of
from ckprof.model.ranking import TIE, Field, shares_first_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.compare.side import ProblemKey, Row, Side
    from ckprof.store.attempt import Attempt, Session

#: the latest ones are shown; more would not be told apart
MOST: Final = 16


class Trend(Enum):
    """What the latest time of a problem is among all of them."""

    #: it may be the fastest, or is slower by no more than a tie
    BEST = "as fast as ever"
    #: surely slower than the fastest one by more than a tie
    SLOWER = "was faster"
    #: neither is sure
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """A problem at one time."""

    #: position of the store or command
    place: int
    row: Row
    #: time / fastest time, and the limits of that ratio; all 1 for the fastest itself
    ratio: float
    low: float
    high: float
    #: it may be as fast as the fastest: the rule of ranked kernels
    tied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One line of the history."""

    key: ProblemKey
    #: as the report counts problems
    number: int
    #: where the problem has a time, oldest first; at least two
    points: tuple[HistoryPoint, ...]
    #: places without a time, although others have one
    absent: tuple[int, ...]

    @property
    def last(self) -> HistoryPoint:
        """The latest time."""
        return self.points[-1]

    @property
    def fastest(self) -> HistoryPoint:
        """The fastest time."""
        return min(self.points, key=lambda point: point.row.time_ms)

    @property
    def trend(self) -> Trend:
        """What the latest time is among all of them."""
        if not self.last.tied:
            return Trend.SLOWER
        return Trend.BEST if self.last.ratio <= 1 + TIE else Trend.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Lines over the same places."""

    #: stores or commands, oldest first
    labels: tuple[str, ...]
    rows: tuple[HistoryRow, ...]

    @property
    def trends(self) -> Mapping[Trend, int]:
        """Return how many problems have which trend."""
        return Counter(row.trend for row in self.rows)


def history(labels: Sequence[str], sides: Sequence[Side], order: Iterable[ProblemKey]) -> History | None:
    """Return the history of problems over sides, oldest first; ``None`` without a problem that two have.

    The limits are those by which kernels are ranked: the times of a problem stand beside each other as if
    they were kernels.

    :param order: problems in the order of the report; those that only older sides have follow.
    """
    labels, sides = labels[-MOST:], sides[-MOST:]
    numbers = {key: number for number, key in enumerate(order, start=1)}
    for side in sides:
        for key in side.by_problem:
            numbers.setdefault(key, len(numbers) + 1)
    rows = []
    for key, number in numbers.items():
        bests = [side.best(key) for side in sides]
        points = _points(bests)
        if len(points) > 1:
            absent = tuple(place for place, row in enumerate(bests) if row is None)
            rows.append(HistoryRow(key=key, number=number, points=points, absent=absent))
    return History(labels=tuple(labels), rows=tuple(rows)) if rows else None


def _points(bests: Sequence[Row | None]) -> tuple[HistoryPoint, ...]:
    timed = [(row.time, place, row) for place, row in enumerate(bests) if row is not None and row.time]
    timed.sort(key=lambda entry: (entry[0].time_ms, entry[1]))
    leads = Field([time for time, _, _ in timed]).leads() if timed else []
    points = [
        HistoryPoint(
            place=place,
            row=row,
            ratio=lead.ratio,
            low=exp(lead.low),
            high=exp(lead.high),
            tied=shares_first_place(lead),
        )
        for (_, place, row), lead in zip(timed, leads, strict=True)
    ]
    return tuple(sorted(points, key=lambda point: point.place))


def history_of_commands(attempts: Sequence[Attempt], order: Sequence[ProblemKey]) -> History | None:
    """Return the history of one store over the commands that measured into it; ``None`` if there is none.

    :param order: problems in the order of the report.
    """
    groups: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        groups[attempt.session.command].append(attempt)
    if len(groups) < 2:
        return None
    ordered = sorted(groups.values(), key=lambda group: min(one.session.started for one in group))
    by_device = any(key.device for key in order)
    sides = [side_of("", group, by_device=by_device) for group in ordered[-MOST:]]
    return history([_label(side.sessions[0]) for side in sides], sides, order)


def _label(session: Session) -> str:
    started = datetime.fromtimestamp(session.started, tz=timezone.utc).strftime("%Y-%m-%d %H:%M")
    return f"{started} {', '.join(session.tags)}".strip()


def labels_of(sides: Sequence[Side]) -> list[str]:
    """Return what stores are called beside each other: their files, with as much of the paths as it takes."""
    names = [Path(side.label) for side in sides]
    for parts in range(1, max((len(name.parts) for name in names), default=1) + 1):
        labels = ["/".join(name.parts[-parts:]) for name in names]
        if len(set(labels)) == len(set(names)):
            return labels
    return [side.label for side in sides]
