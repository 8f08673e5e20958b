"""``ckprof run --tree``: every list of a tree, with one summary per list and a grand total."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ckprof.cli.instance_report import print_instances, print_plan
from ckprof.cli.outputs import Delivery
from ckprof.cli.run_options import chosen_plan
from ckprof.cli.shared_options import chosen_build_options, chosen_query
from ckprof.errors import ExitCode, UsageError
from ckprof.measure.options import RunOptions
from ckprof.measure.run import Batch
from ckprof.model.results import BatchResults, ListResult, ListVerdict

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.outputs import Outputs
    from ckprof.cli.session import Session


def run_batch(arguments: argparse.Namespace, session: Session, outputs: Outputs) -> ExitCode:
    """Run every list of the tree.

    What was found out before Ctrl-C, or before an error that no list is to blame for, is reported as well.

    :raises CkprofError: the tree, an option, a problem, a plugin or the toolchain is wrong.
    """
    formats = session.registry.formats
    for chosen in (outputs.format, *(further for further, _ in outputs.further)):
        if chosen.render_batch is None:
            able = ", ".join(format_.id for format_ in formats if format_.render_batch is not None)
            raise UsageError(f"format {chosen.id} cannot show a tree of lists (can: {able})")
    query = chosen_query(arguments, session, [arguments.direction] if arguments.direction else [])
    plan = chosen_plan(arguments, session, RunOptions(timeout_s=session.settings.timeout))
    for name in query.pipelines:
        session.registry.pipelines.find(name)
    build, set_name = chosen_build_options(arguments), arguments.set or ""
    batch = Batch(session.profiler, arguments.tree, query, plan, build, set_name)
    if arguments.list_instances or arguments.dry_run:
        return _print_plans(arguments, session, batch)
    lists: list[ListResult] = []
    end: BaseException | None = None
    try:
        for result in batch.results():
            lists.append(result)
    except BaseException as exc:
        # whatever it is: what was found out until then is reported
        end = exc
    delivery = Delivery(session)
    if lists:
        outputs.mark_delivered()
        _report(arguments, outputs, len(batch.paths), lists, delivery)
    delivery.finish(end)
    session.signals.check()
    return _exit_code(lists)


def _print_plans(arguments: argparse.Namespace, session: Session, batch: Batch) -> ExitCode:
    target = session.profiler.target(arguments.target)
    verdicts, codes = set(), {ExitCode.OK}
    for plan in batch.plans():
        if not isinstance(plan, ListResult):
            verdicts.add(ListVerdict.FINE)
            if arguments.list_instances:
                print_instances(plan.selection, session.console)
            else:
                print_plan(plan, target.id, session.console)
        else:
            verdicts.add(plan.verdict)
            codes.add(plan.exit_code)
            session.console.info(f"{plan.name}: {plan.verdict.value}: {plan.reason}")
    return _exit_code_of(verdicts, codes)


def _report(
    arguments: argparse.Namespace, outputs: Outputs, found: int, lists: list[ListResult], delivery: Delivery
) -> None:
    """Write the JSON report and print the summary."""
    from ckprof.report.batch_report import batch_document, render_batch_json

    results = BatchResults(
        root=arguments.tree,
        set_name=arguments.set or "",
        found=found,
        lists=tuple(lists),
        why=bool(arguments.why),
    )
    delivery.write(arguments.json, lambda: render_batch_json(results))
    for further, path in outputs.further:
        delivery.write(path, partial(further.render_batch, results))
    render = outputs.format.render_batch
    if arguments.format == "table":
        delivery.show(lambda: batch_document(results), lambda: batch_document(results).text())
    elif render is not None:
        delivery.show(
            lambda: render(results), lambda: batch_document(results).text(), commands=outputs.format.commands
        )


def _exit_code(lists: list[ListResult]) -> ExitCode:
    return _exit_code_of({result.verdict for result in lists}, {result.exit_code for result in lists})


def _exit_code_of(verdicts: set[ListVerdict], codes: set[ExitCode]) -> ExitCode:
    """Broken lists weigh more than failed outcomes: nothing of them was run; broken plugins weigh most."""
    if ListVerdict.BROKEN in verdicts:
        return max(codes)
    if ListVerdict.FAILED in verdicts or verdicts == {ListVerdict.SKIPPED}:
        return ExitCode.FAILED
    return ExitCode.OK
