"""``ckprof train``: fit a time model to measured times."""

from __future__ import annotations

from dataclasses import asdict
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.errors import ExitCode
from ckprof.files import write_output
from ckprof.formatting import counted, percent
from ckprof_plugins.tuning.options import TrainOptions
from ckprof_plugins.tuning.training import LEAST_JUDGED, LEAST_PROBLEMS

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof_plugins.tuning.time_model.model import TimeModel

_EPILOG = f"""\
examples:
  ckprof train sweep.csv --direction fwd --dtype bf16 -o model.json
  ckprof train results.db -o model.json
  ckprof train gfx950_a.csv gfx950_b.csv --direction fwd --dtype bf16 --layout nhwgc -o model.json
  ckprof train --predicted predicted.json --direction fwd --dtype bf16 -o model.json       # nothing measured
  ckprof train few.csv --predicted predicted.json --direction fwd --dtype bf16 -o model.json

Training needs the times of {LEAST_PROBLEMS} problems or more, and cross-validation those of {LEAST_JUDGED}.

A store of 'ckprof sweep' says direction and type itself, unless it has several. A table has one column per
kernel or one row per measurement, each after the columns of the problem: N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,
pad_h,pad_w, or for other operations than convolutions the fields of their problems, such as m,n,k. The model
predicts times from tiles, rounds of workgroups over the compute units, iterations and traffic. Printed
efficiencies are by cross-validation: best time divided by the time of the chosen kernel on problems held out
of the fit. 'ckprof validate' judges by further measurements. --predicted takes times that 'ckprof predict
--format json' derives from machine code: alone, or together with few measured times. The model and all that
use it say so.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof train``."""
    parser.epilog = _EPILOG
    add_fields(parser, TrainOptions)
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="PATH", help="where the model is written"
    )
    add_format(parser, to_file=False)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a table or an option is wrong.
    """
    from ckprof_plugins.tuning.time_model.model_file import render_model
    from ckprof_plugins.tuning.training import train

    model = train(session.profiler, chosen(arguments, TrainOptions))
    for line in model.origin.dropped:
        session.console.info(f"excluded: {line}")
    write_output(arguments.output, render_model(model))
    session.console.result_in(
        arguments.format, _values(model, arguments.output), _text(model, arguments.output)
    )
    return ExitCode.OK


def _values(model: TimeModel, path: Path) -> dict[str, object]:
    return {
        "model": str(path),
        "device": model.device,
        "target": model.target,
        "compute_units": model.compute_units,
        "shapes": model.origin.problems,
        "kernels": len(model.kernels),
        "rows": model.origin.rows,
        "predicted_rows": model.predicted,
        "dropped": list(model.origin.dropped),
        "cross_validation": None if model.quality is None else asdict(model.quality),
    }


def _text(model: TimeModel, path: Path) -> str:
    lines = [
        f"{counted(model.origin.rows, 'time')} of {counted(len(model.kernels), 'kernel')} "
        f"on {model.origin.problems} "
        f"problems; {model.device or 'unknown device'}, {counted(model.compute_units, 'compute unit')}"
    ]
    if model.predicted:
        measured = model.origin.rows - model.predicted
        lines.append(
            f"{model.predicted} of them predicted from machine code, not measured, {measured} measured; "
            f"95 % of measured times are taken to lie within a factor of {exp(model.predicted_half):.2f} "
            "of these"
        )
    if model.quality is not None:
        quality = model.quality
        against = " against these times" if model.predicted else ""
        lines.append(
            f"cross-validation{against}: mean {percent(quality.mean, 2)}, "
            f"median {percent(quality.median, 2)}, P10 {percent(quality.p10, 2)}, "
            f"worst {percent(quality.worst, 2)}"
        )
    else:
        lines.append(
            f"no cross-validation: it needs {LEAST_JUDGED} problems on which several kernels were measured"
        )
    return "\n".join([*lines, str(path)])
