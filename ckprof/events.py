"""What a command reports while it works; none of it changes a result.

Most of it is text for the user: a :class:`Message`, or a :class:`Progress`. What programs can use are
events of their own, next to what emits them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable


class Event:
    """Something has happened; its subclasses say what."""

    __slots__ = ()


class Level(Enum):
    """Who is shown a message."""

    #: only who asks for more (``-v``)
    DETAIL = "detail"
    #: everybody but with ``-q``
    INFO = "info"
    #: everybody
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Message(Event):
    """A sentence for the user."""

    text: str
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Event):
    """How far a long step is; the first one of a step has done nothing yet."""

    #: the step, in a word or two
    what: str
    done: int
    total: int
    #: what was done last
    name: str = ""
    #: seconds that are left at most; ``None`` if that is not known
    eta_s: float | None = None
    #: of the first one: the next line about the step is worth it; otherwise it may be over before
    at_once: bool = False


class ProgressEnded(Event):
    """A step with progress is over, also where an error ended it."""

    __slots__ = ()


class StatusLine(Event):
    """How far a command is, as one line that replaces the one before."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The line."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Stands behind the text, shortened where there is no room."""
        return ""


Listener: TypeAlias = "Callable[[Event], None]"
