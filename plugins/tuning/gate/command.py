"""What ``ckprof predict`` does with --diff and --bisect."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.fields import chosen
from ckprof.cli.outputs import Outputs, check_report
from ckprof.cli.run_options import parsed_problems
from ckprof.errors import ExitCode, UsageError
from ckprof.sanitize import json_text
from ckprof_plugins.tuning.gate.baseline import write_baseline
from ckprof_plugins.tuning.gate.bisection import bisect_predictions, states_of
from ckprof_plugins.tuning.gate.comparison import GateOptions, Regression
from ckprof_plugins.tuning.gate.gate import diff_predictions, of_line, problems_of
from ckprof_plugins.tuning.gate.report import (
    DIFF_FORMATS,
    bisection_document,
    bisection_values,
    diff_document,
)
from ckprof_plugins.tuning.gate.sides import GateSide
from ckprof_plugins.tuning.options import PredictOptions
from ckprof_plugins.tuning.stored.reading import origins_of

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.kernels.choose import Selection

#: options of kernels and problems, which mean nothing where both sides are files
_OF_KERNELS = ("direction", "conf", "rule_set", "problem", "problems", "problem_set", "split_k")


def run_diff(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Compare two sides of predictions.

    :raises CkprofError: a side, a list, a problem, an option or the toolchain is wrong, or the sides are not
        comparable.
    """
    if arguments.hot:
        raise UsageError("--hot lists instructions of one side: omit it with --diff, which says what differs")
    with Outputs(arguments, session, DIFF_FORMATS) as outputs:
        check_report(arguments.write)
        direction = session.registry.operation(arguments.direction).id if arguments.direction else ""
        before, after = (GateSide.of(name, direction) for name in arguments.diff)
        options = None
        if before.baseline is None or after.baseline is None:
            options, (before, after) = _options(arguments, session, before, after)
        elif given := [name for name in _OF_KERNELS if getattr(arguments, name)]:
            # a store may have several directions
            if given != ["direction"] or not any(map(origins_of, arguments.diff)):
                raise UsageError(f"{given[0]}: both sides are files, which say that themselves: omit it")
        gate = chosen(arguments, GateOptions)
        found = diff_predictions(session.profiler, (before, after), options, gate.fail_on)
        if arguments.write:
            write_baseline(found.new, arguments.write)
            session.console.info(f"wrote {arguments.write}: figures of {found.after}")
        outputs.deliver(found, diff_document)
    return ExitCode.FAILED if found.failures else ExitCode.OK


def run_page(arguments: argparse.Namespace, session: Session) -> int | None:
    """Do what ``ckprof inspect --diff BEFORE AFTER --page FILE.html`` asks for; ``None`` without both.

    The page has both loops of each kernel next to each other. Exit code 1 as of ``inspect --diff``: more
    spills, or less occupancy.

    :raises CkprofError: as :func:`run_diff` says, or the page has no name that ends in ``.html``.
    """
    if arguments.diff is None or not getattr(arguments, "page", None):
        return None
    if Path(arguments.page).suffix != ".html":
        raise UsageError(f"--page {arguments.page}: of --diff, a page is a file whose name ends in .html")
    of_predict = dict.fromkeys(("hot", "kernel", "measured", "split_k", "write"))
    given = {
        **vars(arguments),
        **of_predict,
        "direction": arguments.what,
        "diff": [str(side) for side in arguments.diff],
        "fail_on": (Regression.SPILLS, Regression.OCCUPANCY),
        "outputs": [*(arguments.outputs or ()), (Path(arguments.page), "html")],
    }
    return run_diff(Namespace(**given), session)


def run_bisect(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Look for the state that made kernels slower.

    :raises CkprofError: a state, a list, a problem, an option or the toolchain is wrong, or the first or the
        last state cannot be predicted.
    """
    further = [form for _, form in arguments.outputs or () if form]
    if further or arguments.format in ("html", "junit", "github"):
        raise UsageError(
            "--bisect has the formats table, md and json, in one file: name it with --format and -o"
        )
    for option in ("write", "hot", "diff"):
        if getattr(arguments, option):
            raise UsageError(
                f"--{option} is about two sides, --bisect about all states between them: omit one"
            )
    states = states_of(arguments.bisect)
    options, states = _options(arguments, session, *states)
    found = bisect_predictions(session.profiler, states, options, chosen(arguments, GateOptions).fail_on)
    if arguments.format == "json":
        session.console.result(json_text(bisection_values(found), 1))
    else:
        document = bisection_document(found)
        session.console.result(document.markdown() if arguments.format == "md" else document)
    return ExitCode.FAILED if found.diff is not None else ExitCode.OK


def _options(
    arguments: argparse.Namespace, session: Session, *sides: GateSide
) -> tuple[PredictOptions, list[GateSide]]:
    """Return what is predicted, and the sides with what is chosen of their lists.

    What is not typed is as a side that is a baseline says.
    """
    said = next((side.baseline for side in sides if side.baseline is not None), None)
    if said is not None:
        arguments.direction = arguments.direction or said.direction
        arguments.arch = arguments.arch or said.arch
        if arguments.arch == said.arch:
            arguments.gpu = arguments.gpu or said.gpu
    if arguments.direction is None:
        raise UsageError("no DIRECTION given: it stands before the options, e.g. 'ckprof predict fwd --diff'")
    for side in sides:
        if side.compiler is not None and arguments.compiler:
            raise UsageError(f"--compiler names another compiler than {side.name}")
        if side.headers is not None and arguments.ck_root is not None:
            raise UsageError(f"--ck-root names other headers than {side.name}")
        if side.conf is not None and (arguments.conf or arguments.rule_set):
            raise UsageError(f"--conf and --rule-set name other instances than {side.name}")
    chosen_sides = []
    for side in sides:
        if side.conf is not None:
            arguments.conf = [str(side.conf)]
            chosen_sides.append(replace(side, selection=_selection(arguments, session)))
        else:
            chosen_sides.append(side)
    selection = next((side.selection for side in chosen_sides if side.selection is not None), None)
    selection = selection or _selection(arguments, session)
    operation = session.registry.operation(selection.direction)
    options = chosen(
        arguments,
        PredictOptions,
        selection=selection,
        problems=tuple(parsed_problems(arguments, session, operation)) or problems_of(sides),
        build=shared_options.chosen_build_options(arguments),
    )
    return options, chosen_sides


def _selection(arguments: argparse.Namespace, session: Session) -> Selection:
    selection = shared_options.chosen_selection(arguments, session, arguments.direction)
    return of_line(selection, arguments.kernel) if arguments.kernel else selection
