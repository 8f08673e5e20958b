"""The options that say which problems are run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.problem_set_options import add_problem_set_options, problems_of_sets

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Operation
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
        help="a file with one problem a line, or a JSON list of 'ckprof problems'; those that do not fit the "
        "instances are counted by reason",
    )
    group.add_argument(
        "--strict-layout",
        action="store_true",
        help="a line that names another layout than all instances have does not fit (default: its sizes are "
        "used)",
    )
    add_problem_set_options(group)


def given_problems(arguments: argparse.Namespace) -> list[str | Problem]:
    """Return the lines of ``--problem``, and the problems of ``--problem-set``.

    :raises UsageError: a set is unknown, or ``--batch`` is given without one.
    :raises InputError: a set's file is wrong, or the batch size is not positive.
    """
    return [*arguments.problem, *(one.problem for one in problems_of_sets(arguments))]


def parsed_problems(
    arguments: argparse.Namespace, session: Session, direction: Operation
) -> list[ParsedProblem]:
    """Return the problems of ``--problem``, ``--problem-set`` and ``--problems``.

    :raises InputError: a line is wrong, or asks for another direction.
    """
    return session.profiler.problems(direction.id, given_problems(arguments), files=arguments.problems)
