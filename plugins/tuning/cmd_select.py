"""``ckprof select``: the kernels for a problem, by a time model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.cli.shared_options import add_instance_options, chosen_selection
from ckprof.errors import ExitCode, UsageError
from ckprof.formatting import counted
from ckprof.report.document import Document
from ckprof.report.figures import number, number_column
from ckprof.report.table import Column, Table
from ckprof_plugins.tuning.options import SelectOptions

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof_plugins.tuning.selection import ChosenKernel, KernelChoice

_EPILOG = """\
examples:
  ckprof select fwd --model model.json --conf legacy.conf \\
      --problem "conv -n 32 -c 128 -H 56 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1"
  ckprof select fwd --model model.json --conf legacy.conf --problem "..." --measure 3 --target cpu --force

The kernels are ranked by predicted times, best first; from the best one on they are compiled and asked
whether they support the problem, until --top kernels have been found; --no-support-check skips that.
--measure K builds, runs, verifies and times the K best and ranks these by their times. A model of another
device is refused without --force. 95 % of measured times lie between the ends of an interval on problems and
for kernels like those that the model was trained on; there is a warning for others. Exit code 1
when a measured kernel fails.
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
    shared_options.add_direction(parser)
    add_fields(parser.add_argument_group("selection"), SelectOptions)
    add_instance_options(parser)
    shared_options.add_build_options(parser)
    add_format(parser.add_argument_group("output"))


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: the model, a list, the problem, an option or the toolchain is wrong.
    """
    selection = chosen_selection(arguments, session, arguments.direction)
    (problem,) = session.profiler.problems(selection.direction, [arguments.problem])
    options = chosen(
        arguments,
        SelectOptions,
        selection=selection,
        problem=problem.problem,
        build=shared_options.chosen_build_options(arguments),
    )
    if options.measure and not options.check_support:
        raise UsageError("--measure runs what supports the problem: omit --no-support-check")
    from ckprof_plugins.tuning.selection import select

    choice = select(session.profiler, options)
    for line in choice.warnings:
        session.console.warning(line)
    for name, reason in choice.unsupported.items():
        session.console.detail(f"{name} does not support the problem: {reason}")
    session.console.result_in(arguments.format, _values(choice), _document(choice))
    failed = any(kernel.status and kernel.measured_us is None for kernel in choice.kernels)
    return ExitCode.FAILED if failed else ExitCode.OK


def _values(choice: KernelChoice) -> dict[str, object]:
    return {
        "device": choice.model.device,
        "candidates": choice.candidates,
        "unsupported": choice.unsupported,
        "warnings": list(choice.warnings),
        "kernels": [
            {
                "name": kernel.kernel.name,
                "key": kernel.kernel.instance.key,
                "splits": kernel.prediction.splits,
                "predicted_us": kernel.prediction.time_us,
                "uncertainty": kernel.prediction.uncertainty,
                "low_us": kernel.prediction.low_us,
                "high_us": kernel.prediction.high_us,
                "known": kernel.prediction.measured,
                "limit": kernel.prediction.limit,
                "measured_us": kernel.measured_us,
                "status": kernel.status or None,
            }
            for kernel in choice.kernels
        ],
    }


def _document(choice: KernelChoice) -> Document:
    measured = any(chosen.status for chosen in choice.kernels)
    columns: list[Column[tuple[int, ChosenKernel]]] = [
        Column("", lambda row: row[0]),
        Column("kernel", lambda row: row[1].kernel.name, names=lambda row: row[1].kernel.shown),
        Column("SplitK", lambda row: row[1].prediction.splits),
        number_column("predicted us", lambda row: row[1].prediction.time_us),
        Column(
            "95% interval us",
            lambda row: f"{number(row[1].prediction.low_us)} to {number(row[1].prediction.high_us)}",
            align="right",
        ),
        *([Column("measured us", _measured, align="right")] if measured else []),
        Column("limit", lambda row: _limit(row[1]), priority=1),
    ]
    table = Table(columns, [*enumerate(choice.kernels, 1)], elsewhere="--format json has every column")
    unsupported = f"{len(choice.unsupported)} better ones do not support the problem"
    return Document([table, f"{counted(choice.candidates, 'kernel')}, {unsupported}"])


def _measured(row: tuple[int, ChosenKernel]) -> str:
    _, chosen = row
    return number(chosen.measured_us) if chosen.measured_us is not None else chosen.status


def _limit(chosen: ChosenKernel) -> str:
    prediction = chosen.prediction
    return _LIMITS[prediction.limit] + ("" if prediction.measured else "; derived from similar kernels")
