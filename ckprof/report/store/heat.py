"""The heat map: what share of the problem's best speed each instance reaches."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.model.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.compare.side import ProblemKey, Row, Side

#: a cell: percent of the best's speed, a status without a time, or ``None`` where nothing was measured
Cell = int | Status | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatInstance:
    """One column, with what the whole side says about it."""

    #: content key
    key: str
    name: str
    pipeline: str
    #: where it stands in its list, and CK Builder's text; empty where that is not known
    source: str
    instance_string: str
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

    problems: tuple[ProblemKey, ...]
    #: the one that is closest to the best on average first
    instances: tuple[HeatInstance, ...]
    #: one row per problem
    cells: tuple[tuple[Cell, ...], ...]


def heat_map(side: Side) -> HeatMap:
    """Arrange all rows; an instance with several splits shows its best one."""
    problems = tuple(side.by_problem)
    rows: dict[str, dict[ProblemKey, Row]] = defaultdict(dict)
    for problem in problems:
        for row in reversed(side.by_problem[problem]):  # the fastest last, which stays
            rows[row.key.instance][problem] = row
    best = {problem: side.best(problem) for problem in problems}
    instances = sorted((_instance(key, of_key, best) for key, of_key in rows.items()), key=_order)
    cells = tuple(
        tuple(_cell(rows[instance.key].get(problem), best[problem]) for instance in instances)
        for problem in problems
    )
    return HeatMap(problems=problems, instances=tuple(instances), cells=cells)


def _order(instance: HeatInstance) -> tuple[float, str]:
    return -instance.mean_share * instance.ranked, instance.key


def _share(row: Row, best: Row | None) -> float:
    return best.time_ms / row.time_ms if best and row.ranked else 0.0


def _instance(key: str, rows: dict[ProblemKey, Row], best: dict[ProblemKey, Row | None]) -> HeatInstance:
    shares = [_share(row, best[problem]) for problem, row in rows.items() if row.ranked]
    first = next(iter(rows.values()))
    return HeatInstance(
        key=key,
        name=first.kernel.name or key[:12],
        pipeline=first.kernel.pipeline,
        source=first.kernel.source,
        instance_string=first.kernel.instance_string,
        wins=sum(_is_best(row, best[problem]) for problem, row in rows.items()),
        ranked=len(shares),
        failed=sum(row.status.is_failure for row in rows.values()),
        mean_share=sum(shares) / len(shares) if shares else 0.0,
    )


def _is_best(row: Row, best: Row | None) -> bool:
    return best is not None and row.key == best.key


def _cell(row: Row | None, best: Row | None) -> Cell:
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
