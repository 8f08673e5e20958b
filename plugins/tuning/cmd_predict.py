"""``ckprof predict``: kernels ranked by times that follow from their machine code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.instance_report import report_rejections
from ckprof.cli.outputs import add_outputs, check_report
from ckprof.cli.run_options import add_problem_options, parsed_problems
from ckprof.errors import ExitCode, UsageError
from ckprof.formatting import counted
from ckprof.model.problem_types import sizes
from ckprof.report.document import Document, Part
from ckprof.report.table import Column, Table
from ckprof_plugins.tuning.gate.comparison import GateOptions
from ckprof_plugins.tuning.options import PredictOptions
from ckprof_plugins.tuning.predicted_interval import SHARE
from ckprof_plugins.tuning.predicted_times import SCHEMA, VERSION

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof_plugins.emulator.kernel_profile import ExecutedInstruction
    from ckprof_plugins.tuning.prediction import KernelPrediction, Predictions

_EPILOG = """\
examples:
  ckprof predict fwd --conf legacy.conf --target hip --arch gfx942 \\
      --problem "conv -n 32 -c 128 -H 56 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1"
  ckprof predict fwd --rule-set default --target hip --arch gfx950 --gpu MI355X --problems p.txt
  ckprof predict fwd --conf legacy.conf --instance 3 --target hip --arch gfx942 --problem "..." --hot 20
  ckprof predict fwd --conf legacy.conf --target hip --arch gfx942 --problems p.txt --write baseline.json
  ckprof predict fwd --conf legacy.conf --target hip --diff baseline.json /opt/rocm/include
  ckprof predict fwd --conf legacy.conf --target hip --arch gfx942 --problems p.txt \\
      --diff clang++-19 clang++-22 --fail-on slower=3%,spills,occupancy -o junit=gate.xml
  ckprof predict fwd --conf legacy.conf --target hip --arch gfx942 --problem "..." --kernel 25 \\
      --bisect ck@v1.0 ck@develop

No device is needed and nothing is measured: times are predicted from what the machine code does, and never
compared with measured ones. Kernels that are not compiled yet are compiled first. Exit code 1 when a kernel
does not compile or cannot be predicted, or none supports a problem; with --diff, by --fail-on. A side of
--diff is a baseline of --write, a store of 'ckprof sweep --predict', a folder of headers, FOLDER@REVISION of
one in Git, a list (.conf), or a compiler; sides that different time models have predicted are refused with
exit code 3.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof predict``."""
    parser.epilog = _EPILOG
    shared_options.add_instances(parser, optional=True)
    add_problem_options(parser)
    add_fields(parser.add_argument_group("prediction"), PredictOptions, "gpu", "measured", "hot", "splits")
    group = parser.add_argument_group("comparison")
    group.add_argument(
        "--diff",
        nargs=2,
        metavar=("BEFORE", "AFTER"),
        help="compare the predicted times of two sides, kernel by kernel, and say why they differ",
    )
    group.add_argument(
        "--bisect",
        nargs="+",
        metavar="STATE",
        help="which state made kernels slower: the good one first, the bad one last; of two revisions of one "
        "folder, as FOLDER@REVISION, the commits between them",
    )
    group.add_argument(
        "--kernel",
        metavar="LINE",
        help="only the kernels of this line of the list: its number, or FILE:NUMBER (of --diff and --bisect)",
    )
    add_fields(group, GateOptions)
    group.add_argument(
        "--write",
        type=Path,
        metavar="FILE",
        help="write the figures as a baseline, which --diff compares with; of --diff, those of AFTER",
    )
    shared_options.add_build_options(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        choices=(*_FORMATS, *_FORMATS_OF_DIFF),
        default="table",
        help=f"format of the result (default: table); with --diff also {', '.join(_FORMATS_OF_DIFF)}",
    )
    add_outputs(group)


_FORMATS: Final = ("table", "json")
_FORMATS_OF_DIFF: Final = ("md", "html", "junit", "github")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option or the toolchain is wrong.
    """
    if arguments.bisect:
        from ckprof_plugins.tuning.gate.command import run_bisect

        return run_bisect(arguments, session)
    if arguments.diff:
        from ckprof_plugins.tuning.gate.command import run_diff

        return run_diff(arguments, session)
    _require_plain(arguments)
    check_report(arguments.write)
    selection = shared_options.chosen_selection(arguments, session, arguments.direction)
    operation = session.registry.operation(selection.direction)
    options = chosen(
        arguments,
        PredictOptions,
        selection=selection,
        problems=tuple(parsed_problems(arguments, session, operation)),
        build=shared_options.chosen_build_options(arguments),
    )
    predictions = _predicted(arguments, session, options)
    report_rejections(predictions.library.rejected, session.console)
    if arguments.measured and not predictions.calibration.pairs:
        session.console.warning("no measured time is of these kernels: predicted times are not corrected")
    hot = arguments.hot or 0
    session.console.result_in(arguments.format, _content(predictions, hot), _document(predictions, hot))
    none = any(not any(kernel.time for kernel in kernels) for _, kernels in predictions.problems)
    return ExitCode.FAILED if predictions.failed or none else ExitCode.OK


