"""``ckprof select``: the kernels for a problem, by a time model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tabulate import tabulate

from ckprof.api.selection_requests import SelectOptions
from ckprof.cli import shared_options
from ckprof.cli.instances import add_instance_options, chosen_query
from ckprof.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import argparse

    from ckprof.api.kernel_selection import ChosenKernel, KernelChoice
    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof select fwd --model model.json --conf legacy.conf \\
      --problem "conv -n 32 -c 128 -H 56 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1"
  ckprof select fwd --model model.json --conf legacy.conf --problem "..." --measure 3 --target cpu --force

The kernels are ranked by predicted times, best first; from the best one on they are compiled and asked
whether they support the problem, until --top kernels have been found; --no-support-check leaves that out.
--measure K builds, runs, verifies and times the K best and ranks these by their times. A model of another
device is refused without --force. Exit code 1 when a measured kernel fails.
"""

#: what the limits of a prediction mean
_LIMITS = {
    "fixed": "launch and prologue",
    "floor": "the kernel's least time",
    "waiting": "latency of the iterations",
    "computing": "throughput of the compute units",
    "memory": "bandwidth",
    "gathering": "gathering rows from caches",
    "extra": "traffic of splits and workspaces",
}


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof select``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser, session)
    group = parser.add_argument_group("selection")
    group.add_argument("--model", required=True, type=Path, metavar="FILE", help="a file of 'ckprof train'")
    group.add_argument(
        "--problem", required=True, metavar="LINE", help="a MIOpenDriver conv line or ckProfiler's arguments"
    )
    group.add_argument(
        "--top", type=_positive, default=3, metavar="K", help="kernels that are shown (default: 3)"
    )
    group.add_argument(
        "--measure", type=_positive, default=0, metavar="K", help="build, run and time the K predicted best"
    )
    group.add_argument("--boost", action="store_true", help="correct predictions by the model's trees")
    group.add_argument("--no-support-check", action="store_true", help="do not ask the kernels' own tests")
    group.add_argument("--force", action="store_true", help="take a model of another device or type")
    add_instance_options(parser, session)
    shared_options.add_build_options(parser, session)
    group = parser.add_argument_group("output")
    group.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: the model, a list, the problem, an option or the toolchain is wrong.
    """
    selection = session.profiler.instances(chosen_query(arguments, session, [arguments.direction])).require()
    (problem,) = session.profiler.problems(selection.direction, [arguments.problem])
    if arguments.no_support_check and arguments.measure:
        raise UsageError("--measure runs what supports the problem: leave --no-support-check out")
    found = session.profiler.select(
        SelectOptions(
            model=arguments.model,
            selection=selection,
            problem=problem.problem,
            top=arguments.top,
            measure=arguments.measure,
            boost=arguments.boost,
            check_support=not arguments.no_support_check,
            build=shared_options.chosen_build_options(arguments),
            force=arguments.force,
        )
    )
    for line in found.warnings:
        session.console.warning(line)
    for name, reason in found.unsupported.items():
        session.console.detail(f"{name} does not support the problem: {reason}")
    if arguments.format == "json":
        session.console.result(json.dumps(_values(found), indent=1))
    else:
        session.console.result(_text(found))
    failed = any(one.status and one.measured_us is None for one in found.kernels)
    return ExitCode.FAILED if failed else ExitCode.OK


def _values(found: KernelChoice) -> dict[str, object]:
    return {
        "device": found.model.device,
        "candidates": found.candidates,
        "unsupported": found.unsupported,
        "warnings": list(found.warnings),
        "kernels": [
            {
                "name": one.kernel.name,
                "key": one.kernel.instance.key,
                "splits": one.prediction.splits,
                "predicted_us": one.prediction.time_us,
                "uncertainty": one.prediction.uncertainty,
                "known": one.prediction.measured,
                "limit": one.prediction.limit,
                "measured_us": one.measured_us,
                "status": one.status or None,
            }
            for one in found.kernels
        ],
    }


def _text(found: KernelChoice) -> str:
    measured = any(one.status for one in found.kernels)
    headers = ["", "kernel", "splits", "predicted us", "+-", *(["measured us"] if measured else []), "limit"]
    rows = [_row(place, one, measured=measured) for place, one in enumerate(found.kernels, 1)]
    table = tabulate(rows, headers=headers, disable_numparse=True)
    unsupported = f"{len(found.unsupported)} better ones do not support the problem"
    return f"{table}\n\n{found.candidates} kernels, {unsupported}"


def _row(place: int, one: ChosenKernel, *, measured: bool) -> list[str]:
    known = one.prediction
    time = [f"{one.measured_us:.2f}" if one.measured_us is not None else one.status] if measured else []
    limit = _LIMITS[known.limit] + ("" if known.measured else "; derived from similar kernels")
    return [
        str(place),
        one.kernel.name,
        str(known.splits),
        f"{known.time_us:.2f}",
        f"{100 * known.uncertainty:.0f} %",
        *time,
        limit,
    ]


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


# argparse names the type in "invalid ... value"
_positive.__name__ = "positive integer"
