"""``ckprof validate``: judge a time model by measured times that it has not seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.errors import ExitCode
from ckprof_plugins.tuning.selection_requests import ValidateOptions
from ckprof_plugins.tuning.validation_text import validation_document, validation_values

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
beat because the times of equal kernels scatter. Problems that were measured with one kernel alone have no
such figure. Kernels that the model does not know are predicted from the most similar ones. Below the table
stands how many times lie in their intervals, which promise 95 %: those without a warning, those of the chosen
kernels, and those with a warning.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof validate``."""
    parser.epilog = _EPILOG
    add_fields(parser, ValidateOptions)
    add_format(parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: the model, a table or an option is wrong.
    """
    from ckprof_plugins.tuning.model_training import validate

    validation = validate(session.profiler, chosen(arguments, ValidateOptions))
    for line in validation.dropped:
        session.console.info(f"left out: {line}")
    if arguments.format == "json":
        session.console.result(json.dumps(validation_values(validation), indent=1))
    else:
        session.console.result(validation_document(validation))
    return ExitCode.OK
