"""The sentence about a name that does not exist, the same for everything that users name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def unknown_name(kind: str, name: str, known: Iterable[str], none: str = "none") -> str:
    """Return ``unknown KIND 'NAME'``, the nearest known name if one is near, and all known names.

    :param none: what is said in place of the names when there are none.
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown {kind} {name!r}{hint} (known: {', '.join(names) or none})"
