"""The trials of two sides in one array, by problem, kernel and visit, with the canaries of the visits."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from ckprof.compare.visits import Visits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.compare.side import MeasuredRow, ProblemKey, Side


def arranged(
    rows: Sequence[tuple[MeasuredRow, MeasuredRow]], sides: tuple[Side, Side]
) -> tuple[Visits, list[int]]:
    """Return the trials of rows that both sides have, and the places of the rows in their order there.

    The visits of a problem are in the order of time: where each problem was visited in each pass, visits of
    one number are of one pass.
    """
    problems: dict[ProblemKey, list[int]] = defaultdict(list)
    for place, (before, _) in enumerate(rows):
        problems[before.key.problem].append(place)
    visits = tuple(
        {key: _visits([rows[place][side] for place in places]) for key, places in problems.items()}
        for side in (0, 1)
    )
    counts = [max(map(len, of_side.values()), default=0) for of_side in visits]
    times = np.full((len(problems), max(map(len, problems.values()), default=0), sum(counts)), np.nan)
    names = shared_canaries(sides)
    canaries = np.full((len(names), len(problems), sum(counts)), np.nan)
    for number, (key, places) in enumerate(problems.items()):
        for side, first in enumerate((0, counts[0])):
            columns = visits[side][key]
            for kernel, place in enumerate(places):
                for process, log in rows[place][side].trials.items():
                    times[number, kernel, first + columns[process]] = log
            for process, column in columns.items():
                seen = sides[side].canaries.get((key, process), {})
                for canary, name in enumerate(names):
                    if name in seen:
                        canaries[canary, number, first + column] = math.log(seen[name])
    told = np.isfinite(canaries).any(axis=(1, 2))
    order = [place for places in problems.values() for place in places]
    return Visits(times=times, canaries=canaries[told], old=counts[0]), order


def _visits(rows: Sequence[MeasuredRow]) -> Mapping[str, int]:
    """Return the number of each visit of a problem, by the process that made it."""
    started: dict[str, float] = {}
    for row in rows:
        for process, moment in row.visited.items():
            started[process] = min(moment, started.get(process, math.inf))
    ordered = sorted(started, key=lambda process: (started[process], process))
    return {process: number for number, process in enumerate(ordered)}


def shared_canaries(sides: tuple[Side, Side]) -> tuple[str, ...]:
    """Return the canaries whose times can be compared: the same code on the same device, and clocks."""
    old, new = ({name for seen in side.canaries.values() for name in seen} for side in sides)
    digests = sides[0].canary_digests | sides[1].canary_digests
    return tuple(sorted(old & new)) if len(digests) == 1 else ()
