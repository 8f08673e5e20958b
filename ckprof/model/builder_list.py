"""What a list or a log means to CK Builder: the instance strings that it prints, before anything is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.requirement import UnmetRequirement


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
    #: why the generator leaves the instance out
    skipped: UnmetRequirement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderList:
    """All instances of a list or a log."""

    path: Path
    #: id of the reader
    reader: str
    strings: tuple[BuilderString, ...]
    #: what the user should hear of, e.g. a last line that is cut off
    notes: tuple[str, ...] = ()
