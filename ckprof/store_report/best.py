"""The best kernel of each problem, its runner-up, and how sure their order is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ckprof.compare.side import ProblemKey, Row
from ckprof.model.dtype import DataType
from ckprof.model.roof import Roof
from ckprof.statistics.change import Change, ChangePolicy, RoundPair, estimate_changes
from ckprof.store_report.roofs import Roofs

if TYPE_CHECKING:
    from ckprof.compare.side import Side
    from ckprof.store_report.options import ReportOptions


class Lead(Enum):
    """How sure it is that the best is faster than the runner-up."""

    #: the interval of the ratio lies beyond a tie
    CLEAR = "clear"
    #: the interval lies within a tie
    TIE = "tie"
    #: more rounds would be needed to say
    OPEN = "open"
    #: there is no other verified kernel
    ALONE = "alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class BestRow:
    """The best of one problem."""

    key: ProblemKey
    #: from 1, in the order of the report
    number: int
    best: Row
    runner_up: Row | None
    lead: Lead
    #: estimate of runner-up time / best time; ``None`` for a kernel without rivals
    change: Change | None
    #: rows with a verified time
    ranked: int
    rows: int
    #: of the device and the element type
    roofs: tuple[Roof, ...] = ()

    @property
    def lead_ratio(self) -> float | None:
        """Runner-up time / best time, both medians over rounds: what the ranking goes by."""
        return self.runner_up.median_ms / self.best.median_ms if self.runner_up else None

    @property
    def traffic_bytes(self) -> int | None:
        """Bytes of all tensors, where the input says the type."""
        return self.key.problem.traffic_bytes(DataType(self.key.dtype)) if self.key.dtype else None

    @property
    def gflops(self) -> float:
        """FLOP / time / 1e9."""
        return self.key.problem.flop / self.best.median_ms / 1e6

    @property
    def gbytes_per_s(self) -> float | None:
        """Bytes of all tensors / time / 1e9."""
        moved = self.traffic_bytes
        return moved / self.best.median_ms / 1e6 if moved else None

    @property
    def intensity(self) -> float | None:
        """Floating-point operations per byte moved."""
        moved = self.traffic_bytes
        return self.key.problem.flop / moved if moved else None

    @property
    def of_roof(self) -> float | None:
        """Return the share of the lowest roof that is known; ``None`` without one."""
        intensity = self.intensity
        if intensity is None or not self.roofs:
            return None
        return self.gflops / min(roof.at(intensity) for roof in self.roofs)


def best_rows(side: Side, options: ReportOptions) -> list[BestRow]:
    """Return the problems with a verified kernel, in the order of the input."""
    contests = []
    for number, (key, rows) in enumerate(side.by_problem.items(), start=1):
        ranked = [row for row in rows if row.ranked]
        if ranked:
            contests.append((number, key, ranked, len(rows)))
    policy = ChangePolicy()
    changes = iter(
        estimate_changes(
            [_pair(ranked[0], ranked[1]) for _, _, ranked, _ in contests if len(ranked) > 1], policy
        )
    )
    found = []
    roofs = Roofs(side, options.roofs)
    for number, key, ranked, count in contests:
        change = next(changes) if len(ranked) > 1 else None
        found.append(
            BestRow(
                key=key,
                number=number,
                best=ranked[0],
                runner_up=ranked[1] if len(ranked) > 1 else None,
                lead=_lead(change, options.tie),
                change=change,
                ranked=len(ranked),
                rows=count,
                roofs=roofs.of(ranked[0]),
            )
        )
    return found


def _pair(best: Row, other: Row) -> RoundPair:
    """Return the rounds of both, as pairs where they ran in the same rounds."""
    first = {one.place: one.median_ms for one in best.rounds if one.place}
    second = {one.place: one.median_ms for one in other.rounds if one.place}
    shared = [place for place in first if place in second]
    if len(shared) == min(len(best.rounds), len(other.rounds)):
        return RoundPair(
            old=tuple(math.log(first[place]) for place in shared),
            new=tuple(math.log(second[place]) for place in shared),
            interleaved=True,
        )
    return RoundPair(old=best.logs, new=other.logs)


def _lead(change: Change | None, tie: float) -> Lead:
    if change is None:
        return Lead.ALONE
    limit = math.log1p(tie)
    if change.low > limit:
        return Lead.CLEAR
    if change.high < limit:
        return Lead.TIE
    return Lead.OPEN
