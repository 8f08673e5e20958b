"""Instance lists that are derived from an installed library, and how they differ from kept ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.option import option

if TYPE_CHECKING:
    from ckprof.errors import CkprofError


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorOption:
    """An option that one extractor understands."""

    #: as users type it, without dashes, e.g. ``order``
    name: str
    help: str
    #: accepted values; empty for a number of at least 1, and for a switch
    choices: tuple[str, ...] = ()
    #: the value without the option; ``False`` makes it a switch
    default: str | int | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest:
    """Which lists are wanted from which library."""

    #: in any form that the extractor knows; ``None`` searches the usual places
    source: Path | None = field(
        default=None,
        metadata=option(
            "include root, install prefix, source tree, archive (.a) or package (.deb) of the library",
            flag="--from",
            metavar="PATH",
        ),
    )
    #: id of the extractor; empty for the first one
    extractor: str = ""
    directions: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "only of this direction (repeatable)",
            flag="--direction",
            metavar="NAME",
        ),
    )
    layouts: tuple[str, ...] = field(
        default=(), metadata=option("only of this layout (repeatable)", flag="--layout", metavar="NAME")
    )
    dtypes: tuple[str, ...] = field(
        default=(), metadata=option("only of this data type (repeatable)", flag="--dtype", metavar="NAME")
    )
    sets: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "only these sets: profiler, tests, typestring (default: those that each direction usually has)",
            flag="--set",
            metavar="NAME[,NAME]",
            parse=lambda text: text.split(","),
            several="store",
        ),
    )
    #: option -> value, where it is not the default
    options: Mapping[str, str | int | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedLine:
    """One line of a list."""

    text: str
    #: the function of the library that has the instance
    function: str
    #: what each field of the text is; empty where that is not known
    field_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFile:
    """One list of one set: what a file holds."""

    #: path below the folder of all lists
    place: str
    set_name: str
    lines: tuple[ExtractedLine, ...]

    def content(self, remarks: Sequence[str] = ()) -> str:
        """Return the text of the file.

        :param remarks: lines in front, without comment marks.
        """
        return "".join(f"{line}\n" for line in (*(f"# {item}" for item in remarks), *self.texts))

    @property
    def texts(self) -> tuple[str, ...]:
        """The lines as text."""
        return tuple(line.text for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFunction:
    """One function of the library."""

    name: str
    #: how its instances are known, or why it has none, e.g. ``compiled`` or ``empty``
    status: str
    tuples: int
    instances: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedList:
    """The instances of one direction, layout and data type."""

    direction: str
    #: ``<layout>_<dtype>``
    name: str
    files: tuple[ExtractedFile, ...]
    functions: tuple[ExtractedFunction, ...]
    #: what summaries show: column -> number
    counts: Mapping[str, int]
    #: reason -> functions that gave no instance
    skipped: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionReport:
    """What was found in a library."""

    #: id of the extractor
    extractor: str
    #: facts about the library that do not change between two runs: version, digests, ...
    library: Mapping[str, str]
    #: option -> value, defaults included
    options: Mapping[str, str | int | bool]
    lists: tuple[ExtractedList, ...]
    #: ``<direction> <name>`` of lists for which the library has no instance
    absent: tuple[str, ...] = ()
    #: ``<direction> <name>`` -> why the list could not be derived
    failures: Mapping[str, CkprofError] = field(default_factory=dict)
    #: what the user should know
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def files(self) -> tuple[ExtractedFile, ...]:
        """The files of all lists."""
        return tuple(file for item in self.lists for file in item.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field in which two lines differ."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedLine:
    """A line that the library does not have, with the added line that it most likely became."""

    text: str
    #: that of no other removed line; empty if nothing of its kind is left
    nearest: str
    changes: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListComparison:
    """How a derived list differs from the kept one."""

    #: path below the folder of all lists
    place: str
    #: lines in both, counted once for each occurrence
    common: int
    #: function -> lines that the kept list lacks
    added: Mapping[str, tuple[str, ...]]
    removed: tuple[RemovedLine, ...]
    #: the same lines, in another order
    reordered: bool
    #: there is no such list in the folder
    missing: bool = False

    @property
    def is_same(self) -> bool:
        """The lists are equal, line for line."""
        return not (self.added or self.removed or self.reordered or self.missing)

    @property
    def added_count(self) -> int:
        """Number of lines that the kept list lacks."""
        return sum(len(lines) for lines in self.added.values())

    @property
    def verdict(self) -> str:
        """A few words."""
        if self.missing:
            return "no such list"
        if self.is_same:
            return "same"
        if self.reordered:
            return "same set, other order"
        return f"{self.added_count} added, {len(self.removed)} removed"
