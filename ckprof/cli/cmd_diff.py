"""``ckprof diff``: compare the instances of any two of list, catalog, native list, library and log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli import parity_options, shared_options

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

A list or a log stands for the strings that CK Builder prints for it, a catalog for those of the kernels that
are generated for it, a library for what its kernels say. "missing" is only in A, "extra" only in B.
Exit code 0: no difference, 1: there is one.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof diff``."""
    parser.epilog = _EPILOG
    parser.add_argument("first", metavar="A", help="list, catalog, native list, library or log")
    parser.add_argument("second", metavar="B", help="the other one")
    parser.add_argument("--direction", metavar="ID", help="insist on instances of this direction")
    parity_options.add_comparison_options(parser, session)
    parity_options.add_reading_options(parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a file or an option is wrong.
    """
    session.registry.parity_formats.find(arguments.format)
    report = session.profiler.diff(
        arguments.first,
        arguments.second,
        reading=shared_options.chosen_list_reading(arguments),
        direction=arguments.direction,
        revision=arguments.revision,
        fail_on=parity_options.chosen_findings(arguments),
    )
    return parity_options.print_report(arguments, session, report)
