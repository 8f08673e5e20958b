"""Problem lines, and a problem with what else its source says: a line, a set, a log, a sample, a program."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ckprof.model.kernel import KernelRef
    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType


#: number of splits that lets the kernel choose, as the interface of kernel libraries spells it
AUTO: Final = -1
#: numbers of splits that ckProfiler tries when it is asked for all
ALL_SPLITS: Final = (AUTO, 1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemCase:
    """A problem, where it comes from, and which kernels are run on it."""

    problem: Problem
    #: how often it occurs, at least 1: its weight in a real model
    count: int = 1
    #: name of the layer, or where the problem was first found
    name: str = ""
    #: the network that it is a layer of, with the batch size; empty if the source names none
    network: str = ""
    #: id of the operation; ``None``: the source does not say, or means all that have such problems
    direction: str | None = None
    #: element type, if the source names one: only kernels of it are run
    dtype: DataType | None = None
    #: layout name, if the source names one: only kernels of it are run
    layout: str | None = None
    #: numbers of splits of the reduction, if the source names any; :data:`AUTO` lets the kernel choose
    splits: tuple[int, ...] = ()
    #: type that the program of the line would take without being told, if the line names none
    usual_dtype: DataType | None = None
    #: parts of the line that have no meaning here, as written
    ignored: tuple[str, ...] = ()
    #: what else readers of the line should know
    notes: tuple[str, ...] = ()
    #: why no kernel computes what the source asks for; empty if some may
    unsupported: str = ""
    #: content keys of the only instances that are run on it; ``None`` for all
    instances: frozenset[str] | None = None

    @property
    def split_k(self) -> int | None:
        """The first number of splits; ``None`` if the source names none."""
        return self.splits[0] if self.splits else None

    def takes(self, kernel: KernelRef) -> bool:
        """Say whether a kernel is run on the problem; whether it supports it is another question."""
        return (
            (self.dtype is None or kernel.dtype is self.dtype)
            and (self.layout is None or kernel.layout == self.layout)
            and (self.instances is None or kernel.key in self.instances)
        )


@runtime_checkable
class NotedProblem(Protocol):
    """A problem that programs hold together with what its source says besides."""

    @property
    def case(self) -> ProblemCase:
        """The sizes alone, and what else there is."""


def as_case(problem: Problem | NotedProblem | ProblemCase) -> ProblemCase:
    """Return a problem that all instances are run on, unless it says itself which."""
    if isinstance(problem, ProblemCase):
        return problem
    return problem.case if isinstance(problem, NotedProblem) else ProblemCase(problem=problem)


def plain(problem: Problem | NotedProblem) -> Problem:
    """Return the sizes of a problem alone, so that equal ones compare equal."""
    return as_case(problem).problem


def merged(cases: Iterable[ProblemCase]) -> list[ProblemCase]:
    """Return the cases without duplicates, in the order of their first occurrence, with summed counts.

    Two are duplicates when they agree in problem, network, operation, type, layout, splits and what is not
    supported.
    """
    distinct: dict[tuple[object, ...], ProblemCase] = {}
    for case in cases:
        kind = (case.problem, case.network, case.direction, case.dtype, case.layout)
        key = (*kind, case.splits, case.unsupported)
        first = distinct.get(key)
        distinct[key] = case if first is None else replace(first, count=first.count + case.count)
    return list(distinct.values())


_WORD = re.compile(r"\S+")

#: what makes a line an item of a list: a mark of Markdown or YAML, quotes, a comma
_LIST_MARKS = re.compile(r"^\s*(?:[-*] +|[0-9]+[.)] +)?[\"'`]?|(?:[\"'`] *,?|,)(?=\s*(?:#.*)?$)")

#: longer ones are no size of anything, and Python limits the length of what it converts
_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")


class OtherOperationError(InputError):
    """A line is in order, but not for the operation that was asked for."""


class Token(NamedTuple):
    """One word."""

    text: str
    #: one-based
    column: int


@lru_cache(maxsize=16)
def _tokens(text: str) -> tuple[Token, ...]:
    """Return the words of a line, which each operation asks for that may read it."""
    if "#" in text or not (text[:1].isalpha() and text[-1:].isalnum()):
        text = _LIST_MARKS.sub(lambda found: " " * len(found[0]), text)
    words = [*map(Token, text.split(), [m.start() + 1 for m in _WORD.finditer(text)])]
    end = next((n for n, word in enumerate(words) if word.text[0] == "#"), None) if "#" in text else None
    return tuple(words[:end])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemLine:
    """One line and where it stands; raises errors with positions."""

    text: str
    #: file, or a name such as ``--problem``
    path: Path | str
    #: one-based; ``None`` for a line that stands in no file
    line: int | None = None

    def tokens(self) -> list[Token]:
        """Return the words of the line in front of a comment."""
        return [*_tokens(self.text)]

    def error(
        self, message: str, column: int | None = None, kind: type[InputError] = InputError
    ) -> InputError:
        """Return an error that points at a column of this line."""
        if self.line is None and column is not None:
            # without a file there is no line number, and "path:column" would read like a line
            return kind(f"{message} (column {column} of {self.text.strip()!r})", self.path)
        return kind(message, self.path, self.line, column)

    @contextmanager
    def at(self, column: int | None = None) -> Iterator[None]:
        """Let errors of inputs point at this line, or at a column of it."""
        try:
            yield
        except InputError as exc:
            raise self.error(exc.message, column) from None

    def other_operation(self, message: str, column: int | None = None) -> InputError:
        """Return the error of a line that is for another operation."""
        return self.error(message, column, OtherOperationError)

    def integer(self, token: Token, name: str) -> int:
        """Return the token's value.

        :raises InputError: it is not a decimal integer of ASCII digits.
        """
        if _INTEGER.fullmatch(token.text) is None:
            raise self.error(f"expected an integer for {name}, got {token.text!r}", token.column)
        return int(token.text)
