"""``ckprof sweep``: many kernels on many problems, in rounds, into a store."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.instances import add_instance_options, chosen_query
from ckprof.cli.problem_options import add_problem_options, given_problems
from ckprof.cli.run_options import add_timing_options, chosen_run_options, chosen_splits
from ckprof.cli.sweep_messages import card_lines, summary_lines
from ckprof.errors import ExitCode, UsageError
from ckprof.rounds.options import RoundOptions
from ckprof.sweep.defaults import round_run_options

if TYPE_CHECKING:
    import argparse

    from ckprof.api.requests import SweepOptions
    from ckprof.api.running import RunRequest
    from ckprof.api.sweeping import SweepResult
    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof sweep fwd --conf legacy.conf --problem-set resnet50 --batch 4 --store results.db
  ckprof sweep fwd --conf legacy.conf --problems layers.txt --store results.db --max-time 2h
  ckprof sweep fwd --conf legacy.conf --problem-set vgg16 --store results.db --dry-run
  ckprof sweep fwd --rule-set tiny --problems layers.txt --store results.db --tag nightly
  ckprof sweep fwd --conf legacy.conf --problems layers.txt --store shards/      # for 'ckprof results merge'
  ckprof sweep fwd --conf legacy.conf --problems layers.txt --store results.db --devices 0,1
  ckprof sweep fwd --conf legacy.conf --problems layers.txt --store results.db --cluster cluster.toml

The same command goes on where it was stopped, by Ctrl-C, kill -9 or a power cut: every finished outcome is in
the store before the next kernel is run. Kernels run in rounds, each in a fresh random order; what is surely
slower than the best leaves the rounds, which end when the order of the leaders is settled.

Exit code 0 when nothing failed, 1 when a kernel failed, 3 when the store cannot be used, 129, 130 or 143 when
the sweep was stopped by SIGHUP, Ctrl-C or SIGTERM.
"""

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?")


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof sweep``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser, session)
    add_instance_options(parser, session)
    add_problem_options(parser)
    group = parser.add_argument_group("sweep")
    group.add_argument(
        "--store",
        required=True,
        metavar="PATH",
        help="the result store, made if it does not exist; a folder (or a name that ends in /) takes shards, "
        "for machines that share no local disk",
    )
    group.add_argument(
        "--dry-run", action="store_true", help="print what is left to do and how long it takes"
    )
    group.add_argument(
        "--fresh", action="store_true", help="measure again; adds to the store, deletes nothing"
    )
    group.add_argument("--retry-failed", action="store_true", help="try again what failed")
    group.add_argument(
        "--max-time", type=parse_duration, metavar="TIME", help="end after this time, e.g. 90s, 30m or 2h"
    )
    group.add_argument("--wait", action="store_true", help="wait while another process writes the store")
    group.add_argument(
        "--tag", action="append", default=[], metavar="NAME", help="name this session, to find it again"
    )
    _add_engine_options(parser)
    _add_round_options(parser)
    shared_options.add_build_options(parser, session)
    add_timing_options(
        parser, session, round_run_options(session.settings.timeout), time_option="--round-time"
    )


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("several devices and machines")
    group.add_argument(
        "--devices",
        type=parse_devices,
        default=(),
        metavar="I,J,...",
        help="indices of the devices of this machine that measure at once, each problem on one of them",
    )
    group.add_argument(
        "--engine",
        metavar="NAME",
        help="what hands problems to workers: local (default with --devices), or one that a plugin adds",
    )
    group.add_argument(
        "--cluster", type=Path, metavar="FILE", help="settings of the engine: machines, pools, folders"
    )


def _add_round_options(parser: argparse.ArgumentParser) -> None:
    default = RoundOptions()
    group = parser.add_argument_group("rounds")
    for option, value, text in (
        ("--keep-within", default.keep_within, "kernels that are surely slower than the best by more leave"),
        ("--tie", default.tie, "kernels within this share of the best are tied with it"),
    ):
        group.add_argument(
            option, type=parse_share, default=value, metavar="SHARE", help=f"{text} (default: {value:.0%}%)"
        )
    for option, number, text in (
        ("--min-rounds", default.min_rounds, "rounds that the leaders get at least"),
        ("--max-rounds", default.max_rounds, "rounds that they get at most"),
        ("--order-seed", default.seed, "seed of the order within rounds"),
    ):
        group.add_argument(option, type=int, default=number, metavar="N", help=f"{text} (default: {number})")
    group.add_argument(
        "--exhaustive", action="store_true", help="every kernel runs in all --max-rounds rounds"
    )


