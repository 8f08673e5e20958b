"""``ckprof run``: from an instance list, or a tree of them, to a ranked table."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.instance_report import print_instances, print_plan
from ckprof.cli.outputs import Delivery, Outputs, add_formats, check_report
from ckprof.cli.run_options import (
    add_problem_options,
    add_run_options,
    chosen_baselines,
    chosen_plan,
    planned_run,
)
from ckprof.errors import ExitCode, UsageError
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import RunPlanOptions, StoreOptions
from ckprof.model.results import BatchResults, ListResult, ListVerdict
from ckprof.option import above_zero, positive

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.measure.run import Batch
    from ckprof.model.results import RunResults
    from ckprof.report.document import Document
    from ckprof.report.table import Table

_EPILOG = """\
examples:
  ckprof run fwd --conf legacy.conf
  ckprof run fwd --conf legacy.conf --problem "conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
  ckprof run fwd --conf legacy.conf --list-instances
  ckprof run fwd --conf legacy.conf --filter compv4 --json results.json
  ckprof run fwd --rule-set tiny --arch gfx942
  ckprof run bwd_weight --conf legacy.conf --split-k 1,2,4,auto
  ckprof run fwd --conf legacy.conf --why                 # which conditions reject how many instances
  ckprof run fwd --conf legacy.conf --problems p.txt --best --format csv
  ckprof run --tree conf --set tests                      # every list, one line each and a total

problem lines:
  MIOpenDriver:  conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 1 -F 1
                 (-c and -k count all groups; convfp16 and convbfp16 name the type of the list)
  ckProfiler:    grouped_conv_fwd 1 1 0 1 2 0 1 2  G N K C  Y X  H W  strides dilations left_pads right_pads
                 (K and C per group; or just NDIM G N K C ...)

The last line names the winner and its line of the list. From there into code: 'Best configuration' has the
instance string of CK Builder, --format json all fields, 'ckprof generate' with the same list and --instance N
the C++ source.

Only verified results are ranked. Exit code 1 when an instance failed or none supports a problem. With
--tree, a list that cannot be read does not stop the others: exit code 3 if there was one, else 1 if anything
failed.

Ctrl-C, SIGTERM and SIGHUP end a run; what was measured until then is reported and marked as partial.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof run``."""
    parser.epilog = _EPILOG
    shared_options.add_instances(parser, optional=True)
    group = parser.add_argument_group("trees of lists")
    group.add_argument(
        "--tree",
        metavar="DIR",
        help="run every list below this folder, one after the other; of all directions unless one is named; "
        "'conf' means the lists that ship with ckprof where there is no such folder",
    )
    group.add_argument(
        "--set",
        metavar="NAME",
        help="of the tree, only lists in folders of this name, e.g. tests or profiler",
    )
    add_problem_options(parser)
    shared_options.add_build_options(parser)
    usual = RunOptions(timeout_s=session.settings.timeout)
    further = ("verify", "exact", "rounds", "passes", "keep_samples", "launcher")
    add_fields(add_run_options(parser, usual), RunOptions, *further)
    add_fields(parser, RunPlanOptions, "baselines")
    add_fields(parser, RunPlanOptions, "epilogue_cost")
    _add_output_options(parser, session)


def _add_output_options(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options that say what is done and shown."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--list-instances", action="store_true", help="print the instances with their numbers, and stop"
    )
    group.add_argument("--dry-run", action="store_true", help="say what would be done, and stop")
    group.add_argument(
        "--build-only",
        action="store_true",
        help="build the kernels as 'ckprof build' does, and stop: what can be done where none can be run",
    )
    add_fields(group, RunPlanOptions, "why")
    add_formats(
        group,
        "format of the result on standard output: table, csv, json, md, junit, github, or one that a "
        "plugin adds "
        "(default: table); on a terminal, or where COLUMNS is set, the table is fitted to the width, "
        "with unsupported instances counted by reason; other pipes and files get all rows and columns",
    )
    group.add_argument(
        "--all-rows", action="store_true", help="on a terminal as well, a row for each unsupported instance"
    )
    best = group.add_mutually_exclusive_group()
    best.add_argument(
        "--best",
        dest="top",
        action="store_const",
        const=1,
        help="only the fastest kernel of each problem, one row per problem: --top 1",
    )
    best.add_argument(
        "--top",
        type=positive,
        metavar="N",
        help="only the N fastest kernels of each problem, in rows that hold the problem's text; of the "
        "formats table, md and csv. Problems without a verified kernel are named on standard error",
    )
    group.add_argument(
        "--max-error-ulp",
        type=above_zero,
        metavar="X",
        help="with --best or --top, only kernels whose largest error is at most X units in the last "
        "place of the largest result",
    )
    add_fields(group, StoreOptions, "store", "tags", required=False)
    group.add_argument("--json", type=Path, metavar="PATH", help="write the JSON report to this file as well")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option or the toolchain is wrong.
    """
    with Outputs(arguments, session, session.registry.formats) as outputs:
        return _run(arguments, session, outputs)


