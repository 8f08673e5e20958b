"""Comparing and reporting what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.compare.side import Side
from ckprof.errors import UsageError
from ckprof.statistics.change import ChangePolicy
from ckprof.store.format import ImportHints, StoreFormats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.api.session import Session
    from ckprof.api.settling import SettleOptions
    from ckprof.compare.model import Comparison
    from ckprof.store_report.content import ReportContent
    from ckprof.store_report.options import ReportOptions

#: a store or an importable file, ``PATH@TAG``, or a side that was read before
SideInput = str | Path | Side


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """How two sides are compared."""

    policy: ChangePolicy = field(default_factory=ChangePolicy)
    #: compare only this direction; ``None`` for all
    direction: str | None = None
    #: measure the unclear rows again, both sides interleaved; ``None``: do not
    settle: SettleOptions | None = None


def compare_inputs(session: Session, old: SideInput, new: SideInput, options: CompareOptions) -> Comparison:
    """Compare two inputs, and settle what is unclear if asked for.

    :raises CkprofError: an input cannot be read, or the kernels cannot be run again.
    """
    from ckprof.compare.compare import compare

    hints = ImportHints(direction=options.direction or "")
    sides = (read_input(session, old, hints), read_input(session, new, hints))
    if options.direction is not None:
        sides = (_only(sides[0], options.direction), _only(sides[1], options.direction))
    comparison = compare(*sides, options.policy)
    if options.settle is None:
        return comparison
    from ckprof.api.settling import settle_unclear

    return settle_unclear(session, comparison, sides, options.settle)


def report_inputs(session: Session, inputs: Sequence[SideInput], options: ReportOptions) -> ReportContent:
    """Compute the report of one input, or of the second one against the first.

    :raises UsageError: there are more inputs, or none.
    :raises CkprofError: an input cannot be read.
    """
    from ckprof.store_report.content import report_content

    if not 1 <= len(inputs) <= 2:
        raise UsageError(
            f"a report is of one store, or of two that it compares, not of {len(inputs)}; merge stores with "
            "'ckprof results merge'"
        )
    # devices are told apart in a report of one store; rows of two stores match whatever the device
    side = read_input(session, inputs[-1], by_device=len(inputs) == 1)
    return report_content(side, options, read_input(session, inputs[0]) if len(inputs) == 2 else None)


def read_input(
    session: Session, given: SideInput, hints: ImportHints | None = None, *, by_device: bool = False
) -> Side:
    """Return a side, read if it is not yet.

    :param hints: what a file does not say itself.
    :param by_device: tell devices apart.
    :raises CkprofError: the input cannot be read.
    """
    if isinstance(given, Side):
        return given
    from ckprof.compare.sources import read_side

    return read_side(str(given), StoreFormats(session.manager), hints, by_device=by_device)


def _only(side: Side, direction: str) -> Side:
    rows = {key: row for key, row in side.rows.items() if key.problem.direction == direction}
    return Side(label=side.label, rows=rows, sessions=side.sessions)
