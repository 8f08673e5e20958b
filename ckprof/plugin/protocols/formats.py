"""What formats of reports must have."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.compare.model import Comparison as MeasurementComparison
    from ckprof.model.batch_results import BatchResults
    from ckprof.model.parity import ParityReport
    from ckprof.model.results import RunResults
    from ckprof.store_report.content import ReportContent


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat:
    """A way to write the results of a run."""

    id: str
    label: str
    render: Callable[[RunResults], str]
    #: the same for a batch over many lists; ``None``: this format has none
    render_batch: Callable[[BatchResults], str] | None = None
    #: the name of ``render_batch`` in plugins written before it was renamed
    render_tour: InitVar[Callable[[BatchResults], str] | None] = None

    def __post_init__(self, render_tour: Callable[[BatchResults], str] | None) -> None:
        if render_tour is not None:
            object.__setattr__(self, "render_batch", render_tour)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonFormat:
    """A way to write a comparison of two sides of measurements."""

    id: str
    label: str
    render: Callable[[MeasurementComparison], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReportFormat:
    """A way to write the report of a store."""

    id: str
    label: str
    #: end of the names of its files, e.g. ``.html``: what ``-o FILE`` is recognised by
    suffix: str
    #: text, or the bytes of a file that is no text
    render: Callable[[ReportContent], str | bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityFormat:
    """A way to write comparisons of instance strings."""

    id: str
    label: str
    render: Callable[[ParityReport], str]
