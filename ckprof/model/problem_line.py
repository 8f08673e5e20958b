"""A problem line and its words with their positions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_WORD = re.compile(r"\S+")

#: longer ones are no size of anything, and Python limits the length of what it converts
_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")


class OtherOperationError(InputError):
    """A line is in order, but not for the operation that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One word."""

    text: str
    #: one-based
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemLine:
    """One line and where it stands; raises errors with positions."""

    text: str
    #: file, or a name such as ``--problem``
    path: Path | str
    #: one-based; ``None`` for a line that stands in no file
    line: int | None = None

    def tokens(self) -> list[Token]:
        """Return the words of the line."""
        return [Token(text=m.group(), column=m.start() + 1) for m in _WORD.finditer(self.text)]

    def error(self, message: str, column: int | None = None) -> InputError:
        """Return an error that points at a column of this line."""
        if self.line is None and column is not None:
            # without a file there is no line number, and "path:column" would read like a line
            return InputError(f"{message} (column {column} of {self.text.strip()!r})", self.path)
        return InputError(message, self.path, self.line, column)

    def other_operation(self, message: str, column: int | None = None) -> OtherOperationError:
        """Return the error of a line that is for another operation."""
        error = self.error(message, column)
        return OtherOperationError(error.message, error.path, error.line, error.column)

    def integer(self, token: Token, name: str) -> int:
        """Return the token's value.

        :raises InputError: it is not a decimal integer of ASCII digits.
        """
        if _INTEGER.fullmatch(token.text) is None:
            raise self.error(f"expected an integer for {name}, got {token.text!r}", token.column)
        return int(token.text)
