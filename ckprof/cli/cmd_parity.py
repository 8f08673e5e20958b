"""``ckprof parity``: prove that the generated instances are those that CK Builder has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import Outputs, add_formats
from ckprof.errors import ExitCode
from ckprof.formatting import counted
from ckprof.model.conversion import ListReading
from ckprof.parity.check import check_parity
from ckprof.parity.lockfile import DEFAULT_PATH, write_lock
from ckprof.parity.request import ParityRequest

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.model.parity import ParityReport

_EPILOG = """\
examples:
  ckprof parity fwd --conf legacy.conf                        # computed on both sides, builds nothing
  ckprof parity fwd --conf legacy.conf --against profiler.log # what the tile profiler printed
  ckprof parity fwd --conf legacy.conf --builder CK_ROOT      # what the Builder of a source tree prints
  ckprof parity fwd --conf legacy.conf --generated both       # ask the built kernels as well
  ckprof parity --all                                         # every list that ships with ckprof
  ckprof parity fwd --conf legacy.conf --write parity.lock    # write a lock file
  ckprof parity --locked                                      # compare with parity.lock: for CI

Strings are compared as multisets after normalisation: true and 1, false and 0 are the same, and fields that
a revision does not print have their implied value. Lossy lines have properties that catalogs cannot hold:
they are listed, and fail the command with --fail-on missing,extra,duplicate,lossy. Instances that a rule
excludes are listed as skipped and never count as a match. Exit code 0: everything asked for matches, 1: it
does not.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof parity``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "direction",
        metavar="DIRECTION",
        nargs="?",
        help="what is computed: see 'ckprof list directions' (default: what the lists say)",
    )
    which = parser.add_argument_group("what is compared")
    add_fields(which, ParityRequest, "conf", "shipped", "tree", "against", "builder", "source", "library")
    locking = parser.add_argument_group("lock file")
    add_fields(locking, ParityRequest, "write")
    locking.add_argument(
        "--locked",
        nargs="?",
        const=DEFAULT_PATH,
        metavar="FILE",
        help=f"compare with the strings of this file (default: {DEFAULT_PATH}) instead of CK Builder's; "
        "without --conf, all of its lists",
    )
    add_comparison_options(parser)
    shared_options.add_build_options(parser)


def add_comparison_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides how strings are compared and reported, and how lists are read."""
    group = parser.add_argument_group("comparison")
    add_formats(group, "format of the result (default: table): {parity format}")
    add_fields(group, ParityRequest, "fail_on", "revision")
    add_fields(parser.add_argument_group("lists"), ListReading, "layout", "dtype", "lenient", "mma_k_table")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a log, the library or an option is wrong.
    """
    with Outputs(arguments, session, session.registry.parity_formats) as outputs:
        request = _request(arguments, session)
        report, lock = check_parity(session.profiler, request)
        code = print_report(outputs, report)
    if request.write is not None:
        if code is not ExitCode.OK:
            session.console.error(f"{request.write} is not written: the strings do not match")
            return code
        written = write_lock(request.write, lock)
        count = sum(len(item.strings) for item in lock.expected)
        session.console.info(
            f"{'wrote' if written else 'unchanged'} {request.write}: {counted(count, 'string')}"
        )
    return code


def _request(arguments: argparse.Namespace, session: Session) -> ParityRequest:
    """Return what the options ask."""
    direction, locked = arguments.direction, arguments.locked
    ids = {id_ for operation in session.registry.operations for id_ in (operation.id, *operation.aliases)}
    if direction is None and locked in ids:
        # argparse took the direction for the file of --locked
        direction, locked = locked, DEFAULT_PATH
    return chosen(
        arguments,
        ParityRequest,
        direction=direction,
        locked=Path(locked) if locked is not None else None,
        reading=shared_options.chosen_list_reading(arguments, session, [direction] if direction else []),
        build=shared_options.chosen_build_options(arguments),
    )


def print_report(outputs: Outputs, report: ParityReport) -> ExitCode:
    """Write the comparisons in all formats that were asked for, and return whether they are fine.

    :raises CkprofError: a format cannot show them, or a file cannot be written.
    """
    from ckprof.report.parity_text import parity_document

    outputs.deliver(report, parity_document)
    return ExitCode.OK if report.passed else ExitCode.FAILED
