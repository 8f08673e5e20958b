"""``ckprof sweep``: many kernels on many problems, in rounds, into a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.run_options import (
    add_problem_options,
    add_run_options,
    chosen_plan,
    chosen_rounds,
    planned_run,
)
from ckprof.errors import ExitCode
from ckprof.formatting import agreeing, counted, duration
from ckprof.measure.rounds import RoundOptions
from ckprof.model.problem import brief
from ckprof.sweep.requests import RoundRunOptions, SweepOptions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.ranking import Resolution
    from ckprof.sweep.sweep import Summary, SweepResult


#: rankings whose best is not decided that a summary names
_MOST_OPEN: Final = 5


def unresolved_lines(found: Sequence[tuple[int, Resolution]], problems: Sequence[ProblemCase]) -> list[str]:
    """Return how many winners are resolved, and what it would take to resolve the others."""
    from ckprof.report.figures import resolution_text

    if not found:
        return []
    unsure = [(index, resolution) for index, resolution in found if not resolution.resolved]
    lines = [f"winner resolved: {len(found) - len(unsure)} of {counted(len(found), 'ranking')} with times"]
    lines += [
        f"unresolved: {_called(problems[index])}: {resolution_text(resolution)}"
        for index, resolution in unsure[:_MOST_OPEN]
    ]
    left = len(unsure) - _MOST_OPEN
    return [*lines, f"unresolved: {left} more, which ckprof report shows"] if left > 0 else lines


def _called(case: ProblemCase) -> str:
    """Return the name of a layer; the sizes of a problem without one."""
    return case.name or brief(case.problem)


def summary_lines(summary: Summary, problems: Sequence[ProblemCase], store: str) -> list[str]:
    """Return what a sweep did, for people.

    :param problems: of the sweep.
    """
    from ckprof.sweep.sweep import Stop

    ends = {
        Stop.DONE: "done",
        Stop.MAX_TIME: "the time is over; rerun the same command to resume",
        Stop.REQUESTED: "stopped; rerun the same command to resume",
    }
    statuses = ", ".join(f"{count} {status.value}" for status, count in summary.statuses.most_common())
    lines = [
        f"{ends[summary.stop]}: {summary.rankings_done} of {counted(summary.rankings, 'ranking')} "
        f"{agreeing(summary.rankings_done, 'is', 'are')} finished",
        f"{counted(summary.attempts, 'attempt')} in {duration(summary.wall_s)}"
        + (f": {statuses}" if statuses else ""),
        f"{counted(summary.passes, 'pass', 'passes')}, {counted(summary.rounds, 'round')}, "
        f"{counted(summary.disturbed, 'disturbed visit')}; {counted(summary.dropped, 'kernel')} pruned",
        *unresolved_lines(summary.resolutions, problems),
        f"stored in {store}",
    ]
    lines += [f"{counted(count, 'warning')} of {kind}" for kind, count in summary.warnings.items()]
    return lines


_EPILOG = """\
examples:
  ckprof sweep fwd --conf legacy.conf --problem-set resnet50 --batch 4 --store results.db
  ckprof sweep fwd --conf legacy.conf --problems layers.txt --store results.db --budget 2h
  ckprof sweep fwd --conf legacy.conf --problem-set vgg16 --store results.db --dry-run
  ckprof sweep fwd --rule-set tiny --problems layers.txt --store results.db --tag nightly
  ckprof sweep fwd --conf legacy.conf --problems layers.txt --store shards/      # for 'ckprof results merge'

Rerun the same command to resume after Ctrl-C, kill -9 or a power cut: every finished outcome is in the store
before the next kernel is run. Each pass is a fresh process that goes once over all problems, and measures the
kernels of each in rounds of random order. Between passes what is significantly slower than the best is
pruned; a problem is finished when its winner is resolved.

