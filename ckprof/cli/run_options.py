"""The options that say which problems are run, and how kernels are run, verified and timed."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.shared_options import chosen_build_options, chosen_query
from ckprof.errors import UsageError
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import RunPlanOptions
from ckprof.option import positive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.measure.requests import RunRequest
    from ckprof.measure.rounds import RoundOptions
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase
    from ckprof.plugin.protocols import Operation


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which problems are meant."""
    group = parser.add_argument_group("problems")
    add_fields(group, RunPlanOptions, "problems", "files", "strict_layout")
    add_problem_set_options(group)


def add_problem_set_options(group: argparse._ArgumentGroup) -> None:
    """Add ``--problem-set`` and ``--batch``."""
    group.add_argument(
        "--problem-set",
        action="append",
        default=[],
        metavar="NAME",
        help="the layers of a network: see 'ckprof problems list' (repeatable), or a file of that form",
    )
    group.add_argument("--batch", type=positive, metavar="N", help="batch size of the sets (default: 1)")


def problems_of_sets(arguments: argparse.Namespace, session: Session) -> list[ProblemCase]:
    """Return the problems of all sets, in their order.

    :raises UsageError: a set is unknown, or a batch size is given without a set.
    :raises InputError: a file is no problem set.
    """
    if not arguments.problem_set:
        if arguments.batch is not None:
            raise UsageError("--batch is the batch size of a problem set: it requires --problem-set")
        return []
    from ckprof.problems.problem_set import find_set

    return [
        problem
        for name in arguments.problem_set
        for problem in find_set(name, session.registry).problems(arguments.batch or 1)
    ]


def given_problems(
    arguments: argparse.Namespace, session: Session
) -> tuple[str | Problem | ProblemCase, ...]:
    """Return the lines of ``--problem``, and the problems of ``--problem-set``.

    :raises UsageError: a set is unknown, or ``--batch`` is given without one.
    :raises InputError: a set's file is wrong.
    """
    return (*(arguments.problem or ()), *problems_of_sets(arguments, session))


def parsed_problems(
    arguments: argparse.Namespace, session: Session, direction: Operation
) -> list[ProblemCase]:
    """Return the problems of ``--problem``, ``--problem-set`` and ``--problems``.

    :raises InputError: a line is wrong, or asks for another direction.
    """
    given = given_problems(arguments, session)
    return session.profiler.problems(direction.id, given, files=arguments.problems or ())


def add_run_options(parser: argparse.ArgumentParser, usual: RunOptions) -> argparse._ArgumentGroup:
    """Add the options that all commands have which run kernels.

    :param usual: what holds without the options.
    :returns: their group.
    """
    group = parser.add_argument_group("run")
    first = ("init", "seed", "reference", "cache", "min_samples", "min_time_s", "max_time_s", "criterion")
    add_fields(group, type(usual), *first, "warmup", defaults=usual)
    add_fields(group, RunPlanOptions, "splits")
    add_fields(
        group, type(usual), "timeout_s", "cpu_threads", "device", "checks", "second_problem", defaults=usual
    )
    return group


def chosen_plan(
    arguments: argparse.Namespace, session: Session, usual: RunOptions, baselines: tuple[str, ...] = ()
) -> RunPlanOptions:
    """Return what is run, and how.

    :param usual: what holds without the options of the run.
    :param baselines: ids of what is measured as well.
    :raises CkprofError: a value is out of range, a problem set is wrong, or the criterion is unknown.
    """
    return chosen(
        arguments,
        RunPlanOptions,
        problems=given_problems(arguments, session),
        run=_chosen_run_options(arguments, usual),
        baselines=baselines,
    )


def planned_run(
    arguments: argparse.Namespace, session: Session, directions: Sequence[str], plan: RunPlanOptions
) -> RunRequest:
    """Choose the instances and problems of a command that runs kernels.

    :param directions: ids or aliases; empty for that of the lists.
    :raises CkprofError: a list, a problem or an option is wrong.
    """
    query = chosen_query(arguments, session, directions)
    said = {field.name: getattr(plan, field.name) for field in fields(plan)}
    said["problems"] = plan.problems or None
    return session.profiler.plan(query, build=chosen_build_options(arguments), **said)


def chosen_rounds(arguments: argparse.Namespace) -> RoundOptions:
    """Return the options of rounds; without --min-rounds, few at most are as many at least.

    :raises UsageError: a value is out of range.
    """
    from ckprof.measure.rounds import RoundOptions

    usual = RoundOptions()
    most = usual.max_rounds if arguments.max_rounds is None else arguments.max_rounds
    if arguments.min_rounds is not None and arguments.min_rounds > most:
        raise UsageError(f"--min-rounds {arguments.min_rounds} is more than --max-rounds {most}")
    return chosen(arguments, RoundOptions, min_rounds=arguments.min_rounds or min(usual.min_rounds, most))


def chosen_baselines(arguments: argparse.Namespace, session: Session) -> tuple[str, ...]:
    """Return the ids of ``--baseline``, each once.

    :raises UsageError: there is no such baseline.
    """
    names = dict.fromkeys(arguments.baseline or ())
    return tuple(session.registry.baselines.find(name).id for name in names)


def _chosen_run_options(arguments: argparse.Namespace, usual: RunOptions) -> RunOptions:
    criterion, _, parameters = (arguments.criterion or usual.criterion).partition(":")
    return chosen(
        arguments,
        type(usual),
        defaults=usual,
        criterion=criterion,
        criterion_parameters=_criterion_parameters(parameters),
    )


def _criterion_parameters(text: str) -> tuple[tuple[str, float], ...]:
    """Parse ``key=value,key=value``."""
    parameters = []
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            parameters.append((name, float(value)))
        except ValueError:
            raise UsageError(f"--criterion: expected KEY=NUMBER, got {part!r}") from None
    return tuple(parameters)