def _require_plain(arguments: argparse.Namespace) -> None:
    """Refuse what is about comparisons alone.

    :raises UsageError: there is some of it, or no direction.
    """
    if arguments.direction is None:
        raise UsageError("no DIRECTION given: see 'ckprof list directions'")
    further = [form for _, form in arguments.outputs or () if form]
    for form in (arguments.format, *further):
        if form in _FORMATS_OF_DIFF:
            raise UsageError(f"--format {form} shows a comparison: give --diff, too")
    if further:
        raise UsageError(f"-o {further[0]}=FILE goes with --diff: name the format with --format")
    if arguments.fail_on is not None:
        raise UsageError("--fail-on says what fails a comparison: give --diff, too")
    if arguments.kernel:
        raise UsageError(
            "--kernel goes with --diff and --bisect: choose instances with --instance or --filter"
        )


def _predicted(arguments: argparse.Namespace, session: Session, options: PredictOptions) -> Predictions:
    if arguments.write is None:
        from ckprof_plugins.tuning.prediction import predict

        return predict(session.profiler, options)
    from ckprof_plugins.tuning.gate.baseline import write_baseline
    from ckprof_plugins.tuning.gate.gate import predict_figures

    predictions, figures = predict_figures(session.profiler, options)
    write_baseline(figures, arguments.write)
    session.console.info(f"wrote {arguments.write}: a baseline of the predicted figures")
    return predictions


def _content(predictions: Predictions, hot: int) -> dict[str, Any]:
    kernels = predictions.library.built
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "predicted": True,
        "target": predictions.target,
        "direction": predictions.library.direction.id,
        "dtypes": sorted({kernel.instance.dtype.value for kernel in kernels}),
        "arch": predictions.arch,
        "model": predictions.device.name,
        "compute_units": predictions.device.compute_units,
        "calibration": {
            "measured_times": predictions.calibration.pairs,
            "device_factor": predictions.calibration.device,
            "kernel_factors": dict(predictions.calibration.kernels),
        },
        "instances": [
            {
                "key": kernel.instance.key,
                "name": kernel.name,
                "pipeline": kernel.instance.pipeline,
                "fields": kernel.instance.fields(),
            }
            for kernel in kernels
        ],
        "problems": [
            {
                "problem": case.problem.describe(),
                "sizes": sizes(case.problem),
                "kernels": [_kernel(kernel, hot) for kernel in kernels],
            }
            for case, kernels in predictions.problems
        ],
    }


