"""The rounds of the leading kernels over time, so that drift shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.compare.records import display_name
from ckprof.store.attempt import Mark

if TYPE_CHECKING:
    from ckprof.compare.side import Row, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One kernel on one problem."""

    name: str
    #: whether it is the kernel that ran in every round to show drift
    reference: bool
    #: (seconds since the first round of the problem, median in milliseconds), oldest first
    points: tuple[tuple[float, float], ...]


def traces(side: Side, kernels: int) -> list[list[Trace]]:
    """Return, per problem, its fastest kernels and its reference kernel.

    :param kernels: how many kernels of each problem.
    """
    found = []
    for rows in side.by_problem.values():
        ranked = [row for row in rows if row.ranked]
        chosen = ranked[:kernels] + [row for row in ranked[kernels:] if _is_reference(row)][:1]
        start = min((one.started for row in chosen for one in row.rounds), default=0.0)
        found.append([_trace(row, start) for row in chosen])
    return found


def _is_reference(row: Row) -> bool:
    return any(Mark.REFERENCE in one.marks for one in row.rounds)


def _trace(row: Row, start: float) -> Trace:
    return Trace(
        name=display_name(row),
        reference=_is_reference(row),
        points=tuple((round(one.started - start, 3), float(f"{one.median_ms:.5g}")) for one in row.rounds),
    )
