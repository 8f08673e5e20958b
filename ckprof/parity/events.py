"""What is told while instance strings are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.events import Event

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFrozen(Event):
    """Nothing of a comparison goes into the lock file: every instance is skipped."""

    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingBuilder(Event):
    """CK Builder's reflection is compiled for the factories of a list, unless that was done before."""

    tree: Path
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionNotes(Event):
    """Assumptions that a comparison had to make about a list."""

    path: Path
    notes: tuple[str, ...]
