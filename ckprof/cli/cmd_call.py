"""``ckprof call``: one run of one kernel of a built library, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.requests import CallOptions
from ckprof.cli import shared_options
from ckprof.errors import ExitCode
from ckprof.run.operands import InitKind

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
    shared_options.add_direction(parser, session)
    parser.add_argument("library", type=Path, metavar="LIBRARY", help="a library that 'ckprof build' made")
    parser.add_argument(
        "--problem", required=True, metavar="LINE", help="a problem line, as 'ckprof run' takes it"
    )
    parser.add_argument(
        "--kernel",
        metavar="N|NAME",
        help="number, name or start of the key (default: the first that supports the problem)",
    )
    parser.add_argument("--arch", metavar="NAME", help="device to choose (default: that of the library)")
    parser.add_argument("--device", type=int, default=0, metavar="N", help="index of the device (default: 0)")
    parser.add_argument(
        "--split-k", type=int, metavar="N", help="splits of the reduction (default: the line's, or 1)"
    )
    parser.add_argument("--warmup", type=int, default=0, metavar="N", help="untimed runs (default: 0)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="timed runs (default: 1)")
    parser.add_argument(
        "--median", action="store_true", help="report the median of the timed runs instead of their mean"
    )
    parser.add_argument(
        "--flush-bytes",
        type=int,
        default=0,
        metavar="N",
        help="bytes to touch before each timed run to evict the caches (default: 0)",
    )
    parser.add_argument(
        "--init",
        default=InitKind.DECIMAL.value,
        choices=[kind.value for kind in InitKind],
        help=f"what the operands hold (default: {InitKind.DECIMAL.value})",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the operands (default: 0)")
    parser.add_argument("--no-verify", action="store_true", help="do not compare with the reference")
    # the only form; programs that call the dispatcher's helper ask for it
    parser.add_argument("--json", action="store_true", help="print JSON, as without this option")
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds for the whole process (default: 60)"
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises UsageError: a number is out of range.
    :raises InputError: the problem or the library cannot be used.
    """
    import msgspec

    which = arguments.kernel
    options = CallOptions(
        kernel=int(which) if which is not None and which.isdecimal() else which,
        arch=arguments.arch,
        device=arguments.device,
        split_k=arguments.split_k,
        warmup=arguments.warmup,
        repeat=arguments.repeat,
        median=arguments.median,
        flush_bytes=arguments.flush_bytes,
        init=arguments.init,
        seed=arguments.seed,
        verify=not arguments.no_verify,
        timeout_s=arguments.timeout,
    )
    answer = session.profiler.call(arguments.library, arguments.direction, arguments.problem, options)
    usual = ExitCode.OK if answer["success"] else ExitCode.FAILED
    code = ExitCode(int(str(answer.pop("exit_code", int(usual)))))
    session.console.result(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    return code
