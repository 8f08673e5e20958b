"""What commands of the core do with stores of predictions: they show them, and mix them with nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ckprof.cli.fields import chosen
from ckprof.cli.outputs import Outputs, result_in_file
from ckprof.compare.options import ChangePolicy
from ckprof.errors import ExitCode, UsageError
from ckprof_plugins.tuning.stored.reading import read_store, require_predictions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.option import Limits
    from ckprof_plugins.tuning.gate.comparison import Regression

#: options of compare that are about verdicts on measured times
_OF_VERDICTS: Final = ("self_test", "settle", "min_change")
_REPORT_FORMATS: Final = ("html", "md")


def show_results(arguments: argparse.Namespace, session: Session) -> int | None:
    """Show what a store of predictions holds, in place of ``ckprof results show``."""
    if arguments.action != "show" or len(arguments.paths) != 1 or not require_predictions(arguments.paths):
        return None
    from ckprof.cli.cmd_results import query_of
    from ckprof_plugins.tuning.stored.report import overview

    with result_in_file(arguments.output, session):
        session.console.result(overview(read_store(arguments.paths[0], query_of(arguments))))
    return ExitCode.OK


def show_report(arguments: argparse.Namespace, session: Session) -> int | None:
    """Report a store of predictions in place of ``ckprof report``; of several, compare the last two.

    :raises UsageError: an option is about measured times.
    """
    if not require_predictions(arguments.inputs):
        return None
    from ckprof_plugins.pages.options import ReportOptions
    from ckprof_plugins.pages.page import render_document
    from ckprof_plugins.tuning.gate.report import diff_document
    from ckprof_plugins.tuning.stored.report import NOT_MEASURED, report

    options = chosen(arguments, ReportOptions)
    if arguments.png is not None or options != ReportOptions(title=options.title):
        raise UsageError(
            f"a store of predictions is {NOT_MEASURED}: of the options of content, --title alone"
        )
    suffix = arguments.output.suffix.lstrip(".") if arguments.output is not None else ""
    form = arguments.format or (suffix if suffix in _REPORT_FORMATS else "html")
    if form not in _REPORT_FORMATS:
        raise UsageError(f"--format {form}: predictions are reported as {' or '.join(_REPORT_FORMATS)}")
    *older, last = arguments.inputs
    document = report(read_store(last))
    if older:
        found = _compared(session, older[-1], last, "", ())
        document.add(*diff_document(found).parts)
    title = options.title or f"Predicted times of {last}: {NOT_MEASURED}"
    with result_in_file(arguments.output, session):
        text = render_document(title, document) if form == "html" else f"# {title}\n\n{document.markdown()}"
        session.console.exact(text)
    return ExitCode.OK


def compare_stores(arguments: argparse.Namespace, session: Session) -> int | None:
    """Compare two stores of predictions as ``ckprof predict --diff`` does, in place of ``ckprof compare``.

    :raises UsageError: an option is about verdicts on measured times.
    :raises StoreError: one side is measured, or another model's.
    """
    if len(arguments.inputs) > 2 or not require_predictions(arguments.inputs):
        return None
    for name in _OF_VERDICTS:
        if getattr(arguments, name):
            option = name.replace("_", "-")
            raise UsageError(f"--{option} is about measured times; predicted ones are the same every time")
    if len(arguments.inputs) != 2:
        raise UsageError(f"expected two inputs, OLD and NEW, got {len(arguments.inputs)}")
    from ckprof_plugins.tuning.gate.report import DIFF_FORMATS, diff_document

    direction = session.registry.operation(arguments.direction).id if arguments.direction else ""
    with Outputs(arguments, session, DIFF_FORMATS) as outputs:
        old, new = arguments.inputs
        found = _compared(session, old, new, direction, _fail_on(arguments))
        outputs.deliver(found, diff_document)
    return ExitCode.FAILED if found.failures else ExitCode.OK


def _compared(session: Session, old: str, new: str, direction: str, fail_on: Limits[Regression]) -> Any:
    from ckprof_plugins.tuning.gate.gate import diff_predictions
    from ckprof_plugins.tuning.gate.sides import GateSide

    sides = tuple(GateSide(name=str(one), baseline=read_store(one).side(direction)) for one in (old, new))
    return diff_predictions(session.profiler, (sides[0], sides[1]), None, fail_on)


def _fail_on(arguments: argparse.Namespace) -> Limits[Regression]:
    """Return what fails a comparison of predictions, in the words of compare.

    :raises UsageError: one of them is about the noise of measured times.
    """
    from ckprof_plugins.tuning.gate.comparison import GateOptions, Regression

    if arguments.fail_on is None:
        return GateOptions().fail_on
    asked, known = chosen(arguments, ChangePolicy).fail_on, {one.value: one for one in Regression}
    for reason in asked:
        if reason.value not in known:
            raise UsageError(f"--fail-on {reason.value} is about the noise of measured times")
    if isinstance(asked, tuple):
        return tuple(known[reason.value] for reason in asked)
    return {known[reason.value]: least for reason, least in asked.items()}


def predict_sweep(arguments: argparse.Namespace, session: Session, measuring: Sequence[str]) -> int | None:
    """Do what ``ckprof sweep --predict`` asks for.

    :param measuring: options that were typed and are about measuring.
    :raises CkprofError: a list, a problem, an option, the store or the toolchain is wrong.
    """
    if not arguments.predict:
        if arguments.gpu:
            raise UsageError("--gpu names the product whose times are predicted: give --predict, too")
        return None
    if measuring:
        raise UsageError(f"{measuring[0]} is about measuring, and --predict measures nothing: omit one")
    from ckprof.cli import shared_options
    from ckprof.cli.run_options import parsed_problems
    from ckprof.sweep.requests import SweepOptions
    from ckprof_plugins.tuning.options import PredictOptions
    from ckprof_plugins.tuning.stored.sweep import dry_run, sweep_predictions

    if arguments.direction is None:
        raise UsageError("no DIRECTION given: see 'ckprof list directions'")
    selection = shared_options.chosen_selection(arguments, session, arguments.direction)
    operation = session.registry.operation(selection.direction)
    options = chosen(
        arguments,
        PredictOptions,
        "gpu",
        "splits",
        selection=selection,
        problems=tuple(parsed_problems(arguments, session, operation)),
        build=shared_options.chosen_build_options(arguments),
    )
    sweep = chosen(arguments, SweepOptions, should_stop=lambda: _stops(session))
    if arguments.dry_run:
        session.console.result(dry_run(session.profiler, options, sweep))
        return ExitCode.OK
    found = sweep_predictions(session.profiler, options, sweep)
    session.console.progress.clear()
    session.console.result("\n".join(found.lines))
    if session.signals.requested:
        return session.signals.exit_code
    return ExitCode.FAILED if found.failed or found.unserved else ExitCode.OK


def _stops(session: Session) -> bool:
    session.signals.begin(session.console.info)
    return session.signals.requested