def _run(arguments: argparse.Namespace, session: Session, outputs: Outputs) -> ExitCode:
    _check_top(arguments)
    check_report(arguments.json)
    is_plan = arguments.list_instances or arguments.dry_run
    if is_plan and (arguments.format != "table" or arguments.json or outputs.further):
        raise UsageError(
            "--list-instances and --dry-run print text: they go without other formats and --json"
        )
    if arguments.tree is not None:
        for option in ("baseline", "epilogue-cost", "store", "tag"):
            if vars(arguments)[option.replace("-", "_")]:
                raise UsageError(f"--{option} and --tree do not go together: run list by list")
        return _run_tree(arguments, session, outputs)
    if arguments.set is not None:
        raise UsageError("--set belongs to --tree")
    return _run_lists(arguments, session, outputs)


def _run_lists(arguments: argparse.Namespace, session: Session, outputs: Outputs) -> ExitCode:
    profiler, signals, store = session.profiler, session.signals, _store_options(arguments)
    directions = shared_options.chosen_directions(arguments, session)
    if arguments.list_instances:
        query = shared_options.chosen_query(arguments, session, directions)
        print_instances(profiler.instances(query).require(), session.console)
        return ExitCode.OK
    usual = RunOptions(timeout_s=session.settings.timeout)
    options = chosen_plan(arguments, session, usual, chosen_baselines(arguments, session))
    plan = planned_run(arguments, session, directions, options)
    if arguments.dry_run:
        print_plan(plan, profiler.target(arguments.target).id, session.console)
        return ExitCode.OK
    if arguments.build_only:
        from ckprof.cli.cmd_build import build_and_report

        return build_and_report(session, plan.selection, plan.build)
    # An exception that a signal raised may have been swallowed, e.g. where memory was collected.
    plan = replace(plan, store=store, should_stop=lambda: signals.requested, when_measured=signals.defer)
    results, error = profiler.execute_until_end(plan)
    if isinstance(error, UsageError) and not results.outcomes:
        raise error  # what was asked for cannot be done: there is nothing to show
    from ckprof.report.run_data import render_json
    from ckprof.report.run_table import run_document

    delivery = Delivery(session)
    forms = [(path, partial(form.render, results)) for form, path in outputs.further]
    delivery.deliver(
        outputs,
        [(arguments.json, lambda: render_json(results)), *forms],
        lambda: _rendered(results, arguments, session),
        lambda: run_document(results).text(),
    )
    delivery.finish(error)
    session.signals.check()
    if not results.succeeded:
        failed = ", ".join(f"{count} {what}" for what, count in results.failures.items())
        session.console.error(f"exit code 1: {failed}")
    return ExitCode.OK if results.succeeded else ExitCode.FAILED


