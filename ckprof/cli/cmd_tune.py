"""``ckprof tune``: the best kernels for some problems without measuring them all."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli import shared_options
from ckprof.cli.cmd_sweep import parse_duration, parse_share
from ckprof.cli.instances import add_instance_options, chosen_query
from ckprof.cli.problem_options import add_problem_options
from ckprof.cli.problem_set_options import problems_of_sets
from ckprof.cli.run_options import add_timing_options, chosen_run_options, chosen_splits
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.model.dtype import DataType, spellings
from ckprof.rounds.options import RoundOptions
from ckprof.sweep.defaults import round_run_options
from ckprof.tune.replay_costs import ReplayCosts

if TYPE_CHECKING:
    import argparse

    from ckprof.api.emitting import EmittedList
    from ckprof.api.instances import Selection
    from ckprof.api.requests import InstanceQuery
    from ckprof.api.tune_requests import ReplayOptions, SearchOptions, TuneOptions
    from ckprof.cli.session import Session
    from ckprof.model.problem import Problem
    from ckprof.tune.result import TuneResult

#: read by the BLAS that numpy's wheels have, when it is loaded
_BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"

_EPILOG = """\
examples:
  ckprof tune fwd --conf legacy.conf --problems layers.json --budget 30m --store results.db
  ckprof tune fwd --rule-set full --dtype bf16 --ndim 2 --arch gfx942 --problem-set resnet50 --batch 128 \\
      --budget 30m --kernels 8 --store results.db --emit library.conf
  ckprof tune fwd --dtype bf16 --replay results.db
  ckprof tune fwd --dtype bf16 --replay sweep.csv --learn-from other.csv --strategy random

Kernels are chosen by predicted times that every measurement corrects: always those whose building and
measuring is expected to gain most per second. They are asked whether they support a problem before they are
built, measured in rounds against the best so far, and stored; the same command goes on where it was stopped.
The search ends when no problem is expected to improve by more than --tie, or when the budget is spent.

A problem that occurs several times, in the file or by the count of a JSON list of 'ckprof problems from-log',
weighs as much. --replay searches recorded measurements: nothing is built or run, time is counted.

Exit code 0 when the search ended by itself or by its budget, 3 when the store cannot be used, 129, 130 or 143
when it was stopped by SIGHUP, Ctrl-C or SIGTERM.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof tune``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser, session)
    add_instance_options(parser, session)
    add_problem_options(parser)
    _add_search_options(parser, session)
    _add_store_options(parser, session)
    _add_replay_options(parser)
    shared_options.add_build_options(parser, session)
    add_timing_options(
        parser, session, round_run_options(session.settings.timeout), time_option="--round-time"
    )


def _add_search_options(parser: argparse.ArgumentParser, session: Session) -> None:
    from ckprof.tune.strategies import DEFAULT_STRATEGY, SearchStrategies

    group = parser.add_argument_group("search")
    known = "; ".join(f"{name}: {text}" for name, text in SearchStrategies(session.manager).labels.items())
    group.add_argument(
        "--budget",
        type=parse_duration,
        metavar="TIME",
        help="end after this time, builds included, e.g. 90s, 30m or 2h (default: when little can be gained)",
    )
    group.add_argument(
        "--kernels",
        type=int,
        metavar="N",
        help="keep the best library of at most N kernels (default: as many as it takes to stay within --tie)",
    )
    group.add_argument(
        "--strategy",
        default=DEFAULT_STRATEGY,
        metavar="ID",
        help=f"how kernels are looked for: {known} (default: {DEFAULT_STRATEGY})",
    )
    group.add_argument(
        "--tie",
        type=parse_share,
        default=0.02,
        metavar="SHARE",
        help="improvements below this share are not looked for; kernels within it are tied (default: 2%%)",
    )
    group.add_argument("--model", type=Path, metavar="FILE", help="begin with a model of 'ckprof train'")
    group.add_argument(
        "--learn-from",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a store or table of earlier measurements on the same device, from which a model and its errors "
        "are learned (repeatable)",
    )
    group.add_argument("--force", action="store_true", help="learn from another device all the same")
    group.add_argument(
        "--max-measurements",
        type=int,
        metavar="N",
        help="kernels that are measured at most, over all problems",
    )
    group.add_argument(
        "--search-seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of everything that is drawn (default: 0)",
    )


