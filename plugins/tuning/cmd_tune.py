"""``ckprof tune``: the best kernels for some problems without measuring them all."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.cli.run_options import (
    add_problem_options,
    add_run_options,
    chosen_baselines,
    chosen_plan,
    chosen_rounds,
    parsed_problems,
    planned_run,
)
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.formatting import counted
from ckprof.measure.rounds import RoundOptions
from ckprof.model.types import DataType, spellings
from ckprof.sweep.requests import RoundRunOptions
from ckprof_plugins.tuning.options import ReplayOptions, SearchOptions, TuneOptions

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.kernels.choose import Selection
    from ckprof.measure.options import RunOptions
    from ckprof.model.problem import Problem
    from ckprof_plugins.tuning.search.result import TuneResult

#: read by the BLAS that numpy's wheels have, when it is loaded
_BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"

#: options of a replay, but for those that builds have as well
_REPLAY: Final = ("files", "build_s", "visit_s", "unit_s", "start_s", "per_unit", "overlap")

_EPILOG = """\
examples:
  ckprof tune fwd --conf legacy.conf --problems layers.json --budget 30m --store results.db
  ckprof tune fwd --rule-set full --dtype bf16 --ndim 2 --arch gfx942 --problem-set resnet50 --batch 128 \\
      --budget 30m --kernels 8 --store results.db --emit library.conf
  ckprof tune fwd --dtype bf16 --replay results.db
  ckprof tune fwd --dtype bf16 --replay sweep.csv --learn-from other.csv --strategy random

Kernels are chosen by predicted times that every measurement corrects: those with the largest expected
improvement per second of building and measuring. Their support is checked before they are built; they are
measured in rounds against the best so far, and stored. Rerun the same command to resume. The search ends when
on no problem something better by more than --tie is probable (5 %) and every built kernel was measured
wherever it may be the best, or when the budget is spent.

A problem that occurs n times, in the file or by the count of a JSON list of 'ckprof problems from-log', has n
times the weight. --replay searches recorded measurements: nothing is built or run, time is counted.

Exit code 0 when the search ended by itself or by its budget, 3 when the store cannot be used, 129, 130 or 143
when it was stopped by SIGHUP, Ctrl-C or SIGTERM.
"""

#: option of other commands -> what to do
_INSTEAD: Final = {
    "--resume": "rerun the same command to resume",
    "--dry-run": "'ckprof sweep --dry-run' counts the kernels and problems that there are to choose from",
}


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof tune``."""
    parser.epilog = _EPILOG
    parser.set_defaults(typed_instead=_INSTEAD)
    shared_options.add_instances(parser, optional=True)
    add_problem_options(parser)
    add_fields(parser.add_argument_group("search"), SearchOptions)
    group = parser.add_argument_group("results")
    add_fields(group, TuneOptions, "store", "retry_failed", "wait", "tags", required=False)
    group.add_argument(
        "--emit",
        type=Path,
        metavar="PATH",
        help="write the chosen kernels as a list for --conf; a name that ends in .json takes a catalog",
    )
    add_format(group)
    add_fields(group, TuneOptions, "baselines")
    add_fields(group, RoundOptions, "min_rounds", "max_rounds")
    add_fields(parser.add_argument_group("replay"), ReplayOptions, *_REPLAY, required=False)
    shared_options.add_build_options(parser)
    add_run_options(parser, _usual(session))


def _usual(session: Session) -> RunOptions:
    return RoundRunOptions(timeout_s=session.settings.timeout)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option, the store or the toolchain is wrong.
    """
    if arguments.replay:
        return _replay(arguments, session)
    if arguments.store is None:
        raise UsageError("--store FILE is missing: every outcome is stored, so that a search can be resumed")
    if not session.profiler.target(arguments.target).embedded:
        os.environ.setdefault(_BLAS_THREADS, "1")
    from ckprof_plugins.tuning.tuning import tune_planned

    plan = chosen_plan(arguments, session, _usual(session))
    request = planned_run(arguments, session, shared_options.chosen_directions(arguments, session), plan)
    result = tune_planned(session.profiler, request, _options(arguments, session))
    _show(result, request.selection, arguments, session)
    if result.comparison is not None and result.comparison.failure and not session.signals.requested:
        return ExitCode.FAILED
    return session.signals.exit_code


def _options(arguments: argparse.Namespace, session: Session) -> TuneOptions:
    def stops() -> bool:
        # the first call is that of a search that has begun
        session.signals.begin(session.console.info)
        return session.signals.requested

    search = chosen(arguments, SearchOptions, should_stop=stops)
    return chosen(
        arguments,
        TuneOptions,
        search=search,
        rounds=replace(chosen_rounds(arguments), seed=search.seed, passes=1),
        baselines=chosen_baselines(arguments, session),
    )


def _replay(arguments: argparse.Namespace, session: Session) -> ExitCode:
    if arguments.store is not None:
        raise UsageError("--replay measures nothing: --store contradicts it")
    if arguments.baseline:
        raise UsageError("--replay measures nothing: --baseline contradicts it")
    if arguments.direction is None:
        raise UsageError(f"--replay requires DIRECTION: {', '.join(session.registry.operations.ids)}")
    if arguments.dtype is None:
        raise UsageError(f"--replay requires --dtype: {spellings(DataType)}")
    selection = None
    if arguments.conf or arguments.rule_set is not None:
        query = shared_options.chosen_query(arguments, session, [arguments.direction])
        selection = session.profiler.instances(query).require()
    if arguments.emit is not None and selection is None:
        raise UsageError("--emit writes instances, which a table does not have: add --conf or --rule-set")
    direction = session.registry.operation(arguments.direction)
    counts: Counter[Problem] = Counter()
    for parsed in parsed_problems(arguments, session, direction):
        counts[parsed.problem] += parsed.count
    from ckprof_plugins.tuning.tuning import replay

    result = replay(
        session.profiler,
        chosen(
            arguments,
            ReplayOptions,
            direction=arguments.direction,
            dtype=DataType.parse(arguments.dtype),
            target=arguments.target or "",
            search=chosen(arguments, SearchOptions),
            selection=selection,
            counts=tuple(counts.items()),
        ),
    )
    _show(result, selection, arguments, session)
    return ExitCode.OK


def _show(
    result: TuneResult, selection: Selection | None, arguments: argparse.Namespace, session: Session
) -> None:
    """Show what was found, and write the chosen kernels if they are wanted."""
    from ckprof.files import write_output
    from ckprof_plugins.tuning.tune_report import tune_document, tune_values

    session.console.progress.clear()
    session.console.result_in(arguments.format, tune_values(result), tune_document(result))
    if arguments.emit is None or selection is None:
        return
    if not result.chosen:
        raise InputError("nothing was measured: there is no kernel to write", arguments.emit)
    emitted = session.profiler.list_text(selection, result.chosen)
    for path, content in emitted.files(arguments.emit).items():
        state = "written" if write_output(path, content) else "unchanged"
        what = f"{counted(emitted.kernels, 'kernel')}"
        if emitted.unsaid and path.suffix == ".json":
            count = sum(len(unsaid.records) for unsaid in emitted.unsaid)
            what = f"{count} of {what}, as a catalog: no line of a list can describe them"
        session.console.info(f"{state} {path}: {what}")
