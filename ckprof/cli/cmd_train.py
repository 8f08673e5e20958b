"""``ckprof train``: fit a time model to measured times."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.selection_requests import TrainOptions
from ckprof.catalog.writer import write_atomically
from ckprof.errors import ExitCode
from ckprof.model.dtype import DataType, spellings
from ckprof.report.validation_text import percent

if TYPE_CHECKING:
    import argparse

    from ckprof.api.model_training import TrainedModel
    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof train sweep.csv --direction fwd --dtype bf16 -o model.json
  ckprof train results.db --direction fwd --dtype bf16 -o model.json
  ckprof train gfx950_a.csv gfx950_b.csv --direction fwd --dtype bf16 --layout nhwgc -o model.json

A store of 'ckprof sweep' says everything itself. A table has one column per kernel or one row per
measurement, each behind the columns of the problem: N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w, or for
other operations than convolutions the fields of their problems, such as m,n,k. The model predicts times from
tiles, rounds of workgroups over the compute units, iterations and traffic. Printed figures are by
cross-validation: best time divided by the time of the chosen kernel on problems left out. 'ckprof validate'
judges by further measurements.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof train``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a store, or a table of measured times"
    )
    known = ", ".join(session.registry.operations.ids)
    parser.add_argument("--direction", required=True, metavar="ID", help=f"what was computed: {known}")
    parser.add_argument(
        "--dtype", required=True, metavar="NAME", help=f"type of the operands: {spellings(DataType)}"
    )
    parser.add_argument("--layout", default="", metavar="NAME", help="layout of the tensors, to be recorded")
    parser.add_argument("--arch", metavar="NAME", help="architecture (default: the one that the files name)")
    parser.add_argument(
        "--target",
        default="",
        metavar="ID",
        help="what ran the kernels of a table, if not the architecture itself (stores say it)",
    )
    parser.add_argument(
        "--compute-units",
        type=_positive,
        metavar="N",
        help="of the device (default: the architecture's, or the number that explains the times best)",
    )
    parser.add_argument(
        "--inspection",
        type=Path,
        metavar="PATH",
        help="report of 'ckprof inspect', or folder of a build: workgroups of each kernel on a compute unit",
    )
    parser.add_argument(
        "--boost",
        action="store_true",
        help="train boosted trees on what is left unexplained, too (pip install 'ckprof[boost]')",
    )
    parser.add_argument("--toolchain", default="", metavar="TEXT", help="compiler etc., to be recorded")
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="PATH", help="where the model is written"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a table or an option is wrong.
    """
    trained = session.profiler.train(
        TrainOptions(
            files=tuple(arguments.files),
            direction=arguments.direction,
            dtype=DataType.parse(arguments.dtype),
            layout=arguments.layout,
            arch=arguments.arch,
            target=arguments.target,
            units=arguments.compute_units,
            toolchain=arguments.toolchain,
            inspection=arguments.inspection,
            boost=arguments.boost,
        )
    )
    for line in trained.warnings:
        session.console.warning(line)
    for line in trained.table.dropped:
        session.console.info(f"left out: {line}")
    write_atomically(arguments.output, trained.text)
    if arguments.format == "json":
        session.console.result(json.dumps(_values(trained, arguments.output), indent=1))
    else:
        session.console.result(_text(trained, arguments.output))
    return ExitCode.OK


def _values(trained: TrainedModel, path: Path) -> dict[str, object]:
    return {
        "model": str(path),
        "device": trained.model.device,
        "target": trained.model.target,
        "compute_units": trained.model.units,
        "shapes": len(trained.table.problems),
        "kernels": len(trained.model.kernels),
        "rows": len(trained.table.times),
        "trees": len(trained.model.trees),
        "dropped": list(trained.table.dropped),
        "cross_validation": None if trained.quality is None else asdict(trained.quality),
    }


def _text(trained: TrainedModel, path: Path) -> str:
    model = trained.model
    lines = [
        f"{len(trained.table.times)} times of {len(model.kernels)} kernels on {len(trained.table.problems)} "
        f"problems; {model.device or 'unknown device'}, {model.units} compute units"
    ]
    if trained.quality is not None:
        found = trained.quality
        lines.append(
            f"cross-validation: mean {percent(found.mean)}, median {percent(found.median)}, "
            f"P10 {percent(found.p10)}, worst {percent(found.worst)}"
        )
    return "\n".join([*lines, str(path)])


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


# argparse names the type in "invalid ... value"
_positive.__name__ = "positive integer"
