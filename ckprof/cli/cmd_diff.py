"""``ckprof diff``: compare the instances of any two of list, catalog, native list, library and log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli import shared_options
from ckprof.cli.cmd_parity import add_comparison_options, print_report
from ckprof.cli.outputs import Outputs
from ckprof.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.errors import ExitCode

_EPILOG = """\
examples:
  ckprof diff old.conf new.conf
  ckprof diff legacy.conf catalog.json
  ckprof diff catalog.json libckprof_fwd.so
  ckprof diff legacy.conf profiler.log --format md

Compared are the strings that CK Builder prints for a list or a log, those of the kernels that are generated
from a catalog, and those that the kernels of a library print. "missing" is only in A, "extra" only in B.
Exit code 0: no difference, 1: there is one.
"""

#: what files of measurements begin with: a store, a run report, lines of attempts
_MEASUREMENTS: Final = (b"SQLite format 3\0", b'{"schema":"ckprof.run"', b'{"schema":"ckprof.attempts"')


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof diff``."""
    parser.epilog = _EPILOG
    parser.add_argument("first", metavar="A", help="list, catalog, native list, library or log")
    parser.add_argument("second", metavar="B", help="the other one")
    parser.add_argument("--direction", metavar="ID", help="insist on instances of this direction")
    add_comparison_options(parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a file or an option is wrong.
    """
    for name in (arguments.first, arguments.second):
        if holds_measurements(Path(name)):
            raise UsageError(
                f"{name} holds measurements, not instances: compare them with "
                f"'ckprof compare {arguments.first} {arguments.second}'"
            )
    with Outputs(arguments, session, session.registry.parity_formats) as outputs:
        report = session.profiler.diff(
            arguments.first,
            arguments.second,
            reading=shared_options.chosen_list_reading(
                arguments, session, [arguments.direction] if arguments.direction else []
            ),
            direction=arguments.direction,
            revision=arguments.revision,
            fail_on=arguments.fail_on,
        )
        return print_report(outputs, report)


def holds_measurements(path: Path) -> bool:
    """Say whether a file is a store, a run report or a file of attempts."""
    try:
        with path.open("rb") as stream:
            head = stream.read(4096)
    except OSError:
        return False  # to be reported where it is read
    # reports may have blanks between the words
    return head.startswith(_MEASUREMENTS) or b"".join(head.split()).startswith(_MEASUREMENTS)
