"""Reading one problem line, in whichever form its operation has."""

from __future__ import annotations

from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ckprof.plugin.protocols import LogReader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.problem_line import ProblemLine, Token
    from ckprof.plugin.protocols import Operation


def parse_problem(line: ProblemLine, operation: Operation, operations: Iterable[Operation]) -> ProblemCase:
    """Parse one line in whatever form the operation reads.

    :param operation: the one that is run.
    :param operations: all of them, to recognise lines of the others.
    :raises InputError: with the position and the expected form.
    :raises OtherOperationError: the line is in order, but for another operation.
    """
    all_operations = tuple(operations)
    word = first_word(line.tokens(), programs_of(all_operations))
    if word is not None and word.text not in operation.line_words:
        for other in all_operations:
            if word.text in other.line_words:
                raise line.other_operation(
                    f"{word.text} is an operation of {other.id}, expected one of "
                    f"{', '.join(operation.line_words)}",
                    word.column,
                )
    return operation.parse_problem(line)


def programs_of(operations: Iterable[Operation]) -> frozenset[str]:
    """Return the names of all programs whose command lines operations read."""
    return frozenset(
        program
        for operation in operations
        if isinstance(operation, LogReader)
        for program in operation.programs
    )


def first_word(tokens: Sequence[Token], programs: Collection[str]) -> Token | None:
    """Return the word that says what a line is for: the one after a program's name, else the first."""
    for program, word in pairwise(tokens):
        if PurePosixPath(program.text).name.removesuffix(".exe") in programs:
            return word
    return tokens[0] if tokens else None
