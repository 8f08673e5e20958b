"""Text from outside, such as names of files and messages of compilers, as text: never as control."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable


#: everything that terminals act upon: C0 and C1 controls but for tab and line feed; what reorders text or is
#: never seen; and what is no character, which no file can hold
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
#: what makes a line a command of a build service, wherever blanks stand in front
_COMMAND: Final = re.compile(r"^(\s*)(::|##\[|##vso\[)", re.MULTILINE)


def plain(text: str) -> str:
    """Return a text with its control characters spelled out, and no line that a build service obeys.

    Line feeds and tabs stay.
    """
    return _COMMAND.sub(r"\1 \\\2", visible(text.replace("\r\n", "\n")))


def visible(text: str) -> str:
    """Return a text with its control characters spelled out. Line feeds and tabs stay."""
    # as JSON has it, too: what is inside its texts keeps its meaning
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def encodable(text: str) -> str:
    """Return a text that has an encoding: bytes of names that are not UTF-8 are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


#: in JSON: a backslash or a pair of surrogates; or one alone, which no other program reads
_ALONE: Final = re.compile(r"\\\\|\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)")


def json_text(values: object, indent: int | None = 2) -> str:
    """Return values as JSON; bytes of names that are not UTF-8 are spelled out as in other texts."""
    text = json.dumps(values, indent=indent)
    return _ALONE.sub(lambda found: f"\\{found[0]}" if found[1] else found[0], text)


def one_line(text: str) -> str:
    """Return a text as :func:`plain` does, in one line."""
    return plain(text.replace("\r\n", "\n").replace("\n", "\\n").replace("\t", "\\t"))


def suggestion(name: str, candidates: Iterable[str]) -> str:
    """Return ``; did you mean 'NAME'?`` with the nearest known name, empty if none is near.

    Case and the dashes of options do not count. A name that begins as this one, of three letters or more, is
    near.
    """
    names = {candidate.lower().lstrip("-"): candidate for candidate in candidates}
    asked = name.lower().lstrip("-")
    longer = [one for one in names if one.startswith(asked) and len(asked) > 2]
    near = [min(longer, key=len)] if longer else difflib.get_close_matches(asked, names, n=1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def unknown_name(kind: str, name: str, candidates: Iterable[str], none: str = "none") -> str:
    """Return ``unknown KIND 'NAME'``, the nearest known name if one is near, and all known names.

    :param none: what is said in place of the names when there are none.
    """
    names = list(candidates)
    return f"unknown {kind} {name!r}{suggestion(name, names)} (known: {', '.join(names) or none})"