def parse_devices(text: str) -> tuple[int, ...]:
    """Return the numbers of ``0,1`` or ``0-3``.

    :raises UsageError: they are no such numbers.
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UsageError(f"--devices: expected numbers such as 0,1 or 0-3, got {text!r}")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def parse_duration(text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``30m``, ``2h`` or ``1h30m``.

    :raises UsageError: it is none of these.
    """
    found = _DURATION.fullmatch(text.strip())
    if not text.strip() or found is None:
        raise UsageError(f"expected a time such as 90s, 30m or 2h, got {text!r}")
    hours, minutes, seconds = (float(part) if part else 0.0 for part in found.groups())
    return 3600 * hours + 60 * minutes + seconds


def parse_share(text: str) -> float:
    """Return the share of ``0.25`` or ``25%``.

    :raises UsageError: it is neither.
    """
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise UsageError(f"expected a share such as 0.25 or 25%, got {text!r}") from None


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option, the store or the toolchain is wrong.
    """
    request = _plan(arguments, session)
    options = replace(sweep_options(arguments), should_stop=lambda: _stops(session))
    if arguments.dry_run:
        from ckprof.sweep.plan import describe

        plan = session.profiler.plan_sweep(request, options)
        for line in [*describe(plan), *session.profiler.describe_engine(request, options, plan)]:
            session.console.result(line)
        return ExitCode.OK
    return report(session.profiler.execute_sweep(request, options), session)


def _stops(session: Session) -> bool:
    """Say whether a stop was requested; the first call is that of a sweep that has begun."""
    session.signals.begin(session.console.info)
    return session.signals.requested


def _plan(arguments: argparse.Namespace, session: Session) -> RunRequest:
    return session.profiler.plan(
        chosen_query(arguments, session, [arguments.direction]),
        given_problems(arguments),
        files=arguments.problems,
        build=shared_options.chosen_build_options(arguments),
        run=chosen_run_options(arguments, session),
        splits=chosen_splits(arguments),
        strict_layout=arguments.strict_layout,
    )


def sweep_options(arguments: argparse.Namespace) -> SweepOptions:
    """Return what the options say.

    :raises UsageError: a value is out of range.
    """
    from ckprof.api.requests import SweepOptions

    return SweepOptions(
        store=arguments.store,
        rounds=RoundOptions(
            keep_within=arguments.keep_within,
            tie=arguments.tie,
            min_rounds=min(arguments.min_rounds, arguments.max_rounds),
            max_rounds=arguments.max_rounds,
            seed=arguments.order_seed,
            exhaustive=arguments.exhaustive,
        ),
        tags=tuple(arguments.tag),
        fresh=arguments.fresh,
        retry_failed=arguments.retry_failed,
        max_time_s=arguments.max_time,
        wait=arguments.wait,
        engine=arguments.engine,
        devices=arguments.devices,
        cluster=arguments.cluster,
    )


def report(result: SweepResult, session: Session) -> ExitCode:
    """Print the summary and return the exit code."""
    summary = result.summary
    if summary is None:
        return ExitCode.OK
    session.console.clear_bar()
    if not result.plan.open_contests and summary.attempts == 0:
        session.console.result(f"nothing is left to do: {result.path} has all {result.plan.cells} outcomes")
        return ExitCode.OK
    for line in summary_lines(summary, str(result.path)):
        session.console.result(line)
    if result.cluster is not None:
        for line in card_lines(result.cluster):
            session.console.result(line)
    if session.signals.requested:
        return session.signals.exit_code
    failed = any(status.is_failure for status in summary.statuses)
    given_up = result.cluster is not None and bool(result.cluster.given_up)
    return ExitCode.FAILED if failed or given_up else ExitCode.OK
