"""Errors of instance lists that have several positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: diagnostics that are spelled out in the message of a :class:`ListError`
SHOWN: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing that is wrong with an input, and where."""

    path: Path | str
    message: str
    #: one-based; ``None`` if the whole file is meant
    line: int | None = None
    #: one-based, in characters; ``None`` if the whole line is meant
    column: int | None = None

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        return f"{where}: {self.message}"


class ListError(InputError):
    """An instance list is wrong in one or more places.

    The text names each place on a line of its own, at most :data:`SHOWN` of them; ``diagnostics`` holds all.
    ``path``, ``line`` and ``column`` are those of the first one.

    :param diagnostics: what is wrong, in the order of the file; not empty.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        first = self.diagnostics[0]
        super().__init__(first.message, first.path, first.line, first.column)
        lines = [str(diagnostic) for diagnostic in self.diagnostics[:SHOWN]]
        hidden = len(self.diagnostics) - SHOWN
        if hidden > 0:
            lines.append(f"... and {hidden} more")
        self.args = ("\n".join(lines),)
