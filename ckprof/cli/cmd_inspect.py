"""``ckprof inspect``: what each kernel will cost, from its machine code."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli import shared_options
from ckprof.cli.fields import add_format
from ckprof.cli.instance_report import report_rejections
from ckprof.cli.run_options import add_problem_options, parsed_problems
from ckprof.cli.shared_options import add_instance_options, chosen_selection
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.kernels.inspection import compare, inspect_selection, load_inspection, render_report
from ckprof.report.inspection_report import (
    comparison_document,
    condition,
    inspection_document,
    render_csv,
    rows_of,
    sort_rows,
)

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.kernels.inspection import Inspection

_EPILOG = """\
examples:
  ckprof inspect fwd --conf legacy.conf --arch gfx942
  ckprof inspect fwd --conf legacy.conf --arch gfx942 --where "spills>0" --sort vgprs
  ckprof inspect fwd --conf legacy.conf --arch gfx942 \\
      --problem "conv -n 32 -c 128 -H 56 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1"
  ckprof inspect fwd --conf legacy.conf --instance 3 --target hip --arch gfx942 --page kernel.html \\
      --problem "conv -n 32 -c 128 -H 56 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1"
  ckprof inspect build/                                  # a folder of 'ckprof build --build-dir build/'
  ckprof inspect --diff before.json after.json           # reports, or folders of builds

Nothing is run. Kernels that are not compiled yet are compiled first. Registers, spills, LDS and scratch
come from the code object; loads and stores are counted by the bits that a lane moves; bounds are estimates.
--page shows predictions as of 'ckprof predict': the time of waves by cause, one iteration of the loop cycle
by cycle, and the cycles of each instruction. Exit code 1 when a kernel does not compile, or when --diff
finds new spills or lost occupancy.
"""

#: options that mean nothing where a folder or a report says what is inspected
_OF_DIRECTIONS: Final = (
    *("conf", "rule_set", "instance", "filter", "exclude", "pipeline", "layout", "dtype", "ndim"),
    *("problem", "problems", "problem_set"),
)


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof inspect``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "what",
        nargs="?",
        metavar="DIRECTION|DIR|REPORT",
        help="what is computed (see 'ckprof list directions'), with instances to build; or the folder of a "
        "build, or a report",
    )
    add_instance_options(parser)
    add_problem_options(parser)
    shared_options.add_build_options(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--diff",
        nargs=2,
        type=Path,
        metavar=("BEFORE", "AFTER"),
        help="compare two builds by the names of their kernels",
    )
    group.add_argument("--sort", metavar="FIELD", help="largest first, e.g. vgprs, lds_bytes, bound_us")
    group.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITION",
        help="only rows that meet it, e.g. spills>0, limited_by=lds, waves_per_simd<2 (repeatable, ANDed)",
    )
    group.add_argument("--variants", action="store_true", help="a row for each device function of a kernel")
    add_format(group, "csv")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, an option, a file or the toolchain is wrong.
    """
    if arguments.diff is not None:
        return _diff(arguments, session)
    if arguments.what is None:
        raise UsageError("name a direction with instances to build, a folder of a build, or a JSON report")
    operations = session.registry.operations
    if arguments.what in {name for item in operations for name in (item.id, *item.aliases)}:
        inspection, failed, shown = _built(arguments, session)
        if shown:
            return ExitCode.FAILED if failed else ExitCode.OK
    elif not Path(arguments.what).exists():
        directions = ", ".join(operations.ids)
        raise InputError(
            f"is neither a direction ({directions}) nor the folder of a build or a report", arguments.what
        )
    else:
        inspection, failed = _loaded(Path(arguments.what), arguments, session)
    _show(arguments, session, inspection)
    return ExitCode.FAILED if failed else ExitCode.OK


def _built(arguments: argparse.Namespace, session: Session) -> tuple[Inspection, bool, bool]:
    """Build the instances, and show them in what plugins have for it.

    :returns: what is in their code objects; whether something failed; whether standard output has a result.
    """
    selection = chosen_selection(arguments, session, arguments.what)
    problems = parsed_problems(arguments, session, session.registry.operation(selection.direction))
    if len(problems) > 1:
        raise UsageError("estimates are about one problem: give one")
    shows = [
        show
        for view in session.registry.inspection_views
        if (show := view.prepare(arguments, session, selection, problems)) is not None
    ]
    inspection, library = inspect_selection(
        session.profiler, selection, shared_options.chosen_build_options(arguments), *problems
    )
    report_rejections(library.rejected, session.console)
    failed = any(rejection.status.is_failure for rejection in library.rejected)
    shown = False
    for show in shows:
        in_place, complete = show(inspection)
        shown |= in_place
        failed |= not complete
    return inspection, failed, shown


def _loaded(path: Path, arguments: argparse.Namespace, session: Session) -> tuple[Inspection, bool]:
    """Read a folder or a report; return what it says, and whether a kernel did not compile."""
    further = [option for view in session.registry.inspection_views for option in view.options]
    given = [option for option in (*_OF_DIRECTIONS, *further) if getattr(arguments, option)]
    if given:
        option = given[0].replace("_", "-")
        raise UsageError(f"--{option} goes with a direction whose instances are built, not with {path}")
    inspection, failures = load_inspection(
        session.profiler, path, shared_options.chosen_build_options(arguments)
    )
    for name, (status, message) in failures.items():
        session.console.warning(f"{status.value}: {name}: {message}")
    return inspection, bool(failures)


def _show(arguments: argparse.Namespace, session: Session, inspection: Inspection) -> None:
    tests = [condition(text) for text in arguments.where]
    rows = rows_of(inspection.kernels, variants=arguments.variants)
    kept = [row for row in rows if all(test(row) for test in tests)]
    if arguments.sort:
        kept = sort_rows(kept, arguments.sort)
    if arguments.format == "csv":
        session.console.result(render_csv(kept).rstrip("\n"))
    elif arguments.format == "json":
        names = {row["name"] for row in kept}
        kernels = tuple(kernel for kernel in inspection.kernels if kernel.name in names)
        session.console.result(render_report(replace(inspection, kernels=kernels)).rstrip("\n"))
    else:
        session.console.result(inspection_document(inspection, kept))


def _diff(arguments: argparse.Namespace, session: Session) -> ExitCode:
    if arguments.what is not None:
        raise UsageError("--diff takes two builds or reports and nothing else")
    (before, failed), (after, failed_after) = (_loaded(path, arguments, session) for path in arguments.diff)
    comparison = compare(before, after)
    changes = [asdict(change) for change in comparison.changes]
    if arguments.format == "csv":
        session.console.result(render_csv(changes).rstrip("\n"))
    else:
        content = {
            "changes": changes,
            "only_before": comparison.only_before,
            "only_after": comparison.only_after,
            "worse": len(comparison.worse),
        }
        session.console.result_in(arguments.format, content, comparison_document(comparison))
    return ExitCode.FAILED if comparison.worse or failed or failed_after else ExitCode.OK
