"""What follows any line of a convolution: ``--elementwise-op AddClamp,floor=0,ceiling=6,bias=channel``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.directions._convolution.convolution import Convolution
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem, elementwise_of
from ckprof_plugins.elementwise.combination import Combination

if TYPE_CHECKING:
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.problem_line import ProblemLine

#: asks for an element-wise operation; the word after it says for which
OPTION: Final = "--elementwise-op"


def split_option(line: ProblemLine) -> tuple[ProblemLine, Combination | None]:
    """Return a line without the option, words in their columns, and what the option asks for.

    :raises InputError: it is given twice, has no value, or a wrong one.
    """
    tokens = line.tokens()
    places = [index for index, token in enumerate(tokens) if token.text == OPTION]
    if not places:
        return line, None
    first = tokens[places[0]]
    if len(places) > 1:
        raise line.error(f"{OPTION} is given twice", tokens[places[1]].column)
    if places[0] + 1 == len(tokens):
        raise line.error(f"{OPTION} needs a value, e.g. AddClamp,floor=0,ceiling=6", first.column)
    value = tokens[places[0] + 1]
    try:
        combination = Combination.parse(value.text)
    except InputError as exc:
        raise line.error(exc.message, value.column) from None
    start, end = first.column - 1, value.column - 1 + len(value.text)
    blank = line.text[:start] + " " * (end - start) + line.text[end:]
    return replace(line, text=blank.rstrip()), combination


def with_combination(
    case: ProblemCase, combination: Combination, result: str, line: ProblemLine
) -> ProblemCase:
    """Return a case whose problem asks for an operation besides.

    :param result: which tensor of the convolution is computed.
    :raises InputError: the line itself asks for one already, or the result cannot have its D tensors.
    """
    problem = case.problem
    if not isinstance(problem, Convolution):
        return case
    own = elementwise_of(problem)
    if own is not None:
        raise line.error(f"the line asks for {own.text} already, {OPTION} for {combination.text}")
    try:
        return replace(case, problem=FusedConvProblem.of(problem, combination, result))
    except InputError as exc:
        raise line.error(exc.message) from None


def option_of(problem: Convolution) -> str:
    """Return what :func:`split_option` reads, with a blank in front; empty for a convolution alone."""
    combination = elementwise_of(problem)
    return f" {OPTION} {combination.text}" if combination else ""
