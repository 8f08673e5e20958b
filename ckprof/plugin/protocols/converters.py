"""What must be had by what reads instance lists, finds them, and keeps them; and by formats of reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ckprof.model.types import SHARED_TYPES
from ckprof.option import settable
from ckprof.plugin.members import optional, optional_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof.errors import CkprofError, InputError
    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.conversion import (
        CatalogFile,
        Conversion,
        ConversionRequest,
        ExplainedLine,
        ListReading,
        TreeList,
    )
    from ckprof.model.parity import BuilderList, ParityReport
    from ckprof.model.results import BatchResults, RunResults
    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.model.strings.kind import Revision
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogVariant:
    """One value of a catalog's ``variant`` key: its operation and what its records look like."""

    name: str
    #: id of the operation
    direction: str
    #: a msgspec struct with ``forbid_unknown_fields``; its field order is the key order in the file
    record_type: type[CatalogRecord]
    #: layouts that such a catalog can name
    layouts: tuple[Layout, ...]
    #: id of the pipeline whose instances the records are; empty if that depends on the record
    pipeline: str = ""
    #: returns the id of the pipeline of a record; ``None`` if all have the same one
    pipeline_of: Callable[[Any], str] | None = None
    #: writes a catalog as the lines of a list again, such that converting them gives the catalog back;
    #: ``None`` if there is no such spelling. Raises ``InputError`` for a record that no line can say.
    native: Callable[[Catalog], Sequence[str]] | None = None
    #: returns the values of a record by name, given the id of a pipeline and the fields of its instance but
    #: for those that all instances have; ``None`` if both have the same names
    record_values: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] | None = None
    #: data types that such a catalog can name
    dtypes: tuple[DataType, ...] = SHARED_TYPES


class ListReader(Protocol):
    """What everything has that reads lists."""

    @property
    def id(self) -> str:
        """Name for messages and reports."""

    @property
    def label(self) -> str:
        """A few words for help texts."""

    @property
    @optional_with("use_families")
    def family_type(self) -> type[object]:
        """Type of the grammar tables that it reads lists with: the protocol of a kind of objects."""
        return object

    @optional_with("family_type")
    def use_families(self, families: Sequence[Any]) -> None:
        """Read with these tables from now on; called once, after all plugins are loaded.

        :raises PluginError: a table contradicts itself.
        """


class Converter(ListReader, Protocol):
    """Reads one or more dialects of instance lists."""

    def recognises(self, request: ConversionRequest) -> bool:
        """Say whether the content is in a dialect of this converter. Must be quick and must not raise.

        The request's ``data`` may be but the beginning of a large file.
        """

    def convert(self, request: ConversionRequest) -> Conversion:
        """Convert the whole input.

        :raises InputError: a line is wrong, or the file cannot be read; nothing of it may be used then.
        :raises ExceptionGroup: never; several wrong lines are one
            :class:`~ckprof.errors.ListError` with all diagnostics.
        """

    @property
    @optional
    def streams(self) -> bool:
        """Whether it reads large files through the request's ``stream``; others get all in ``data``."""
        return False

    @optional
    def plan_tree(
        self, root: Path, reading: ListReading
    ) -> tuple[tuple[CatalogFile, ...], tuple[TreeList, ...]] | None:
        """Convert the lists of a folder, but write nothing; ``None`` if no list of this converter is there.

        The catalogs are those of all lists up to the first one that failed; all lists are returned.

        A list with errors ends the plan: what precedes it is planned, what follows is not reached.

        :param reading: how all of them are read.
        :raises InputError: a folder cannot be read, or two lists give the same catalog.
        """
        return None

    @optional
    def explain(
        self, text: str, request: ConversionRequest, number: int | None = None
    ) -> ExplainedLine | None:
        """Explain a line; ``None`` if it does not look like a line of this converter's lists.

        A line that looks like one but is wrong is explained, with its errors.

        :param text: a line that stands in no list.
        :param request: how the list is read, and the list that the line stands in. Of a line that stands in
            none, the path may say layout and data type, and there is no data.
        :param number: one-based number of the line in its list; ``None`` for one that stands in none.
        :raises InputError: there is no such line, or the file of the request says something that contradicts
            its options.
        """
        return None


class BuilderReader(ListReader, Protocol):
    """Tells what a list or a log means to CK Builder, without converting it to a catalog."""

    def recognises(self, request: ConversionRequest) -> bool:
        """Say whether the content is in a dialect of this reader. Must be quick and must not raise."""

    def read(
        self, request: ConversionRequest, strings: StringGrammar, revision: Revision | None
    ) -> BuilderList:
        """Return the strings that CK Builder prints for the content.

        :param strings: all known kinds of instance strings.
        :param revision: the only revision of CK whose spelling the content may have; ``None`` for every
            one, recognised line by line.
        :raises InputError: a line is wrong; all wrong lines are reported at once.
        """

    @optional
    def print_lists(
        self,
        tree: Path,
        direction: str,
        *,
        layouts: Sequence[str],
        dtypes: Sequence[str],
        lines: Sequence[str],
        compiler: str | None,
    ) -> tuple[Mapping[str, str], frozenset[str], tuple[str, ...]]:
        """Return what a tree's CK Builder prints for the factories of the lists that are asked for.

        First come paths below the folder of all lists with their strings, one to a line; then what lines
        begin with that it has no string for, e.g. the class of their instances; then remarks for the user.

        :param tree: a source tree of Composable Kernel.
        :param direction: id.
        :param lines: of lists: only the lists that one of these could stand in, if any of them says so.
        :param compiler: command of the one asked for; ``None`` for the first that is found.
        :raises InputError: there is no such folder.
        :raises ToolchainError: the tree has no CK Builder, or something does not compile.
        """
        raise NotImplementedError


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
    layout: str = settable("", "import: layout of the tensors, e.g. nhwgc", metavar="NAME")
    device: str = settable("", "import: name of the device", flag="--device-name", metavar="NAME")
    #: takes rows that cannot be used, so that the others are; ``None``: the first one is raised
    on_wrong: Callable[[InputError], None] | None = None
    #: names for the session that the file becomes
    tags: tuple[str, ...] = settable(
        (), "only with this tag; import: the tag to give", flag="--tag", metavar="NAME"
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
