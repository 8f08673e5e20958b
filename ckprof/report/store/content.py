"""Everything that a report shows, computed once for every format."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ckprof.compare.compare import compare
from ckprof.compare.inputs import SideInput, input_attempts, input_baselines, read_input
from ckprof.compare.model import Comparison
from ckprof.compare.side import ProblemKey, Side, side_of
from ckprof.errors import UsageError
from ckprof.report.store.best import BestRow, best_rows
from ckprof.report.store.boxes import Box, boxes
from ckprof.report.store.coverage import Coverage, coverage
from ckprof.report.store.heat import HeatMap, heat_map
from ckprof.report.store.history import History, history, history_of_commands, labels_of
from ckprof.report.store.options import ReportOptions
from ckprof.report.store.overview import Overview, overview
from ckprof.report.totals import Network, NetworkTimes, networks
from ckprof.report.unserved import Unserved, unserved_of
from ckprof.sweep.layers import Layer, Layers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    #: what the sources of problems say of them
    layers: Mapping[ProblemKey, Layer]
    #: what networks take as a whole
    networks: tuple[Network, ...]
    #: against an older side, if there is one
    comparison: Comparison | None = None
    #: over several stores or commands, if there are some
    history: History | None = None
    #: raw samples, if they were asked for and stored
    boxes: Mapping[ProblemKey, tuple[Box, ...]] = field(default_factory=dict)

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


def report_content(
    side: Side, options: ReportOptions, older: Side | None = None, past: History | None = None
) -> ReportContent:
    """Compute a report.

    :param older: what the side is compared with.
    :param past: the history, if there is one.
    """
    layers = Layers(side.sessions).of_keys(side.by_problem)
    return ReportContent(
        options=options,
        side=side,
        overview=overview(side),
        best=tuple(best_rows(side, options, layers)),
        unserved=unserved_of(side),
        heat=heat_map(side),
        coverage=tuple(coverage(side, tolerance) for tolerance in options.tolerances),
        layers=layers,
        networks=networks(
            NetworkTimes.of_side(side), layers, NetworkTimes.of_side(older) if older is not None else None
        ),
        comparison=compare(older, side) if older is not None else None,
        history=past,
    )


def report_inputs(session: Session, inputs: Sequence[SideInput], options: ReportOptions) -> ReportContent:
    """Compute the report of one input, or of the last one against the one before it, with all as its history.

    :param inputs: oldest first.
    :raises UsageError: there is none.
    :raises CkprofError: an input cannot be read.
    """
    if not inputs:
        raise UsageError("a report is of one store, or of several, the latest one last; there is none")
    *earlier, last = inputs
    # devices are told apart in a report of one store; rows of several stores match whatever the device
    by_device = not earlier
    older = [read_input(session, source) for source in earlier]
    if isinstance(last, Side):
        side, attempts = last, []
    else:
        attempts = list(input_attempts(session, last, samples=options.samples))
        side = side_of(str(last), attempts, input_baselines(last), by_device=by_device)
    order = tuple(side.by_problem)
    if len(older) > 1:
        sides = [*older, side]
        past = history(labels_of(sides), sides, order)
    else:
        past = None if older else history_of_commands(attempts, order)
    content = report_content(side, options, older[-1] if older else None, past)
    if not options.samples:
        return content
    found = boxes(side, attempts, options.traced)
    if not found:
        raise UsageError(f"--box-plots: {side.label} has no raw samples; sweeps store them")
    return replace(content, boxes=found)
