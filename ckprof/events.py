"""What is told while a command works; none of it changes a result.

Each door has its own events in ``events.py``: lists and builds, runs, sweeps, searches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable


class Event:
    """Something has happened; its subclasses say what."""

    __slots__ = ()


class StatusLine(Event):
    """How far a command is, as one line that replaces the one before."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The line."""
        raise NotImplementedError


Listener: TypeAlias = "Callable[[Event], None]"
