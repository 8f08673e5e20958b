"""Everything that a report shows, computed once for every format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.compare.compare import compare
from ckprof.compare.model import Comparison
from ckprof.compare.side import Side
from ckprof.store_report.best import BestRow, best_rows
from ckprof.store_report.coverage import Coverage, coverage
from ckprof.store_report.heat import HeatMap, heat_map
from ckprof.store_report.options import ReportOptions
from ckprof.store_report.overview import Overview, overview

if TYPE_CHECKING:
    from ckprof.statistics.change import ChangePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContent:
    """The input of every report format."""

    options: ReportOptions
    side: Side
    overview: Overview
    best: tuple[BestRow, ...]
    heat: HeatMap
    coverage: tuple[Coverage, ...]
    #: against an older side, if there is one
    comparison: Comparison | None = None

    @property
    def kinds(self) -> int:
        """Return how many combinations of direction, type and layout there are."""
        return len({(key.direction, key.dtype, key.layout) for key in self.heat.problems})

    @property
    def title(self) -> str:
        """Return the title, or what the report is of."""
        return self.options.title or f"Measurements of {self.side.label}"


def report_content(
    side: Side, options: ReportOptions, older: Side | None = None, policy: ChangePolicy | None = None
) -> ReportContent:
    """Compute a report.

    :param older: what the side is compared with.
    :param policy: of that comparison; the usual one by default.
    """
    comparison = None
    if older is not None:
        comparison = compare(older, side, policy) if policy else compare(older, side)
    return ReportContent(
        options=options,
        side=side,
        overview=overview(side),
        best=tuple(best_rows(side, options)),
        heat=heat_map(side),
        coverage=tuple(coverage(side, tolerance) for tolerance in options.tolerances),
        comparison=comparison,
    )
