"""Words of a problem line with their positions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.dtype import DataType
    from ckprof.model.problem import Problem

_WORD = re.compile(r"\S+")

#: longer ones are no size of anything, and Python limits the length of what it converts
_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")

#: number of splits that lets the kernel choose, as the interface of kernel libraries spells it
AUTO: Final = -1


class OtherDirectionError(InputError):
    """A line is in order, but not for the direction that was asked for."""


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

    def other_direction(self, message: str, column: int | None = None) -> OtherDirectionError:
        """Return the error of a line that is for another direction."""
        error = self.error(message, column)
        return OtherDirectionError(error.message, error.path, error.line, error.column)

    def integer(self, token: Token, name: str) -> int:
        """Return the token's value.

        :raises InputError: it is not a decimal integer of ASCII digits.
        """
        if _INTEGER.fullmatch(token.text) is None:
            raise self.error(f"expected an integer for {name}, got {token.text!r}", token.column)
        return int(token.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedProblem:
    """A problem and what its line said besides."""

    problem: Problem
    #: element type, if the line names one
    dtype: DataType | None = None
    #: layout name, if the line names one
    layout: str | None = None
    #: type that the program behind the line would take without being told, if the line names none
    usual_dtype: DataType | None = None
    #: numbers of splits of the reduction, if the line names any; :data:`AUTO` lets the kernel choose
    splits: tuple[int, ...] = ()
    #: how often the problem occurs, if its source counts: its weight in a real model
    count: int = 1
    #: parts of the line that have no meaning here, as written
    ignored: tuple[str, ...] = ()
    #: what else readers of the line should know
    notes: tuple[str, ...] = ()

    @property
    def split_k(self) -> int | None:
        """The first number of splits; ``None`` if the line names none."""
        return self.splits[0] if self.splits else None