def _add_store_options(parser: argparse.ArgumentParser, session: Session) -> None:
    default = RoundOptions()
    group = parser.add_argument_group("results")
    group.add_argument(
        "--store",
        metavar="FILE",
        help="the result store, made if it does not exist; what it has is not measured again",
    )
    group.add_argument("--retry-failed", action="store_true", help="try again what failed")
    group.add_argument("--wait", action="store_true", help="wait while another process writes the store")
    group.add_argument(
        "--tag", action="append", default=[], metavar="NAME", help="name this session, to find it again"
    )
    group.add_argument(
        "--emit",
        type=Path,
        metavar="PATH",
        help="write the chosen kernels as a list for --conf; a name that ends in .json takes a catalog",
    )
    group.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")
    group.add_argument(
        "--baseline",
        action="append",
        default=[],
        metavar="NAME",
        help="after the search, measure the best kernels, the library that is kept and this library of "
        "others beside one another, and show times per problem and in sum: "
        f"{', '.join(session.registry.baselines.ids)} (repeatable)",
    )
    for option, number, text in (
        (
            "--min-rounds",
            default.min_rounds,
            "rounds of measurements that the leaders of a problem get at least",
        ),
        ("--max-rounds", default.max_rounds, "rounds that they get at most"),
    ):
        group.add_argument(option, type=int, default=number, metavar="N", help=f"{text} (default: {number})")


