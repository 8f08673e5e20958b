"""Instance strings as CK Builder prints them, and the result of comparing them with others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.requirement import UnmetRequirement


class ParityFinding(Enum):
    """What a comparison may find; the values are those of ``--fail-on``."""

    #: only the first side has it
    MISSING = "missing"
    #: only the second side has it
    EXTRA = "extra"
    #: one side has the same instance more than once
    DUPLICATE = "duplicate"
    #: instances of the first side that the second one cannot tell apart or writes differently
    LOSSY = "lossy"
    #: left out by a rule
    SKIPPED = "skipped"


#: what fails a comparison unless the user says otherwise
DEFAULT_FAIL_ON = (ParityFinding.MISSING, ParityFinding.EXTRA, ParityFinding.DUPLICATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDifference:
    """A field in which two strings differ; ``-`` stands for a field that a string does not have."""

    field: str
    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """An instance that is equal to one of the other side, or the most similar one there is."""

    text: str
    source: str
    differences: tuple[FieldDifference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """An instance without a partner."""

    text: str
    #: ``file:line``, or what else tells the reader where it is
    source: str
    #: the most similar string of the other side
    nearest: Match | None = None
    #: what is known about the reason
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """The same instance several times on one side."""

    text: str
    #: name of the side
    side: str
    #: where all copies are, the one that counts included
    sources: tuple[str, ...]

    @property
    def superfluous(self) -> int:
        """Copies beyond the first."""
        return len(self.sources) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Lossy:
    """Instances of the first side that the second one writes differently or as one."""

    #: stable id, e.g. ``collapsed``
    rule: str
    #: a sentence
    reason: str
    #: what the first side says
    text: str
    #: what the second side says instead
    written: str
    sources: tuple[str, ...]
    differences: tuple[FieldDifference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """An instance that a rule leaves out."""

    text: str
    source: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StringComparison:
    """Two sides, compared as multisets of normalised strings."""

    title: str
    #: names of the two sides, e.g. ``CK Builder`` and ``catalog``
    first: str
    second: str
    #: instances of the sides, without skipped ones
    first_count: int
    second_count: int
    #: instances that both sides have
    matches: tuple[Match, ...] = ()
    missing: tuple[Unmatched, ...] = ()
    extra: tuple[Unmatched, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    lossy: tuple[Lossy, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    #: the title with names of files that stay when checkouts move; empty where the title has no files
    title_of_checkout: str = ""

    @property
    def lasting_title(self) -> str:
        """What the comparison is filed under from one call to the next."""
        return self.title_of_checkout or self.title

    @property
    def matched(self) -> int:
        """How many instances both sides have."""
        return len(self.matches)

    @property
    def counts(self) -> Mapping[ParityFinding, int]:
        """How many instances each trouble concerns."""
        return {
            ParityFinding.MISSING: len(self.missing),
            ParityFinding.EXTRA: len(self.extra),
            ParityFinding.DUPLICATE: sum(item.superfluous for item in self.duplicates),
            ParityFinding.LOSSY: len(self.lossy),
            ParityFinding.SKIPPED: len(self.skipped),
        }

    @property
    def compared(self) -> bool:
        """Whether there was anything to compare: not if rules leave everything out."""
        return bool(self.first_count or self.second_count)

    def failed(self, fail_on: tuple[ParityFinding, ...]) -> bool:
        """Say whether there is any of the troubles."""
        return any(self.counts[trouble] for trouble in fail_on)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityReport:
    """Everything that a parity or diff command found out."""

    ckprof_version: str = __version__
    #: name of the CK revision profile
    revision: str
    fail_on: tuple[ParityFinding, ...]
    comparisons: tuple[StringComparison, ...]

    @property
    def passed(self) -> bool:
        """Whether no comparison has a trouble of ``fail_on``."""
        return not any(comparison.failed(self.fail_on) for comparison in self.comparisons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Something that catalogs cannot say, and how the string changes by it."""

    #: stable id, e.g. ``async-v4``
    rule: str
    #: a sentence
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderString:
    """One instance of CK Builder."""

    #: what it prints; the line itself where that is not known
    text: str
    #: one-based line of the list or log
    line: int
    #: what is left of the text in the catalog, where that is known to change it, else the same text;
    #: empty for an instance that is left out and whose text is not known
    expected: str
    losses: tuple[Loss, ...] = ()
    #: the line's fields as they stand there, by name: what two lines with equal strings may differ in;
    #: ``None`` where the line is CK Builder's own text
    origin: Mapping[str, str] | None = None
    #: the line does not print every parameter of its instance: equal lines need not be the same instance
    abridged: bool = False
    #: why the generator omits the instance
    skipped: UnmetRequirement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderList:
    """All instances of a list or a log."""

    path: Path
    strings: tuple[BuilderString, ...]
    #: what the user should hear of, e.g. a last line that is cut off
    notes: tuple[str, ...] = ()
    #: lines that are instance strings, as they stand there
    printed: tuple[str, ...] = ()


#: what CK Builder printed: path below the folder of all lists -> its strings, one to a line; what lines begin
#: with that it has no string for, e.g. the class of their instances; what the user should know
PrintedLists: TypeAlias = tuple["Mapping[str, str]", frozenset[str], tuple[str, ...]]