def _kernel(kernel: KernelPrediction, hot: int) -> dict[str, Any]:
    time = kernel.time
    named: dict[str, Any] = {
        "name": kernel.kernel.name,
        "key": kernel.kernel.instance.key,
        "split_k": kernel.split_k,
        "status": "predicted" if time else "unsupported" if kernel.answer.unsupported else "failed",
    }
    if time is None:
        return {**named, "reason": kernel.answer.reason}
    return {
        **named,
        "predicted_us": time.time_us,
        "interval_us": list(kernel.interval_us),
        "extrapolation_us": time.extrapolation_us,
        "limit": time.limit,
        "ceiling_share": time.ceiling_share,
        "workgroups": time.workgroups,
        "workgroups_per_cu": time.resident,
        "queue": time.queue,
        "parts_us": dict(time.parts),
        "busy": dict(time.busy),
        "stalls": dict(time.stalls),
        "hot": [
            {"address": one.address, "text": one.text, "share": one.share, "executions": one.executions}
            for one in (time.profile.hottest(hot) if time.profile is not None else ())
        ],
    }


def _document(predictions: Predictions, hot: int) -> Document:
    pairs = predictions.calibration.pairs
    corrected = f"corrected by {counted(pairs, 'measured time')}" if pairs else "nothing was measured"
    parts: list[Part] = [
        f"predicted for {predictions.device.name} ({predictions.arch}) from machine code; {corrected}; "
        f"intervals are those that hold {SHARE:.0%} of the published times of gfx950"
    ]
    for number, (case, kernels) in enumerate(predictions.problems):
        parts.append(f"Problem {number}: {case.problem.describe()}")
        parts.append(_table(kernels))
        for kernel in kernels:
            if hot and kernel.time is not None and kernel.time.profile is not None:
                parts += [kernel.kernel.name, Table(_HOT, kernel.time.profile.hottest(hot))]
    return Document(parts)


_HOT: list[Column[ExecutedInstruction]] = [
    Column("address", lambda entry: f"{entry.address:#x}"),
    Column("waves' time", lambda entry: entry.share, form=".1%", align="right"),
    Column("executions", lambda entry: entry.executions, align="right"),
    Column("instruction", lambda entry: entry.text),
]


def _interval(row: tuple[int, KernelPrediction]) -> str:
    low, high = row[1].interval_us
    return f"{low:.4g} to {high:.4g}" if row[1].time is not None else ""


def _table(kernels: Sequence[KernelPrediction]) -> Table[tuple[int, KernelPrediction]]:
    def figure(get: str) -> Any:
        return lambda row: getattr(row[1].time, get) if row[1].time is not None else None

    def busy(unit: str) -> Any:
        return lambda row: row[1].time.busy.get(unit) if row[1].time is not None else None

    columns: list[Column[tuple[int, KernelPrediction]]] = [
        Column("rank", lambda row: row[0] if row[1].time is not None else None, align="right"),
        Column("instance", lambda row: row[1].kernel.name, names=lambda row: row[1].kernel.shown),
        Column("split_k", lambda row: row[1].split_k, priority=2, align="right"),
        Column("predicted", figure("time_us"), unit="us", form=".2f", align="right"),
        Column("interval us", _interval, align="right", priority=2),
        Column("of the roofline ceiling", figure("ceiling_share"), form=".1%", align="right"),
        Column("bound by", figure("limit"), text=lambda row: row[1].time.limit if row[1].time else ""),
        Column("matrix units", busy("matrix"), form=".0%", align="right", priority=3),
        Column("LDS", busy("lds"), form=".0%", align="right", priority=3),
        Column("memory unit", busy("memory"), form=".0%", align="right", priority=3),
        Column("wg/CU", figure("resident"), align="right", priority=2),
        Column("wg", figure("workgroups"), align="right", priority=2),
        Column("reason", lambda row: row[1].answer.reason, whole_below=True),
    ]
    return Table(columns, [*enumerate(kernels, 1)], elsewhere="--format json has every figure")