def _run_tree(arguments: argparse.Namespace, session: Session, outputs: Outputs) -> ExitCode:
    """Run every list of the tree, with one summary per list and a grand total.

    What was found out before Ctrl-C, or before an error that no list is to blame for, is reported as well.
    """
    from ckprof.kernels.choose import asked_families
    from ckprof.measure.run import Batch
    from ckprof.report.batch_report import batch_document, render_batch_json

    formats = session.registry.formats
    for form in (outputs.format, *(further for further, _ in outputs.further)):
        if form.render_batch is None:
            able = ", ".join(format_.id for format_ in formats if format_.render_batch is not None)
            raise UsageError(f"format {form.id} cannot show a tree of lists (can: {able})")
    query = shared_options.chosen_query(arguments, session, [*filter(None, [arguments.direction])])
    plan = chosen_plan(arguments, session, RunOptions(timeout_s=session.settings.timeout))
    query = replace(query, pipelines=asked_families(session.profiler, query))
    build, set_name = shared_options.chosen_build_options(arguments), arguments.set or ""
    batch = Batch(session.profiler, arguments.tree, query, plan, build, set_name)
    if arguments.list_instances or arguments.dry_run:
        return _print_plans(arguments, session, batch)
    lists: list[ListResult] = []
    end: BaseException | None = None
    try:
        for result in batch.results():
            lists.append(result)
        session.signals.defer()
    except BaseException as exc:
        # whatever it is: what was found out until then is reported
        end = exc
    delivery = Delivery(session)
    if lists:
        results = BatchResults(
            root=arguments.tree,
            set_name=set_name,
            found=len(batch.paths),
            lists=tuple(lists),
            why=bool(arguments.why),
        )
        forms = [(path, partial(form.render_batch, results)) for form, path in outputs.further]
        delivery.deliver(
            outputs,
            [(arguments.json, lambda: render_batch_json(results)), *forms],
            partial(batch_document if arguments.format == "table" else outputs.format.render_batch, results),
            lambda: batch_document(results).text(),
        )
    delivery.finish(end)
    session.signals.check()
    return _exit_code({result.verdict for result in lists}, {result.exit_code for result in lists})


def _print_plans(arguments: argparse.Namespace, session: Session, batch: Batch) -> ExitCode:
    target = session.profiler.target(arguments.target)
    verdicts, codes = set(), {ExitCode.OK}
    for plan in batch.plans():
        if isinstance(plan, ListResult):
            verdicts.add(plan.verdict)
            codes.add(plan.exit_code)
            session.console.info(f"{plan.name}: {plan.verdict.value}: {plan.reason}")
        else:
            verdicts.add(ListVerdict.FINE)
            if arguments.list_instances:
                print_instances(plan.selection, session.console)
            else:
                print_plan(plan, target.id, session.console)
    return _exit_code(verdicts, codes)


def _exit_code(verdicts: set[ListVerdict], codes: set[ExitCode]) -> ExitCode:
    """Broken lists weigh more than failed outcomes: nothing of them was run; broken plugins weigh most."""
    if ListVerdict.BROKEN in verdicts:
        return max(codes)
    if ListVerdict.FAILED in verdicts or verdicts == {ListVerdict.SKIPPED}:
        return ExitCode.FAILED
    return ExitCode.OK


def _check_top(arguments: argparse.Namespace) -> None:
    if arguments.top is None:
        if arguments.max_error_ulp is not None:
            raise UsageError("--max-error-ulp chooses among the fastest kernels: it requires --best or --top")
        return
    from ckprof.report.run_summary import BEST_FORMATS

    if arguments.tree is not None:
        raise UsageError("--best and --top do not go with --tree, which shows the best of each list anyway")
    if arguments.format not in BEST_FORMATS:
        raise UsageError(f"--best and --top go with --format {', '.join(BEST_FORMATS)}")


def _rendered(
    results: RunResults, arguments: argparse.Namespace, session: Session
) -> str | Table[Any] | Document:
    """Return the result in the chosen format, and name problems that --top has no row for."""
    from ckprof.report.document import Document
    from ckprof.report.run_summary import best_table, problems_without_best, render_best, terminal_document
    from ckprof.report.run_table import MOST_NOTES, run_document
    from ckprof.report.totals import add_totals, networks_of_run

    notes = None if session.console.verbosity > 0 else MOST_NOTES
    if arguments.top is not None:
        most_ulp = math.inf if arguments.max_error_ulp is None else arguments.max_error_ulp
        for sentence in problems_without_best(results, most_ulp):
            session.console.warning(sentence)
        if arguments.format == "table":
            document = Document([best_table(results, arguments.top, most_ulp)])
            add_totals(document, networks_of_run(results))
            return document
        return render_best(results, arguments.format, arguments.top, most_ulp)
    if arguments.format == "table":
        fitted = terminal_document(results, all_rows=arguments.all_rows, notes=notes)
        return run_document(results, notes) if session.console.terminal is None else fitted
    return session.registry.formats.find(arguments.format).render(results)


def _store_options(arguments: argparse.Namespace) -> StoreOptions | None:
    if arguments.store is None and arguments.tag:
        raise UsageError("--tag names outcomes in a store: it requires --store")
    return None if arguments.store is None else chosen(arguments, StoreOptions)
