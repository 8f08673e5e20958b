"""``ckprof validate``: judge a time model by measured times that it has not seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.selection_requests import ValidateOptions
from ckprof.errors import ExitCode
from ckprof.report.validation_text import validation_text, validation_values

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof validate model.json unseen.csv
  ckprof validate model.json unseen.csv --training sweep.csv --format json

For every problem of the table the model chooses among the kernels that were measured on it; the figure is
the best time divided by the time of the chosen kernel. It is printed beside those of the kernel that is best
on average, of the best kernel of the most similar training problem (with --training), and of what nobody can
beat because the times of equal kernels scatter. Kernels that the model does not know are predicted from the
most similar ones.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof validate``."""
    parser.epilog = _EPILOG
    parser.add_argument("model", type=Path, metavar="MODEL", help="a file of 'ckprof train'")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a store, or a table of measured times"
    )
    parser.add_argument(
        "--training",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="what the model was trained on, for the nearest neighbour (repeatable)",
    )
    parser.add_argument(
        "--top", type=_positive, default=3, metavar="K", help="best of the predicted best K (default: 3)"
    )
    parser.add_argument("--boost", action="store_true", help="correct predictions by the model's trees")
    parser.add_argument("--force", action="store_true", help="take a model of another device")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: the model, a table or an option is wrong.
    """
    found = session.profiler.validate(
        ValidateOptions(
            model=arguments.model,
            files=tuple(arguments.files),
            training=tuple(arguments.training),
            top=arguments.top,
            boost=arguments.boost,
            force=arguments.force,
        )
    )
    for line in found.dropped:
        session.console.info(f"left out: {line}")
    if arguments.format == "json":
        session.console.result(json.dumps(validation_values(found), indent=1))
    else:
        session.console.result(validation_text(found))
    return ExitCode.OK


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


# argparse names the type in "invalid ... value"
_positive.__name__ = "positive integer"
