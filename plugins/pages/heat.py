"""The heat map: what share of the problem's best speed each instance reaches."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ckprof.model.outcome import Status
from ckprof.report.short_names import WHOLE_NAMES, ShortNames
from ckprof_plugins.pages.svg import CHART_WIDTH, Frame, chart, tag, text_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from ckprof.compare.side import MeasuredRow, ProblemKey, Side
    from ckprof.model.kernel import KernelRef


#: a cell: percent of the best's speed, a status without a time, or ``None`` where nothing was measured
Cell = int | Status | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatInstance:
    """One column, with what the whole side says about it."""

    #: content key
    key: str
    name: str
    kernel: KernelRef
    #: problems that it is the best of
    wins: int
    #: problems with a verified time
    ranked: int
    #: problems on which it failed: wrong numbers, crashes, compile errors, time limits
    failed: int
    #: mean over its problems of best time / its time
    mean_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Problems by instances."""

    #: the one that is closest to the best on average first
    instances: tuple[HeatInstance, ...]
    #: one row per problem, in the order of the report
    cells: tuple[tuple[Cell, ...], ...]


def heat_map(side: Side) -> HeatMap:
    """Arrange all rows; an instance with several splits shows its best one."""
    problems = tuple(side.by_problem)
    rows: dict[str, dict[ProblemKey, MeasuredRow]] = defaultdict(dict)
    for problem in problems:
        for row in reversed(side.by_problem[problem]):  # the fastest last, which stays
            rows[row.key.instance][problem] = row
    best = {problem: side.best(problem) for problem in problems}
    instances = sorted(
        (_instance(key, of_key, best) for key, of_key in rows.items()),
        key=lambda instance: (-instance.mean_share * instance.ranked, instance.key),
    )
    cells = tuple(
        tuple(_cell(rows[instance.key].get(problem), best[problem]) for instance in instances)
        for problem in problems
    )
    return HeatMap(instances=tuple(instances), cells=cells)


def _share(row: MeasuredRow, best: MeasuredRow | None) -> float:
    return best.time_ms / row.time_ms if best and row.ranked else 0.0


def _instance(
    key: str, rows: dict[ProblemKey, MeasuredRow], best: dict[ProblemKey, MeasuredRow | None]
) -> HeatInstance:
    shares = [_share(row, best[problem]) for problem, row in rows.items() if row.ranked]
    first = next(iter(rows.values()))
    return HeatInstance(
        key=key,
        name=first.kernel.name or key[:12],
        kernel=first.kernel,
        wins=sum(row.key == one.key for problem, row in rows.items() if (one := best[problem]) is not None),
        ranked=len(shares),
        failed=sum(row.status.is_failure for row in rows.values()),
        mean_share=sum(shares) / len(shares) if shares else 0.0,
    )


def _cell(row: MeasuredRow | None, best: MeasuredRow | None) -> Cell:
    if row is None:
        return None
    if not row.ranked:
        return row.status
    # rounded down, so that only the best itself is shown as 100
    return max(0, min(100, int(100 * _share(row, best))))


def statuses_of(cells: Sequence[Sequence[Cell]]) -> list[Status]:
    """Return the statuses that occur in cells without a time, in their order of declaration."""
    statuses = {cell for row in cells for cell in row if isinstance(cell, Status)}
    return [status for status in Status if status in statuses]


#: lower limits in percent of the bands that the heat map is drawn in
BANDS: Final = (0, 25, 40, 50, 60, 70, 80, 90, 95, 98, 100)

#: CSS classes of cells without a time; every other status is drawn as a failure
_STATUS_CLASSES: Final = {Status.UNSUPPORTED: "unsupported", Status.WRONG_RESULT: "wrong"}
#: characters of a name over or beside the cells, and pixels that one takes
_NAME: Final = 34
_PER_CHARACTER: Final = 7.2
#: pixels between two names of columns at least
_LINE: Final = 12
#: pixels of a cell that has room for its percent
_FIGURE: Final = 24
#: pixels in which lines lead from names to columns that are narrower than these
_LEAD: Final = 26
#: kernels that rows are drawn for at most, where columns would be too narrow for a percent
_ROWS: Final = 100