def _add_replay_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("replay")
    group.add_argument(
        "--replay",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="search this store or table instead of a device (repeatable); requires --dtype, and needs "
        "instances only for --emit",
    )
    group.add_argument(
        "--compute-units",
        type=int,
        metavar="N",
        help="of the device of a table that does not say it (default: those of its architecture)",
    )
    default = ReplayCosts()
    for option, value, text in (
        ("--replay-build-time", default.build_s, "each kernel of a translation unit"),
        ("--replay-visit-time", default.visit_s, "measuring one kernel on one problem"),
        ("--replay-unit-time", default.unit_s, "each translation unit, without its kernels"),
        ("--replay-start-time", default.start_s, "each build, without its compilers"),
    ):
        group.add_argument(
            option,
            type=float,
            default=value,
            metavar="S",
            help=f"seconds counted for {text} (default: {value:g})",
        )
    group.add_argument(
        "--replay-kernels-per-unit",
        type=int,
        default=default.per_unit,
        metavar="N",
        help=f"kernels of a translation unit at most (default: {default.per_unit}); --jobs says how many are "
        f"compiled at once (here {default.jobs} by default)",
    )
    group.add_argument(
        "--replay-overlap",
        action="store_true",
        help="kernels are measured while others are built, as on a device",
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option, the store or the toolchain is wrong.
    """
    if arguments.replay:
        return _replay(arguments, session)
    if arguments.store is None:
        raise UsageError(
            "--store FILE is missing: every outcome is stored, so that the same command can go on"
        )
    _plan_with_one_thread(arguments, session)
    request = session.profiler.plan(
        chosen_query(arguments, session, [arguments.direction]),
        _problems(arguments),
        files=arguments.problems,
        build=shared_options.chosen_build_options(arguments),
        run=chosen_run_options(arguments, session),
        splits=chosen_splits(arguments),
        strict_layout=arguments.strict_layout,
    )
    result = session.profiler.execute_tune(request, _options(arguments, session))
    _show(result, arguments, session)
    if arguments.emit is not None:
        _emit(result, session.profiler.list_text(request.selection, result.chosen), arguments, session)
    if result.comparison is not None and result.comparison.failure and not session.signals.requested:
        return ExitCode.FAILED
    return session.signals.exit_code


def _plan_with_one_thread(arguments: argparse.Namespace, session: Session) -> None:
    """Have numpy, which is not imported yet, use one thread where compilers run while it plans.

    Its matrices are small, and threads that wait for CPUs to become free take many times as long.
    """
    if not session.profiler.target(arguments.target).embedded:
        os.environ.setdefault(_BLAS_THREADS, "1")


def _problems(arguments: argparse.Namespace) -> list[str | Problem]:
    """Return the given problems, those of sets as often as they occur in their network."""
    of_sets = [one.problem for one in problems_of_sets(arguments) for _ in range(one.count)]
    return [*arguments.problem, *of_sets]


def _options(arguments: argparse.Namespace, session: Session) -> TuneOptions:
    from ckprof.api.tune_requests import TuneOptions

    def stops() -> bool:
        # the first call is that of a search that has begun
        session.signals.begin(session.console.info)
        return session.signals.requested

    return TuneOptions(
        store=arguments.store,
        search=replace(_search_options(arguments), should_stop=stops),
        rounds=RoundOptions(
            tie=arguments.tie,
            min_rounds=min(arguments.min_rounds, arguments.max_rounds),
            max_rounds=arguments.max_rounds,
            seed=arguments.search_seed,
        ),
        tags=tuple(arguments.tag),
        retry_failed=arguments.retry_failed,
        wait=arguments.wait,
        baselines=tuple(
            session.registry.baselines.find(name).id for name in dict.fromkeys(arguments.baseline)
        ),
    )


def _search_options(arguments: argparse.Namespace) -> SearchOptions:
    from ckprof.api.tune_requests import SearchOptions

    return SearchOptions(
        strategy=arguments.strategy,
        budget_s=arguments.budget,
        kernels=arguments.kernels,
        tie=arguments.tie,
        seed=arguments.search_seed,
        model=arguments.model,
        force_model=arguments.force,
        lessons=tuple(arguments.learn_from),
        most_measurements=arguments.max_measurements,
    )


def _replay(arguments: argparse.Namespace, session: Session) -> ExitCode:
    if arguments.store is not None:
        raise UsageError("--replay measures nothing: --store contradicts it")
    if arguments.baseline:
        raise UsageError("--replay measures nothing: --baseline contradicts it")
    if arguments.dtype is None:
        raise UsageError(f"--replay requires --dtype: {spellings(DataType)}")
    query = _named_instances(arguments, session)
    selection = session.profiler.instances(query).require() if query is not None else None
    if arguments.emit is not None and selection is None:
        raise UsageError("--emit writes instances, which a table does not have: add --conf or --rule-set")
    counts: dict[Problem, int] = {}
    parsed = session.profiler.problems(arguments.direction, _problems(arguments), files=arguments.problems)
    for one in parsed:
        counts[one.problem] = counts.get(one.problem, 0) + one.count
    result = session.profiler.replay(_replay_options(arguments, selection, counts))
    _show(result, arguments, session)
    if arguments.emit is not None and selection is not None:
        _emit(result, session.profiler.list_text(selection, result.chosen), arguments, session)
    return ExitCode.OK


def _replay_options(
    arguments: argparse.Namespace, selection: Selection | None, counts: dict[Problem, int]
) -> ReplayOptions:
    from ckprof.api.tune_requests import ReplayOptions

    return ReplayOptions(
        files=tuple(arguments.replay),
        direction=arguments.direction,
        dtype=DataType.parse(arguments.dtype),
        target=arguments.target or "",
        units=arguments.compute_units,
        search=_search_options(arguments),
        selection=selection,
        counts=tuple(counts.items()),
        costs=ReplayCosts(
            build_s=arguments.replay_build_time,
            visit_s=arguments.replay_visit_time,
            start_s=arguments.replay_start_time,
            unit_s=arguments.replay_unit_time,
            jobs=arguments.jobs if arguments.jobs is not None else ReplayCosts().jobs,
            per_unit=arguments.replay_kernels_per_unit,
            overlap=arguments.replay_overlap,
        ),
    )


def _named_instances(arguments: argparse.Namespace, session: Session) -> InstanceQuery | None:
    """Return which instances a replay is limited to; ``None`` for all of the table."""
    if not arguments.conf and arguments.rule_set is None:
        return None
    return chosen_query(arguments, session, [arguments.direction])


def _show(result: TuneResult, arguments: argparse.Namespace, session: Session) -> None:
    from ckprof.tune.text import tune_text, tune_values

    session.console.clear_bar()
    if arguments.format == "json":
        session.console.result(json.dumps(tune_values(result), indent=1))
    else:
        session.console.result(tune_text(result))


def _emit(result: TuneResult, emitted: EmittedList, arguments: argparse.Namespace, session: Session) -> None:
    """Write the chosen kernels.

    :raises InputError: nothing was measured, or the file cannot be written.
    """
    from ckprof.catalog.writer import write_atomically

    if not result.chosen:
        raise InputError("nothing was measured: there is no kernel to write", arguments.emit)
    for path, content in emitted.files(arguments.emit).items():
        state = "written" if write_atomically(path, content) else "unchanged"
        what = f"{emitted.kernels} kernels"
        if emitted.unsaid and path.suffix == ".json":
            count = sum(len(one.records) for one in emitted.unsaid)
            what = f"{count} of {what}, as a catalog: a list has no spelling for them"
        session.console.info(f"{state} {path}: {what}")
