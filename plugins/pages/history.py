"""The best time of each problem over stores, or over the commands of one store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.compare.side import side_of
from ckprof.formatting import agreeing
from ckprof.model.ranking import TIE, RankedSet, is_tied
from ckprof.report.figures import display_name, name_column, number_column, problem_column
from ckprof.report.short_names import ShortNames
from ckprof.report.table import Column
from ckprof.report.text_width import shortened
from ckprof.report.totals import slower
from ckprof.store.attempt import PLANNED
from ckprof_plugins.pages.svg import (
    CHART_WIDTH,
    Frame,
    Scale,
    chart,
    polyline,
    short,
    tag,
    text_at,
    x_name,
    y_axis,
)
from ckprof_plugins.pages.tables import PageTable, kernel_details

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from ckprof.compare.side import MeasuredRow, ProblemKey, Side
    from ckprof.store.attempt import Attempt, Session
    from ckprof.sweep.evidence import SweptLayer


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
    row: MeasuredRow
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
    def trend(self) -> Trend:
        """What the latest time is among all of them."""
        if not self.last.tied:
            return Trend.SLOWER
        return Trend.BEST if self.last.ratio <= 1 + TIE else Trend.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeHistory:
    """Lines over the same places."""

    #: stores or commands, oldest first
    labels: tuple[str, ...]
    rows: tuple[HistoryRow, ...]


def history(labels: Sequence[str], sides: Sequence[Side], order: Iterable[ProblemKey]) -> TimeHistory | None:
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
    return TimeHistory(labels=tuple(labels), rows=tuple(rows)) if rows else None


def _points(bests: Sequence[MeasuredRow | None]) -> tuple[HistoryPoint, ...]:
    timed = [(row.time, place, row) for place, row in enumerate(bests) if row is not None and row.time]
    timed.sort(key=lambda entry: (entry[0].time_ms, entry[1]))
    leads = RankedSet([time for time, _, _ in timed]).intervals() if timed else []
    points = [
        HistoryPoint(
            place=place,
            row=row,
            ratio=lead.ratio,
            low=exp(lead.low),
            high=exp(lead.high),
            tied=is_tied(lead),
        )
        for (_, place, row), lead in zip(timed, leads, strict=True)
    ]
    return tuple(sorted(points, key=lambda point: point.place))


def history_of_commands(attempts: Sequence[Attempt], order: Sequence[ProblemKey]) -> TimeHistory | None:
    """Return the history of one store over the commands that measured into it; ``None`` if there is none.

    :param order: problems in the order of the report.
    """
    groups: dict[str, list[Attempt]] = defaultdict(list)
    command = ""
    for attempt in sorted(attempts, key=lambda one: (one.session.started, one.session.uid)):
        # one that resumes a sweep measures what that had not come to
        if not command or not planned(attempt.session, "known"):
            command = attempt.session.command
        groups[command].append(attempt)
    if len(groups) < 2:
        return None
    ordered = [*groups.values()]
    by_device = any(key.device for key in order)
    sides = [side_of("", group, by_device=by_device) for group in ordered[-MOST:]]
    labels = []
    for side in sides:
        first = side.sessions[0]
        started = datetime.fromtimestamp(first.started, tz=timezone.utc).strftime("%Y-%m-%d %H:%M")
        labels.append(f"{started} {', '.join(first.tags)}".strip())
    return history(labels, sides, order)


def planned(session: Session, what: str) -> int:
    """Return how many outcomes of its sweep a store had, or lacked, when a session began; 0 if unknown.

    :param what: ``known`` or ``missing``.
    """
    counts = session.environment.get(PLANNED)
    return number if isinstance(counts, Mapping) and isinstance(number := counts.get(what), int) else 0


def ended_line(attempts: Sequence[Attempt]) -> str:
    """Return what the latest sweep did not come to, a sentence; empty if nothing."""
    if not attempts:
        return ""
    last = max((one.session for one in attempts), key=lambda one: (one.started, one.uid))
    before = {one.key.digest for one in attempts if one.session.uid != last.uid}
    new = {one.key.digest for one in attempts if one.session.uid == last.uid}
    missing = planned(last, "missing") - len(new - before)
    if missing <= 0:
        return ""
    return (
        f"The sweep was stopped: {missing} of its outcomes "
        f"{agreeing(missing, 'is', 'are')} missing. Rerun the same command to resume."
    )


def labels_of(sides: Sequence[Side]) -> list[str]:
    """Return what stores are called beside each other: their files, with as much of the paths as it takes."""
    names = [Path(side.label) for side in sides]
    for parts in range(1, max((len(name.parts) for name in names), default=1) + 1):
        labels = ["/".join(name.parts[-parts:]) for name in names]
        if len(set(labels)) == len(set(names)):
            return labels
    return [side.label for side in sides]


#: trend -> CSS class; what needs a look last
TREND_CLASSES: Final = {Trend.BEST: "steady", Trend.OPEN: "unsure", Trend.SLOWER: "slower"}
#: of the small drawing of one problem
_WIDTH: Final = 150
_HEIGHT: Final = 34
#: slower than this many times the fastest is drawn at the edge
_MOST: Final = 10.0


def history_chart(history: TimeHistory) -> Markup:
    """Draw a line per problem: its time as a multiple of its fastest one, with the limits of each."""
    frame = Frame(width=CHART_WIDTH, height=380, left=64, right=40, bottom=60)
    last = len(history.labels) - 1
    x = Scale(domain=(0, max(1, last)), range=(frame.x_range[0] + 24, frame.x_range[1] - 24))
    points = [point for row in history.rows for point in row.points]
    high = min(_MOST, max(1.1, *(point.high for point in points)))
    y = Scale(
        domain=(max(0.5, min(0.98, *(point.low for point in points))), high * 1.02), range=frame.y_range
    )
    parts = y_axis(frame, y, "time / fastest time", "x")
    left, right = frame.x_range
    tie = y(1 + TIE)
    parts.append(tag("line", x1=left, x2=right, y1=tie, y2=tie, class_="tie"))
    every = max(1, -(-len(history.labels) // 8))
    for place, label in enumerate(history.labels):
        if (last - place) % every == 0:
            shown = shortened(label, 18, in_the_middle=True)
            parts.append(text_at(x(place), frame.height - 34, shown, "tick", "middle", whole=label))
    parts.append(x_name(frame, "oldest to latest"))
    # what needs a look is drawn last, over the others
    order = list(TREND_CLASSES)
    for row in sorted(history.rows, key=lambda row: order.index(row.trend)):
        parts.append(_line(row, x, y, history))
    trends = Counter(row.trend for row in history.rows)
    counts = ", ".join(f"{trends[trend]} {trend.value}" for trend in Trend if trends[trend])
    description = (
        f"{len(history.rows)} problems over {len(history.labels)} stores or commands: {counts}. Each time is "
        "a multiple of the problem's fastest one; the table has the same figures."
    )
    return chart(frame, parts, "history-chart", "History", description, role="group")


def _line(row: HistoryRow, x: Scale, y: Scale, history: TimeHistory) -> Markup:
    said = f"P{row.number}: " + ", ".join(
        f"{history.labels[point.place]} {short(point.row.time_ms)} ms" for point in row.points
    )
    drawn = _drawn(row.points, x, y, radius=3)
    group = tag("g", tag("title", said), *drawn, class_=f"line {TREND_CLASSES[row.trend]}")
    return tag("a", group, href=f"#h{row.number}", aria_label=said)


def _drawn(points: Sequence[HistoryPoint], x: Scale, y: Scale, radius: float) -> list[Markup]:
    def at(value: float) -> float:
        return y(min(max(value, y.domain[0]), y.domain[1]))

    limits = "".join(
        f"M{x(point.place):g} {at(point.low):g}V{at(point.high):g}"
        for point in points
        if point.high > point.low
    )
    marks = [tag("circle", cx=x(point.place), cy=at(point.ratio), r=radius) for point in points]
    return [
        polyline([(x(point.place), at(point.ratio)) for point in points], "trace"),
        *([tag("path", d=limits, class_="limits")] if limits else []),
        *marks,
    ]


def sparkline(row: HistoryRow, places: int) -> Markup:
    """Draw the line of one problem, small, on an axis of its own."""
    low = min(0.98, *(point.low for point in row.points))
    high = max(1.05, *(point.high for point in row.points))
    x = Scale(domain=(0, max(1, places - 1)), range=(6, _WIDTH - 6))
    y = Scale(domain=(low, min(high, _MOST)), range=(_HEIGHT - 4, 4))
    tie = y(1 + TIE)
    return tag(
        "svg",
        tag("line", x1=0, x2=_WIDTH, y1=tie, y2=tie, class_="tie"),
        tag("g", *_drawn(row.points, x, y, radius=2.2), class_=f"line {TREND_CLASSES[row.trend]}"),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        class_="spark",
        aria_hidden="true",
    )


def history_table(
    history: TimeHistory, names: ShortNames, layers: Mapping[ProblemKey, SweptLayer] | None = None
) -> PageTable[Any]:
    """Return a line per problem: first, fastest and latest time, and what the latest one is.

    :param names: what shortens names of kernels.
    :param layers: what problems are called.
    """

    known = layers or {}
    named = any(layer.name for layer in known.values())
    layer: Column[HistoryRow] = Column("layer", lambda row: known[row.key].name if row.key in known else "")
    columns: list[Column[HistoryRow]] = [
        Column("#", lambda row: row.number, align="right", text=lambda row: f"P{row.number}"),
        *([layer] if named else []),
        problem_column(lambda row: row.key.problem),
        number_column("first ms", lambda row: row.points[0].row.time_ms),
        number_column("fastest ms", lambda row: min(point.row.time_ms for point in row.points)),
        number_column("latest ms", lambda row: row.last.row.time_ms),
        number_column(
            "latest against fastest",
            lambda row: row.last.ratio,
            slower,
            lambda row: f"interval {slower(row.last.low)} to {slower(row.last.high)}",
        ),
        Column(
            "latest",
            lambda row: row.trend.value,
            style=lambda row: f"trend-{TREND_CLASSES[row.trend]}",
        ),
        name_column("latest best instance", lambda row: display_name(row.last.row), names),
    ]
    return PageTable(
        columns,
        history.rows,
        id="history-table",
        filter_hint="problem or instance",
        row_id=lambda row: f"h{row.number}",
        details={
            "latest best instance": lambda row: [
                *kernel_details(row.last.row.kernel),
                *(
                    (history.labels[point.place], f"{point.row.time_ms:.5g} ms, {display_name(point.row)}")
                    for point in row.points
                ),
                *((history.labels[place], "no verified time") for place in row.absent),
            ]
        },
    )
