"""The sentence about a name that does not exist, the same for everything that users name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'NAME'?`` with the nearest known name, empty if none is near.

    Case does not count.
    """
    names = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), names, n=1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def unknown_name(kind: str, name: str, known: Iterable[str], none: str = "none") -> str:
    """Return ``unknown KIND 'NAME'``, the nearest known name if one is near, and all known names.

    :param none: what is said in place of the names when there are none.
    """
    names = list(known)
    return f"unknown {kind} {name!r}{suggestion(name, names)} (known: {', '.join(names) or none})"
