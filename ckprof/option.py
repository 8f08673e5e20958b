"""What a field of a dataclass says about the option that sets it: declared once, for everybody who asks.

The command line, its help and the page of all options are made from such fields, see
:mod:`ckprof.cli.fields`; Python programs use the dataclass itself.
"""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from ckprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from dataclasses import Field

Kind = TypeVar("Kind", bound=Enum)
#: members of an enumeration, some of which may count from a share on only
Limits: TypeAlias = "Mapping[Kind, float] | tuple[Kind, ...]"
T = TypeVar("T")

_KEY: Final = "option"
_DURATION: Final = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?")
#: of the largest number of a list of numbers; nothing that is counted comes near
_DIGITS: Final = 6
#: value of a member, and a number of percent
_LIMIT: Final = re.compile(r"([^=]+)(?:=(\d+(?:\.\d+)?)%)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """How users set a field."""

    #: what help says; a name of many in braces, such as ``{baselines}``, or of a kind that plugins
    #: provide, such as ``{strategy}``, stands for these
    help: str
    #: how it is typed, if not ``--`` and the name of the field; without dashes, it is a positional argument
    flag: str = ""
    #: stands for the value in help
    metavar: str | None = None
    #: reads one text; raises ``ValueError``, or ``UsageError`` with a message of its own
    parse: Callable[[str], Any] | None = None
    #: what ``parse`` reads, as help shows it
    show: Callable[[Any], str] | None = None
    #: what else cannot be typed
    choices: tuple[str, ...] = ()
    #: fields with several values: each use adds one; adds all that its text names; or replaces the others
    several: Literal["append", "extend", "store"] = "append"

    @property
    def is_positional(self) -> bool:
        """True for what is typed without a name."""
        return bool(self.flag) and not self.flag.startswith("-")

    def spelling(self, field: Field[Any]) -> str:
        """Return how the option of a field is typed."""
        return self.flag or f"--{field.name.replace('_', '-')}"

    def shown(self, value: object) -> str:
        """Return a value as help shows it; empty for one that says nothing."""
        if value is None or value is False or value is True or value in ("", (), frozenset()):
            return ""
        if self.show is not None:
            return self.show(value)
        if isinstance(value, Enum):
            return str(value.value)
        return f"{value:g}" if isinstance(value, float) else str(value)


def option(help: str, **declared: Any) -> Mapping[str, Option]:
    """Return the metadata of a field that users can set; the parameters are fields of :class:`Option`."""
    return {_KEY: Option(help=help, **declared)}


def settable(default: T, help: str, **declared: Any) -> T:
    """Return a field that users can set and that has a default; see :func:`option`."""
    return field(default=default, metadata=option(help, **declared))


def same_option(owner: type, name: str) -> Mapping[str, Option]:
    """Return the metadata of a field that is set by the option of another dataclass's field."""
    return {_KEY: next(option for field, option in options_of(owner) if field.name == name)}


def options_of(owner: type) -> Iterator[tuple[Field[Any], Option]]:
    """Yield the fields of a dataclass that users can set, in their order."""
    for one in fields(owner):
        if _KEY in one.metadata:
            yield one, one.metadata[_KEY]


def positive(text: str) -> int:
    """Read a positive integer."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def above_zero(text: str) -> float:
    """Read a number that is more than 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def command(text: str) -> tuple[str, ...]:
    """Read a command as a shell would.

    :raises UsageError: a quotation mark is missing, or there is no such command.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as exc:
        raise UsageError(f"{text!r} cannot be read as a command: {exc}") from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"there is no command {words[0] if words else text!r}")
    return words


def device_choice(text: str) -> int | str:
    """Read the index of a device, or the name of one that a target brings along."""
    return int(text) if text.lstrip("-").isdecimal() else text


# the command line says "expected" and this name
positive.__name__ = "a positive integer"
above_zero.__name__ = "a number above 0"


def duration(text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``30m``, ``2h`` or ``1h30m``.

    :raises UsageError: it is none of these.
    """
    match = _DURATION.fullmatch(text.strip())
    if not text.strip() or match is None:
        raise UsageError(f"expected a time such as 90s, 30m or 2h, got {text!r}")
    hours, minutes, rest = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + rest


def time_above_zero(text: str) -> float:
    """Read a :func:`duration` that is more than 0."""
    return above_zero(str(duration(text)))


time_above_zero.__name__ = "a time above 0"


def share(text: str) -> float:
    """Return the share of ``0.25``, ``25%`` or ``25 %``.

    :raises UsageError: it is neither.
    """
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise UsageError(f"expected a share such as 0.25 or 25%, got {text!r}") from None


def percent(value: float) -> str:
    """Return a share as it is typed, and as help shows it: ``25%``."""
    return f"{in_percent(value)}%"


def percentage(text: str) -> float:
    """Return the share of a number of percent, such as ``2.5`` or ``2.5%``.

    :raises UsageError: it is not between 0 and 100.
    """
    value = float(text.removesuffix("%"))
    if not 0 < value < 100:
        raise UsageError(f"expected more than 0 and less than 100 percent, got {text}")
    return value / 100


percentage.__name__ = "a number of percent"


def in_percent(value: float) -> str:
    """Return a share as :func:`percentage` reads it."""
    return f"{100 * value:g}"


def limits(kind: type[Kind], text: str, graded: tuple[Kind, ...] = ()) -> dict[Kind, float]:
    """Return the members of an enumeration that a text names: ``NAME`` or ``NAME=N%``, separated by commas.

    :param graded: those that a percentage may follow.
    :returns: member -> share from which on it counts, 0 without a percentage; nothing for ``none``.
    :raises UsageError: it names none, or something else.
    """
    found = [_LIMIT.fullmatch(word.strip()) for word in text.split(",") if word.strip()]
    least = {match[1]: match[2] for match in found if match}
    if [*least] == ["none"]:
        return {}
    possible = {member.value for member in kind if member in graded or not least.get(member.value)}
    if not found or None in found or not least.keys() <= possible:
        names = (f"{member.value}[=N%]" if member in graded else member.value for member in kind)
        raise UsageError(f"expected {', '.join(names)} or none, got {text!r}")
    return {member: float(least[member.value] or 0) / 100 for member in kind if member.value in least}


def least_of(chosen: Limits[Kind], member: Kind) -> float:
    """Return the share from which on a member counts."""
    return 0.0 if isinstance(chosen, tuple) else chosen.get(member, 0.0)


def limits_text(chosen: Limits[Kind]) -> list[str]:
    """Return members as :func:`limits` reads them."""
    shares = ((member.value, least_of(chosen, member)) for member in chosen)
    return [f"{name}={percent(least)}" if least else name for name, least in shares]


def members(kind: type[Kind], text: str) -> tuple[Kind, ...]:
    """Return the members of an enumeration that a text names by their values, separated by commas.

    :returns: each once, in the order of the enumeration; nothing for ``none``.
    :raises UsageError: it names none, or something else.
    """
    return tuple(limits(kind, text))


def numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of ``3,7-9``.

    :raises UsageError: they are none.
    """
    result: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last if dash else first)
        if not all(end.isascii() and end.isdecimal() and len(end) <= _DIGITS for end in ends):
            raise UsageError(f"expected a non-negative integer, or several such as 3,7-9, got {text!r}")
        low, high = map(int, ends)
        if high < low:
            raise UsageError(f"the range {part} is empty: it ends before it begins")
        result += range(low, high + 1)
    return tuple(result)
