"""What a converter is asked and what it answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from ckprof.model.catalog import Catalog
    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout

#: K extents of the MMA tiles of the half types, (for 32-wide, for all others), unless others are asked for
MMA_K_TABLE: Final = (16, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReading:
    """How lists are read."""

    #: layout of lists whose lines and file names do not say it
    layout: Layout | None = None
    #: data type of lists whose lines and file names do not say it
    dtype: DataType | None = None
    #: K extents of the MMA tiles of the half types, (for 32-wide, for all others)
    mma_k_table: tuple[int, int] = MMA_K_TABLE
    #: leave wrong lines out instead of failing
    lenient: bool = False
    #: lose a line with a comment mark anywhere in it, as upstream's converter does
    upstream_comments: bool = False

    def request(
        self,
        path: Path,
        data: bytes,
        direction: str | None = None,
        stream: Callable[[], BinaryIO] | None = None,
    ) -> ConversionRequest:
        """Return the request to convert some content this way; the parameters are fields of it."""
        how: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(ListReading)}
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
class DroppedLine:
    """A line that gave no instance, and why."""

    #: one-based line
    line: int
    #: stable id of the reason, e.g. ``comment``, ``duplicate``, ``irregular-vector``
    rule: str
    #: a sentence with the numbers
    reason: str


@dataclass(frozen=True, slots=True)
class LossyLine:
    """A line that says something for which catalogs have no field: its kernel does without it."""

    #: one-based line
    line: int
    #: the arguments, by name
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The answer of a converter: catalogs and an account of every line."""

    path: Path
    #: id of the converter that gave the answer
    converter: str
    catalogs: tuple[Catalog, ...]
    #: lines of the file, each of which is an instance, stands in ``dropped`` or is counted in ``unlisted``
    lines: int
    dropped: tuple[DroppedLine, ...] = ()
    #: rule -> dropped lines that are counted only: a converter need not list those of a very long file
    unlisted: Mapping[str, int] = field(default_factory=dict)
    #: (variant, record id) -> one-based source line
    source_lines: Mapping[tuple[str, int], int] = field(default_factory=dict)
    #: lines that became instances, but said more than these can
    lossy: tuple[LossyLine, ...] = ()
    #: assumptions that the converter had to make; the user should hear of them
    notes: tuple[str, ...] = ()

    @property
    def dropped_by_rule(self) -> Counter[str]:
        """How many lines each rule dropped."""
        return Counter(line.rule for line in self.dropped) + Counter(self.unlisted)
