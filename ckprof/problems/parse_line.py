"""Reading one problem line, in whichever form it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.problems.miopen import looks_like_miopen, parse_miopen
from ckprof.problems.positional import parse_positional

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.plugin.protocols import Direction
    from ckprof.problems.tokens import ParsedProblem, ProblemLine


def parse_problem(line: ProblemLine, direction: Direction, directions: Iterable[Direction]) -> ParsedProblem:
    """Parse one line in either form.

    :raises InputError: with the position and the expected form.
    :raises OtherDirectionError: the line is in order, but for another direction.
    """
    tokens = line.tokens()
    if not tokens:
        raise line.error("the problem is empty; expected a MIOpenDriver conv line or ckProfiler's arguments")
    if looks_like_miopen(tokens):
        return parse_miopen(line, direction)
    return parse_positional(line, direction, directions)
