"""What must be had by what reads instance lists, finds them, and keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ckprof.model.types import SHARED_TYPES
from ckprof.plugin.members import optional, optional_with

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.conversion import (
        CatalogFile,
        Conversion,
        ConversionRequest,
        ExplainedLine,
        ListReading,
        TreeList,
    )
    from ckprof.model.parity import BuilderList
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
    #: data types that such a catalog can name
    dtypes: tuple[DataType, ...] = SHARED_TYPES


class Converter(Protocol):
    """Reads one or more dialects of instance lists."""

    @property
    def id(self) -> str:
        """Name for messages and reports."""

    @property
    def label(self) -> str:
        """A few words for help texts."""

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

        :param text: the line as it stands in the file.
        :param request: how the list is read, and the list that the line stands in. Of a line that stands in
            none, the path may say layout and data type, and there is no data.
        :param number: one-based number of the line in its list; ``None`` for one that stands in none.
        :raises InputError: the file of the request says something that contradicts its options.
        """
        return None


class BuilderReader(Protocol):
    """Tells what a list or a log means to CK Builder, without converting it to a catalog."""

    @property
    def id(self) -> str:
        """Name for messages and reports."""

    @property
    def label(self) -> str:
        """A few words for help texts."""

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

    @optional
    def print_lists(
        self,
        tree: Path,
        direction: str,
        *,
        layouts: Sequence[str],
        dtypes: Sequence[str],
        lines: Sequence[str],
    ) -> tuple[Mapping[str, str], frozenset[str], tuple[str, ...]]:
        """Return what a tree's CK Builder prints for the factories of the lists that are asked for.

        First come paths below the folder of all lists with their strings, one to a line; then what lines
        begin with that it has no string for, e.g. the class of their instances; then remarks for the user.

        :param tree: a source tree of Composable Kernel.
        :param direction: id.
        :param lines: of lists: only the lists that one of these could stand in, if any of them says so.
        :raises InputError: there is no such folder.
        :raises ToolchainError: the tree has no CK Builder, or something does not compile.
        """
        raise NotImplementedError
