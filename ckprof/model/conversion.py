"""What converters are asked and what they answer: of a list, a folder of lists, or one line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ckprof.errors import UsageError
from ckprof.option import settable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from ckprof.errors import InputError
    from ckprof.model.catalog import Catalog
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType


#: K extents of the MMA tiles of the half types, (for 32-wide, for all others), unless others are asked for
MMA_K_TABLE: Final = (16, 32)


def parse_mma_k_table(text: str) -> tuple[int, int]:
    """Parse ``16/32``.

    :raises UsageError: it is not two positive integers.
    """
    parts = text.split("/")
    if len(parts) != 2 or not all(
        part.isascii() and part.isdecimal() and 0 < int(part) < 10**6 for part in parts
    ):
        raise UsageError(f"expected two positive integers such as 16/32, got {text!r}")
    return int(parts[0]), int(parts[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReading:
    """How lists are read."""

    layout: Layout | None = settable(
        None,
        "layout of lists whose lines and file names do not say it, e.g. nhwgc or rcr",
        metavar="NAME",
        parse=str,
    )
    dtype: DataType | None = settable(
        None,
        "data type of lists whose lines and file names do not say it: {dtypes}; of a rule set, one or "
        "several joined by commas (default: all)",
        metavar="NAME",
        parse=str,
    )
    lenient: bool = settable(False, "exclude wrong lines, with a warning each, instead of stopping")
    mma_k_table: tuple[int, int] = settable(
        MMA_K_TABLE,
        "K of the half types' MMA tiles, for 32-wide and for all others (default: 16/32; "
        "upstream's committed catalogs have 8/16)",
        metavar="A/B",
        parse=parse_mma_k_table,
        several="store",
    )
    upstream_comments: bool = settable(
        False, "lose a line with a # or ; anywhere in it, as upstream's converter does"
    )
    #: the library of the kernel families that are asked for; empty if none is
    library: str = ""
    #: values of plugins' options by name; any may be missing
    plugin_options: Mapping[str, object] = field(default_factory=dict)

    def request(
        self,
        path: Path,
        data: bytes,
        direction: str | None = None,
        stream: Callable[[], BinaryIO] | None = None,
    ) -> ConversionRequest:
        """Return the request to convert some content this way; the parameters are fields of it."""
        how: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(ListReading)}
        return ConversionRequest(path=path, data=data, direction=direction, stream=stream, **how)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionRequest(ListReading):
    """One input to convert, and how it is read.

    :param path: where the bytes come from; only for messages and for what the file name says.
    :param data: the whole content, or its beginning if ``stream`` is set.
    :param stream: opens the whole content of an input that is too large to hold. Only converters that say
        ``streams = True`` are asked with it; all others get the whole content as ``data``.
    :param direction: id of the direction that the user asked for, or ``None`` if the lines shall tell.
    """

    path: Path
    data: bytes
    direction: str | None = None
    stream: Callable[[], BinaryIO] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The answer of a converter: catalogs and an account of every line."""

    path: Path
    #: id of the converter that gave the answer
    converter: str
    catalogs: tuple[Catalog, ...]
    #: lines of the file, each of which is an instance, stands in ``dropped`` or is counted in ``unlisted``
    lines: int
    #: one-based line that gave no instance -> why
    dropped: Mapping[int, UnmetRequirement] = field(default_factory=dict)
    #: rule -> dropped lines that are counted only: a converter need not list those of a very long file
    unlisted: Mapping[str, int] = field(default_factory=dict)
    #: (variant, record id) -> one-based source line
    source_lines: Mapping[tuple[str, int], int] = field(default_factory=dict)
    #: one-based line that became an instance, but says more than one can -> the arguments, by name: its
    #: kernel does without them
    lossy: Mapping[int, str] = field(default_factory=dict)
    #: (variant, record id) -> why the kernel is not to be built, whatever the rules of its pipeline say
    defects: Mapping[tuple[str, int], UnmetRequirement] = field(default_factory=dict)
    #: assumptions that the converter had to make; the user should hear of them
    notes: tuple[str, ...] = ()

    @property
    def dropped_by_rule(self) -> Counter[str]:
        """How many lines each rule dropped."""
        return Counter(why.rule for why in self.dropped.values()) + Counter(self.unlisted)


class ListState(Enum):
    """What became of one list of a tree."""

    CONVERTED = "converted"
    FAILED = "failed"
    #: no list at all, e.g. a link to a folder
    SKIPPED = "skipped"
    #: a list before it failed
    NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeList:
    """One list of a tree."""

    path: Path
    state: ListState
    #: what the converter was asked and what it answered; ``None`` unless the list was converted
    request: ConversionRequest | None = None
    conversion: Conversion | None = None
    #: why it failed
    error: InputError | None = None
    #: why it was skipped
    reason: str = ""


class CatalogState(Enum):
    """What became of a catalog, or how it stands on disk."""

    PLANNED = "planned"
    WRITTEN = "written"
    #: it held the same bytes already
    UNCHANGED = "unchanged"
    #: checked and found as it should be
    AS_EXPECTED = "as expected"
    DIFFERS = "differs"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFile:
    """One catalog of the output."""

    #: where it belongs; in the plan of a tree relative to the output folder
    path: Path
    catalog: Catalog
    #: the lists that it is made of, in order
    sources: tuple[Path, ...]
    state: CatalogState = CatalogState.PLANNED
    #: what is not as it should be
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing of a catalog file that is not as it should be."""

    #: ``datatype`` or ``instances[id 7].tile_m``; empty for the file as a whole
    where: str
    #: JSON text of the value; empty if there is none
    on_disk: str = ""
    expected: str = ""
    #: instead of two values: what is wrong
    message: str = ""

    def __str__(self) -> str:
        text = self.message or f"is {self.on_disk or 'missing'}, expected {self.expected or 'no such key'}"
        return f"{self.where}: {text}" if self.where else text


#: what a tree of lists gives: the catalogs of all lists up to the first one that failed, and the lists
TreePlan: TypeAlias = tuple[tuple[CatalogFile, ...], tuple[TreeList, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedField:
    """One argument of the line."""

    #: one-based
    position: int
    name: str
    text: str
    #: one-based
    column: int
    #: false if the argument is checked but has no influence on the record
    read: bool
    #: what the text means; ``None`` if it is wrong
    value: Any
    #: keys of the record that follow from the argument, alone or together with others
    becomes: tuple[str, ...]
    #: what is wrong with it; empty if nothing is
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedLine:
    """What becomes of a line."""

    text: str
    #: id, title, direction and variant of the family; empty if there is none
    family: str = ""
    title: str = ""
    direction: str = ""
    variant: str = ""
    fields: tuple[ExplainedField, ...] = ()
    #: key of the record -> value, and its origin: ``argument N``, ``fixed``, or the id of the rule that
    #: derived it; empty if the line gives no instance
    record: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    #: id -> sentence of the rules that ``record`` names as origins, in the order of their use
    rules: Mapping[str, str] = field(default_factory=dict)
    #: rule that drops the line, and its sentence; empty if none does
    rule: str = ""
    reason: str = ""
    #: (one-based column, message)
    errors: tuple[tuple[int, str], ...] = ()
    #: assumption that was made
    note: str = ""
    #: what the line says and the record cannot; empty if there is nothing
    lossy: str = ""
    #: the instance that it gives alone; ``None`` if it gives none
    conversion: Conversion | None = None
    #: where it stands; ``None`` for a line without a file
    path: Path | None = None
    line: int | None = None
    #: what is wrong with the line in its list only
    list_error: str = ""