def heat_chart(heat: HeatMap, names: ShortNames = WHOLE_NAMES, labels: Sequence[str] = ()) -> Markup:
    """Draw the heat map: a path per colour, so that 30,000 cells stay small.

    Problems are rows and instances columns; the other way round where only then cells have room for their
    percent. Columns have their names; where they are too narrow for that, those that are the best of most
    problems and the closest to the best on average.

    :param names: what shortens names of kernels.
    :param labels: what problems are called, by default only their numbers.
    """
    problems = [(text, "") for text in labels or [f"P{row + 1}" for row in range(len(heat.cells))]]
    short = [(names.short(instance.name, _NAME), instance.name) for instance in heat.instances]
    turned = _width(short, problems) < _FIGURE <= _width(problems, short) and len(short) <= _ROWS
    beside, above = (short, problems) if turned else (problems, short)
    grid = [*zip(*heat.cells, strict=True)] if turned else heat.cells
    rows, left, width = len(beside), _left(beside), _width(above, beside)
    height = min(22.0, max(_LINE + 1 if turned else 5.0, 700 / max(1, rows)))
    lies = _pixels(above) <= width
    top = 20 if lies else round(_pixels(above)) + 10 + _LEAD
    frame = Frame(width=CHART_WIDTH, height=round(rows * height) + top + 6, left=left, top=top)
    paths: dict[str, list[str]] = {}
    for row, cells in enumerate(grid):
        for name, begin, length in _runs(cells):
            paths.setdefault(name, []).append(f"M{begin} {row}h{length}v1h-{length}z")
    drawn = [tag("path", d="".join(parts), class_=name) for name, parts in sorted(paths.items())]
    # 6 pixels, whatever the cells are scaled by
    across, down = f"{6 / width:.4g}", f"{6 / height:.4g}"
    line = tag(
        "path",
        d=f"M0 {down}L{across} 0",
        class_="hatch",
        stroke_width=1.2,
        vector_effect="non-scaling-stroke",
    )
    hatch = tag("pattern", line, id="hatch", width=across, height=down, patternUnits="userSpaceOnUse")
    cursor = tag("rect", x=0, y=0, width=1, height=1, class_="cursor", vector_effect="non-scaling-stroke")
    scaled = f"translate({frame.left} {frame.top}) scale({width:g} {height:g})"
    axes = "problems across" if turned else "instances across"
    parts = [tag("g", hatch, *drawn, cursor, transform=scaled, id="heat-cells", data_axes=axes)]
    for row in range(0, rows, max(1, math.ceil(_LINE / height))):
        at = round(frame.top + (row + 0.5) * height + 4, 1)
        parts.append(text_at(left - 6, at, beside[row][0], "tick", "end", whole=beside[row][1]))
    if width >= _FIGURE and height >= _LINE:
        parts += _figures(grid, frame, width, height)
    if lies:
        middles = [f"{left + (column + 0.5) * width:.1f}" for column in range(len(above))]
        named = zip(middles, above, strict=True)
        parts += [text_at(x, top - 6, text, "tick", "middle", whole=whole) for x, (text, whole) in named]
    else:
        parts += _turned_names(above, [instance.wins for instance in heat.instances], frame, width)
    timed = sum(isinstance(cell, int) for row in heat.cells for cell in row)
    description = (
        f"{len(problems)} problems by {len(short)} instances, the best on average first; {timed} cells have "
        "a verified time. Arrow keys move over the cells; the table of instances sums the columns up."
    )
    title = "Share of each problem's best speed"
    return chart(frame, parts, "heat", title, description, role="application")


def _pixels(names: Sequence[tuple[str, str]]) -> float:
    """Return how wide the longest of some names is."""
    return _PER_CHARACTER * max((len(text) for text, _ in names), default=0)


def _left(names: Sequence[tuple[str, str]]) -> int:
    """Return where cells begin on the right of names."""
    return 12 + round(_pixels(names))


def _width(columns: Sequence[tuple[str, str]], rows: Sequence[tuple[str, str]]) -> float:
    """Return the pixels of a column on the right of the names of rows."""
    return (CHART_WIDTH - _left(rows) - 24) / max(1, len(columns))


def _figures(cells: Sequence[Sequence[Cell]], frame: Frame, width: float, height: float) -> Iterator[Markup]:
    """Yield the percent of the cells with a time."""
    for row, values in enumerate(cells):
        y = round(frame.top + (row + 0.5) * height + 4, 1)
        for column, cell in enumerate(values):
            if isinstance(cell, int):
                x = f"{frame.left + (column + 0.5) * width:.1f}"
                yield text_at(x, y, str(cell), f"heat-figure on-{_class(cell)}", "middle")


def _turned_names(
    names: Sequence[tuple[str, str]], wins: Sequence[int], frame: Frame, width: float
) -> Iterator[Markup]:
    """Yield the names of columns, turned, with a line from each to its column."""
    room = int((len(names) * width + 12) // _LINE)
    ranked = sorted(range(len(names)), key=lambda column: (-wins[column], column))
    named = sorted(ranked[: max(1, room)])
    # as near to its column as its neighbours allow
    middles = [frame.left + (column + 0.5) * width for column in named]
    last = frame.left + len(names) * width + 6
    places: list[float] = []
    for number, middle in enumerate(middles):
        least = places[-1] + _LINE if places else middle
        most = last - _LINE * (len(middles) - 1 - number)
        places.append(min(max(middle, least), max(most, least)))
    base = frame.top - _LEAD
    for column, middle, place in zip(named, middles, places, strict=True):
        path = f"M{middle:.1f} {frame.top - 2}v-4L{place:.1f} {base + 4}v-3"
        yield tag("path", d=path, class_="lead")
        (text, whole), x = names[column], f"{place + 4:.1f}"
        turned = f"rotate(-90 {x} {base - 2})"
        yield text_at(x, base - 2, text, "tick", whole=whole, transform=turned)


def _runs(cells: Sequence[Cell]) -> Iterator[tuple[str, int, int]]:
    """Yield (CSS class, first column, columns) of neighbours that are drawn alike."""
    start = 0
    for name, group in groupby(cells, key=_class):
        length = len(list(group))
        if name:
            yield name, start, length
        start += length


def _class(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Status):
        return status_class(cell)
    return f"q{max(index for index, least in enumerate(BANDS) if cell >= least)}"


def status_class(status: Status) -> str:
    """Return the CSS class of a cell without a time."""
    return _STATUS_CLASSES.get(status, "failed")
