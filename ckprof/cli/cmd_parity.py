"""``ckprof parity``: prove that the generated instances are those that CK Builder has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.parity_request import ParityRequest
from ckprof.cli import parity_options, shared_options
from ckprof.errors import ExitCode
from ckprof.parity.lockfile import DEFAULT_PATH, write_lock

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof parity fwd --conf legacy.conf                        # computed on both sides, builds nothing
  ckprof parity fwd --conf legacy.conf --against profiler.log # what the tile profiler printed
  ckprof parity fwd --conf legacy.conf --from both            # ask the built kernels as well
  ckprof parity --all                                         # every list that ships with ckprof
  ckprof parity fwd --conf legacy.conf --write parity.lock    # write a lock file
  ckprof parity --locked                                      # compare with parity.lock: for CI

Strings are compared as multisets after normalisation: true and 1, false and 0 are the same, fields that a
revision does not print have the value that their absence stands for. Lossy is what catalogs cannot say: it is
listed, and fails the command with --fail-on missing,extra,duplicate,lossy. What a rule leaves out is listed
as skipped and never counts as a match. Exit code 0: everything asked for matches, 1: it does not.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof parity``."""
    parser.epilog = _EPILOG
    known = ", ".join(session.registry.operations.ids)
    parser.add_argument(
        "direction",
        metavar="DIRECTION",
        nargs="?",
        help=f"what is computed: {known}; may be left out with --all, --tree and --locked",
    )
    which = parser.add_argument_group("what is compared")
    which.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="FILE",
        help="instance list: a legacy .conf, or a catalog together with --against; lists that ship with "
        "ckprof work by name (repeatable; each is compared by itself, but all together with --against or a "
        "library)",
    )
    which.add_argument("--all", action="store_true", help="every list that ships with ckprof")
    which.add_argument(
        "--tree", type=Path, metavar="DIR", help="every DIR/<direction>/<set>/<name>.conf, each by itself"
    )
    which.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="CK Builder's strings: one a line, or the log of a profiler run (default: computed from the "
        "list)",
    )
    which.add_argument(
        "--from",
        dest="source",
        choices=("library", "catalog", "both"),
        help="where the generated instances come from (default: catalog, or both with --library); with both, "
        "library and catalog must agree first",
    )
    which.add_argument(
        "--library", type=Path, metavar="PATH", help="the built kernel library (default: it is built)"
    )
    _add_lock_options(parser)
    parity_options.add_comparison_options(parser, session)
    parity_options.add_reading_options(parser)
    shared_options.add_build_options(parser, session)


def _add_lock_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the lock file."""
    locking = parser.add_argument_group("lock file")
    locking.add_argument(
        "--write", type=Path, metavar="FILE", help="write the strings to this file if everything matches"
    )
    locking.add_argument(
        "--locked",
        nargs="?",
        const=DEFAULT_PATH,
        metavar="FILE",
        help=f"compare with the strings of this file (default: {DEFAULT_PATH}) instead of CK Builder's; "
        "without --conf, all of its lists",
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a log, the library or an option is wrong.
    """
    session.registry.parity_formats.find(arguments.format)
    request = _request(arguments, session)
    report, lock = session.profiler.check_parity(request)
    code = parity_options.print_report(arguments, session, report)
    if request.write is not None:
        if code is not ExitCode.OK:
            session.console.error(f"{request.write} is not written: the strings do not match")
            return code
        written = write_lock(request.write, lock)
        count = sum(len(item.strings) for item in lock.expected)
        session.console.info(f"{'wrote' if written else 'unchanged'} {request.write}: {count} strings")
    return code


def _request(arguments: argparse.Namespace, session: Session) -> ParityRequest:
    """Return what the options ask.

    :raises UsageError: an option is wrong.
    """
    direction, locked = arguments.direction, arguments.locked
    ids = {id_ for one in session.registry.operations for id_ in (one.id, *one.aliases)}
    if direction is None and locked in ids:
        # argparse took the direction for the file of --locked
        direction, locked = locked, DEFAULT_PATH
    return ParityRequest(
        direction=direction,
        conf=tuple(arguments.conf),
        shipped=arguments.all,
        tree=arguments.tree,
        against=arguments.against,
        source=arguments.source,
        library=arguments.library,
        locked=Path(locked) if locked is not None else None,
        write=arguments.write,
        revision=arguments.revision,
        reading=shared_options.chosen_list_reading(arguments, session, [direction] if direction else []),
        build=shared_options.chosen_build_options(arguments),
        fail_on=parity_options.chosen_findings(arguments),
    )
