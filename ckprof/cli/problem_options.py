"""The options that say which problems are run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.problems.read import parse_problem, read_problem_file
from ckprof.problems.tokens import ProblemLine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.flow.candidates import Candidate
    from ckprof.model.problem import ConvProblem
    from ckprof.plugin.protocols import Direction
    from ckprof.problems.tokens import ParsedProblem


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("problems")
    group.add_argument(
        "--problem",
        action="append",
        default=[],
        metavar="LINE",
        help="a MIOpenDriver conv line or ckProfiler's arguments (repeatable; default: a modest 3x3, or what "
        "the kernel family needs)",
    )
    group.add_argument(
        "--problems",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a file with one problem a line",
    )


def parsed_problems(
    arguments: argparse.Namespace, session: Session, direction: Direction
) -> list[ParsedProblem]:
    """Return the problems of ``--problem`` and ``--problems``.

    :raises InputError: a line is wrong, or asks for another direction.
    """
    directions = tuple(session.registry.directions)
    parsed = [
        parse_problem(ProblemLine(text=text, path="--problem"), direction, directions)
        for text in arguments.problem
    ]
    for path in arguments.problems:
        parsed += read_problem_file(path, direction, directions)
    return parsed


def problems_for(
    parsed: Sequence[ParsedProblem], session: Session, direction: Direction, candidates: Sequence[Candidate]
) -> list[ConvProblem]:
    """Return the problems asked for, or those that the instances are run on without any.

    :raises InputError: a line names a type or a layout that no instance has.
    """
    if not parsed:
        problems = default_problems(direction, candidates)
        for problem in problems:
            session.console.info(f"no --problem given: using {problem.describe()}")
        return problems
    for one in parsed:
        misfit = misfit_of(one, candidates)
        if misfit:
            raise InputError(misfit)
        if one.ignored:
            session.console.info(f"not used of the problem line: {', '.join(one.ignored)}")
    return [one.problem for one in parsed]


def default_problems(direction: Direction, candidates: Sequence[Candidate]) -> list[ConvProblem]:
    """Return, without repetitions, what each instance's family runs it on when no problem is given."""
    usual = direction.default_problem
    ordered = sorted(candidates, key=lambda candidate: candidate.instance.ndim)
    return list(
        dict.fromkeys(
            candidate.pipeline.default_problem(candidate.instance, usual[candidate.instance.ndim])
            for candidate in ordered
        )
    )


def misfit_of(parsed: ParsedProblem, candidates: Sequence[Candidate]) -> str:
    """Say how a problem line contradicts a list's types or layouts; empty if it does not."""
    dtypes = {candidate.instance.dtype for candidate in candidates}
    if parsed.dtype is not None and parsed.dtype not in dtypes:
        have = ", ".join(sorted(dtype.value for dtype in dtypes))
        return f"the problem line says {parsed.dtype.value}, the list has {have} instances"
    layouts = {candidate.instance.layout.name for candidate in candidates}
    if parsed.layout is not None and parsed.layout not in layouts:
        return f"the problem line says {parsed.layout}, the list has {', '.join(sorted(layouts))} instances"
    return ""
