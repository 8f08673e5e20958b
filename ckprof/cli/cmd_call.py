"""``ckprof call``: one run of one kernel of a built library, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import add_output_file
from ckprof.errors import ExitCode
from ckprof.measure.requests import CallOptions

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof build fwd --rule-set tiny --build-dir out
  ckprof call fwd out/libckprof_conv_fwd.so --problem "2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"
  ckprof call fwd out/libckprof_conv_fwd.so --problem "..." --kernel 3 --warmup 3 --repeat 10

Prints one JSON object and nothing else. The kernel runs in a process of its own; one that crashes, hangs or
rejects the problem is reported in 'error', with exit code 1.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof call``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser)
    parser.add_argument("library", type=Path, metavar="LIBRARY", help="a library that 'ckprof build' made")
    parser.add_argument(
        "--problem", required=True, metavar="LINE", help="a MIOpenDriver conv line or ckProfiler's arguments"
    )
    add_fields(parser, CallOptions)
    add_output_file(parser)
    # the only form; programs that call the dispatcher's helper ask for it


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises UsageError: a number is out of range.
    :raises InputError: the problem or the library cannot be used.
    """
    import msgspec

    options = chosen(arguments, CallOptions)
    answer = session.profiler.call(arguments.library, arguments.direction, arguments.problem, options)
    usual = ExitCode.OK if answer["success"] else ExitCode.FAILED
    code = ExitCode(int(str(answer.pop("exit_code", int(usual)))))
    session.console.result(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    return code
