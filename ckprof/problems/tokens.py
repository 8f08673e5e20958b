"""Words of a problem line with their positions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.dtype import DataType
    from ckprof.model.problem import ConvProblem

_WORD = re.compile(r"\S+")


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

    def integer(self, token: Token, name: str) -> int:
        """Return the token's value.

        :raises InputError: it is no decimal integer.
        """
        try:
            return int(token.text)
        except ValueError:
            raise self.error(f"expected an integer for {name}, got {token.text!r}", token.column) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedProblem:
    """A problem and what its line said besides."""

    problem: ConvProblem
    #: element type, if the line names one
    dtype: DataType | None = None
    #: layout name, if the line names one
    layout: str | None = None
    #: split-K, if the line names one
    split_k: int | None = None
    #: parts of the line that have no meaning here, as written
    ignored: tuple[str, ...] = ()
