"""``ckprof call``: one run of one kernel of a built library, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.errors import ExitCode, UsageError
from ckprof.problems.read import parse_problem
from ckprof.problems.tokens import ProblemLine
from ckprof.run.inputs import InitKind

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof build fwd --rule-set tiny --keep out
  ckprof call fwd out/libckprof_conv_fwd.so --problem "2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"
  ckprof call fwd out/libckprof_conv_fwd.so --problem "..." --kernel 3 --warmup 3 --repeat 10

Prints one JSON object and nothing else. The kernel runs in a process of its own; one that crashes, hangs or
rejects the problem is told in 'error', with exit code 1.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof call``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser, session)
    parser.add_argument("library", type=Path, metavar="LIBRARY", help="a libckprof_conv_<direction>.so")
    parser.add_argument(
        "--problem", required=True, metavar="LINE", help="a MIOpenDriver conv line or ckProfiler's arguments"
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
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds for the whole process (default: 60)"
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises UsageError: a number is out of range.
    :raises InputError: the problem or the library cannot be used.
    """
    import msgspec

    from ckprof.bindings.one_run import Request
    from ckprof.flow.call import call_kernel

    for option, least in (("device", 0), ("warmup", 0), ("repeat", 1), ("flush_bytes", 0), ("seed", 0)):
        value = getattr(arguments, option)
        if value < least:
            raise UsageError(f"--{option.replace('_', '-')} {value}: expected {least} or more")
    if not 0 < arguments.timeout < float("inf"):
        raise UsageError(f"--timeout {arguments.timeout:g}: expected a positive number of seconds")
    direction = shared_options.chosen_direction(arguments, session)
    line = ProblemLine(text=arguments.problem, path="--problem")
    parsed = parse_problem(line, direction, tuple(session.registry.directions))
    which = arguments.kernel
    split_k = arguments.split_k if arguments.split_k is not None else parsed.split_k
    answer = call_kernel(
        direction,
        Request(
            library=str(arguments.library),
            problem=parsed.problem,
            kernel=int(which) if which is not None and which.isdecimal() else which,
            arch=arguments.arch,
            device=arguments.device,
            split_k=1 if split_k is None else split_k,
            warmup=arguments.warmup,
            repeat=arguments.repeat,
            median=arguments.median,
            flush_bytes=arguments.flush_bytes,
            seed=arguments.seed,
            init=arguments.init,
        ),
        verify=not arguments.no_verify,
        timeout_s=arguments.timeout,
    )
    code = ExitCode(answer.pop("exit_code", ExitCode.OK if answer["success"] else ExitCode.FAILED))
    session.console.result(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    return code
