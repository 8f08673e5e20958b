"""Reading one problem line, in whichever form it has."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ckprof.plugin.operations import as_direction, directions_among
from ckprof.plugin.protocols import OwnProblems
from ckprof.problems.miopen import looks_like_miopen, parse_miopen
from ckprof.problems.positional import parse_positional

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.plugin.protocols import Operation
    from ckprof.problems.tokens import ParsedProblem, ProblemLine, Token


def parse_problem(line: ProblemLine, operation: Operation, operations: Iterable[Operation]) -> ParsedProblem:
    """Parse one line in whatever form the operation reads.

    :param operation: the one that is run.
    :param operations: all of them, to recognise lines of the others.
    :raises InputError: with the position and the expected form.
    :raises OtherDirectionError: the line is in order, but for another operation.
    """
    tokens = line.tokens()
    known = tuple(operations)
    if isinstance(operation, OwnProblems):
        if tokens and looks_like_miopen(tokens):
            raise line.other_direction(
                f"a MIOpenDriver line is for a convolution, expected one for {operation.id}", tokens[0].column
            )
        _check_owner(line, tokens, operation, known)
        return operation.parse_problem(line)
    if not tokens:
        raise line.error("the problem is empty; expected a MIOpenDriver conv line or ckProfiler's arguments")
    direction = as_direction(operation)
    if looks_like_miopen(tokens):
        return parse_miopen(line, direction)
    _check_owner(line, tokens, operation, known)
    return parse_positional(line, direction, directions_among(known))


def first_word(tokens: Sequence[Token]) -> Token | None:
    """Return the word behind a program's name, with which lines of ckProfiler say what they are for."""
    if tokens and PurePosixPath(tokens[0].text).name.removesuffix(".exe") == "ckProfiler":
        tokens = tokens[1:]
    return tokens[0] if tokens else None


def _check_owner(
    line: ProblemLine, tokens: Sequence[Token], operation: Operation, operations: Iterable[Operation]
) -> None:
    """Refuse a line whose first word is one of another operation's.

    :raises OtherDirectionError: it is.
    """
    word = first_word(tokens)
    if word is None:
        return
    own = words_of(operation)
    for other in operations:
        if word.text in words_of(other) and word.text not in own:
            raise line.other_direction(
                f"{word.text} is an operation of {other.id}, expected one of {', '.join(own)}", word.column
            )


def words_of(operation: Operation) -> tuple[str, ...]:
    """Return the words with which lines ask for an operation."""
    if isinstance(operation, OwnProblems):
        return operation.line_words
    return as_direction(operation).positional_form.operations
