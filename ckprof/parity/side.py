"""One side of a comparison: instances with their strings, taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckprof.model.parity import Loss, Skipped
    from ckprof.model.strings.kind import ParsedString


_ELF: Final = b"\x7fELF"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One instance of a side."""

    #: the string as it is printed
    text: str
    #: what is compared: the string that the other side is expected to have
    parsed: ParsedString
    source: str
    #: equal for copies of the same instance only
    identity: object
    #: content key of the generated instance; empty where nothing is generated
    key: str = ""
    #: the fields of the line that the instance comes from, for telling lines with equal strings apart
    origin: Mapping[str, str] | None = None
    #: what the other side is known to write differently; ``said`` is the string before that
    losses: tuple[Loss, ...] = ()
    said: ParsedString | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """All instances of one route.

    :raises InputError: there is no instance at all: nothing would be compared.
    """

    #: what reports call it
    name: str
    #: files or library that it comes from
    origin: str
    entries: tuple[Entry, ...]
    #: instances that a rule leaves out, with their strings as far as these are known
    skipped: tuple[tuple[ParsedString | None, Skipped], ...] = ()
    #: source of an instance of the other side -> why this side leaves it out
    invalid: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: the strings are those of CK Builder, before anything was converted
    is_builder: bool = False

    def __post_init__(self) -> None:
        if not self.entries and not self.skipped and not self.invalid:
            why = f" ({'; '.join(self.notes)})" if self.notes else ""
            raise InputError(f"no instance string at all on the side of {self.name}{why}", self.origin)

    def without(self, left_out: Mapping[str, Skipped]) -> Side:
        """Return the side with the instances of some sources left out.

        :param left_out: source -> what is said of it.
        """
        entries = tuple(entry for entry in self.entries if entry.source not in left_out)
        skipped = tuple(item for item in self.skipped if item[1].source not in left_out)
        sources = (*(entry.source for entry in self.entries), *(skip.source for _, skip in self.skipped))
        named = tuple((None, left_out[source]) for source in dict.fromkeys(sources) if source in left_out)
        return replace(self, entries=entries, skipped=(*skipped, *named))


def is_library(data: bytes) -> bool:
    """Say whether the content is that of a shared library."""
    return data.startswith(_ELF)


def merge_copies(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries of several files, those with equal identity once."""
    distinct: dict[object, Entry] = {}
    for entry in entries:
        distinct.setdefault(entry.identity, entry)
    return tuple(distinct.values())