Exit codes are those of a run, by what the store has at the end: 0 when nothing failed, 1 when a kernel
failed or no kernel supports a problem, also when nothing was left to do, 3 when the store cannot be used, 5
when the device is lost, or a problem ends worker after worker: rerun the same command to resume. After two
lost devices it excludes the kernel that was in use (exit code 1; --retry-failed tries it again). 129, 130
or 143 when it was stopped by SIGHUP, Ctrl-C or SIGTERM.
"""

#: option of other programs -> what to do
_INSTEAD = {"--resume": "rerun the same command to resume", "-o": "outcomes go to --store"}


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof sweep``."""
    parser.epilog = _EPILOG
    parser.set_defaults(typed_instead=_INSTEAD)
    shared_options.add_instances(parser, optional=True)
    add_problem_options(parser)
    group = parser.add_argument_group("sweep")
    add_fields(group, SweepOptions, "store")
    group.add_argument("--dry-run", action="store_true", help="say what would be done, and stop")
    add_fields(group, SweepOptions, "fresh", "retry_failed", "max_time_s", "wait", "tags")
    add_fields(parser.add_argument_group("rounds"), RoundOptions)
    shared_options.add_build_options(parser)
    add_run_options(parser, _usual(session))


def _usual(session: Session) -> RunOptions:
    return RoundRunOptions(timeout_s=session.settings.timeout)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option, the store or the toolchain is wrong.
    """
    directions = shared_options.chosen_directions(arguments, session)
    rounds = chosen_rounds(arguments)
    plan = chosen_plan(arguments, session, _usual(session))
    request = planned_run(arguments, session, directions, plan)
    choose_runner = getattr(arguments, "sweep_runner", None)
    options = chosen(
        arguments,
        SweepOptions,
        rounds=rounds,
        should_stop=lambda: _stops(session),
        runner=choose_runner(arguments) if choose_runner is not None else None,
    )
    if arguments.dry_run:
        _describe(session, request, options)
        return ExitCode.OK
    return report(session.profiler.execute_sweep(request, options), request.problems, session)


def _describe(session: Session, request: RunRequest, options: SweepOptions) -> None:
    """Print what is left to do."""
    from ckprof.sweep.plan import describe
    from ckprof.sweep.sweep import plan_sweep

    if options.runner is not None:
        lines = options.runner.describe(session.profiler, request, options)
    else:
        lines = describe(plan_sweep(session.profiler, request, options))
    for line in lines:
        session.console.result(line)


def _stops(session: Session) -> bool:
    """Say whether a stop was requested; the first call is that of a sweep that has begun."""
    session.signals.begin(session.console.info)
    return session.signals.requested


def report(result: SweepResult, problems: Sequence[ProblemCase], session: Session) -> ExitCode:
    """Print the summary and return the exit code.

    :param problems: of the sweep.
    """
    from ckprof.sweep.plan import given_up_lines
    from ckprof.sweep.sweep import Stop

    summary, plan = result.summary, result.plan
    if summary is None:
        return ExitCode.OK
    session.console.progress.clear()
    left_out = given_up_lines(plan)
    if plan.open_rankings or summary.attempts:
        lines = [*summary_lines(summary, problems, str(result.path)), *result.details]
    else:
        held = "all" if not left_out else f"{plan.known} of"
        lines = [f"nothing is left to do: {result.path} has {held} {counted(plan.cells, 'outcome')}"]
    # what a run of the same kernels would say, whichever calls have measured them
    served = {problems[index].problem for index, _ in summary.resolutions}
    unserved = ", ".join(_called(case) for case in problems if case.problem not in served)
    failed = [
        *(["kernels failed, see 'ckprof report'"] if summary.failures or plan.has_failures else []),
        *(["kernels are excluded"] if plan.given_up else []),
        # of a sweep that was stopped, nobody knows
        *([f"no kernel has a verified time on {unserved}"] if unserved and summary.stop is Stop.DONE else []),
    ]
    code = ExitCode.FAILED if failed else ExitCode.OK
    if session.signals.requested:
        code = session.signals.exit_code
    elif result.unfinished:
        # as for a device that cannot be used, that is no outcome
        code = ExitCode.TOOLCHAIN
    elif failed:
        left_out.append(f"exit code 1: {'; '.join(failed)}")
    for line in [*lines, *left_out]:
        session.console.result(line)
    return code
