"""What formats of reports must have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ckprof.option import option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ckprof.errors import CkprofError
    from ckprof.model.parity import ParityReport
    from ckprof.model.results import BatchResults, RunResults
    from ckprof.model.types import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat:
    """A way to write the results of a run."""

    id: str
    label: str
    render: Callable[[RunResults], str]
    #: the same for a batch over many lists; ``None``: this format has none
    render_batch: Callable[[BatchResults], str] | None = None
    #: lines are commands of a build service, which must be printed as they are
    commands: bool = False
    #: why there is no such result, where the format says that: of an input that cannot be used, above all
    render_failure: Callable[[CkprofError], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonFormat:
    """A way to write a comparison of two sides of measurements."""

    id: str
    label: str
    #: of a :class:`ckprof.compare.compare.Comparison`
    render: Callable[[Any], str]
    #: why there is no such result, where the format says that: of an input that cannot be used, above all
    render_failure: Callable[[CkprofError], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsView:
    """Something that Python programs get of the results of a run: ``results.view(id)``.

    Of the view ``html``, a text, notebooks show what they show of results; ``plot`` is ``results.plot``.
    """

    id: str
    label: str
    make: Callable[[RunResults], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectionView:
    """Something else that ``ckprof inspect`` shows of kernels, asked for by options that the plugin adds."""

    id: str
    label: str
    #: names of these options in the parsed arguments: they go with kernels that are built, not with reports
    options: tuple[str, ...]
    #: called before anything is built, with the arguments, the session of the command line, the selected
    #: instances and the problems; returns a function, or ``None`` if the view is not asked for. The function
    #: takes a :class:`ckprof.kernels.inspection.Inspection` and returns what stands on standard output in
    #: place of the table (``None``: the table does), and whether all kernels could be shown
    prepare: Callable[[Any, Any, Any, Any], Callable[[Any], tuple[bool, bool]] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityFormat:
    """A way to write comparisons of instance strings."""

    id: str
    label: str
    render: Callable[[ParityReport], str]
    #: why there is no such result, where the format says that: of an input that cannot be used, above all
    render_failure: Callable[[CkprofError], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportHints:
    """What the user says about a file that does not say it itself."""

    direction: str = ""
    target: str = ""
    arch: str = ""
    dtype: DataType | None = None
    layout: str = field(
        default="", metadata=option("import: layout of the tensors, e.g. nhwgc", metavar="NAME")
    )
    device: str = field(
        default="", metadata=option("import: name of the device", flag="--device-name", metavar="NAME")
    )
    #: names for the session that the file becomes
    tags: tuple[str, ...] = field(
        default=(),
        metadata=option("only with this tag; import: the tag to give", flag="--tag", metavar="NAME"),
    )


@dataclass(slots=True, kw_only=True)
class ExportResult:
    """What an export wrote."""

    rows: int = 0
    #: why something has no place in the format -> how much of it
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFormat:
    """A format; either of ``read`` and ``write`` may be missing."""

    id: str
    label: str
    #: endings of file names that mean this format, with their dots
    suffixes: tuple[str, ...] = ()
    #: yields each :class:`ckprof.store.attempt.Attempt` of a file; raises
    #: :class:`~ckprof.errors.InputError` for one that cannot be used
    read: Callable[[Path, ImportHints], Iterator[Any]] | None = None
    #: writes what a :class:`ckprof.store.query.StoreQuery` asks of a :class:`ckprof.store.store.Store` into a
    #: file, at once or not at all
    write: Callable[[Any, Any, Path], ExportResult] | None = None
    #: says whether a file that begins like this is in the format
    recognises: Callable[[bytes], bool] = lambda head: False
