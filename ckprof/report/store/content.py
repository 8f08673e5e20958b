"""Everything that a report shows, computed once for every format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.compare.compare import compare
from ckprof.compare.inputs import SideInput, read_input
from ckprof.compare.model import Comparison
from ckprof.compare.side import Side
from ckprof.errors import UsageError
from ckprof.report.store.best import BestRow, best_rows
from ckprof.report.store.coverage import Coverage, coverage
from ckprof.report.store.heat import HeatMap, heat_map
from ckprof.report.store.options import ReportOptions
from ckprof.report.store.overview import Overview, overview
from ckprof.report.unserved import Unserved, unserved_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContent:
    """The input of every report format."""

    options: ReportOptions
    side: Side
    overview: Overview
    best: tuple[BestRow, ...]
    #: problems without a best kernel
    unserved: tuple[Unserved, ...]
    heat: HeatMap
    coverage: tuple[Coverage, ...]
    #: against an older side, if there is one
    comparison: Comparison | None = None

    @property
    def best_table(self) -> list[BestRow | Unserved]:
        """Return a row for each problem, in the order of the report."""
        rows: list[BestRow | Unserved] = [*self.best, *self.unserved]
        return sorted(rows, key=lambda row: row.number)

    @property
    def kinds(self) -> int:
        """Return how many combinations of direction, type and layout there are."""
        return len({(key.direction, key.dtype, key.layout) for key in self.heat.problems})

    @property
    def title(self) -> str:
        """Return the title, or what the report is of."""
        return self.options.title or f"Measurements of {self.side.label}"


def report_content(side: Side, options: ReportOptions, older: Side | None = None) -> ReportContent:
    """Compute a report.

    :param older: what the side is compared with.
    """
    return ReportContent(
        options=options,
        side=side,
        overview=overview(side),
        best=tuple(best_rows(side, options)),
        unserved=unserved_of(side),
        heat=heat_map(side),
        coverage=tuple(coverage(side, tolerance) for tolerance in options.tolerances),
        comparison=compare(older, side) if older is not None else None,
    )


def report_inputs(session: Session, inputs: Sequence[SideInput], options: ReportOptions) -> ReportContent:
    """Compute the report of one input, or of the second one against the first.

    :raises UsageError: there are more inputs, or none.
    :raises CkprofError: an input cannot be read.
    """
    if not 1 <= len(inputs) <= 2:
        raise UsageError(
            f"a report is of one store, or of two that it compares, not of {len(inputs)}; merge stores with "
            "'ckprof results merge'"
        )
    # devices are told apart in a report of one store; rows of two stores match whatever the device
    side = read_input(session, inputs[-1], by_device=len(inputs) == 1)
    return report_content(side, options, read_input(session, inputs[0]) if len(inputs) == 2 else None)
