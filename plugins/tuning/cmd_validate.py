"""``ckprof validate``: judge a time model by measured times that it has not seen."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.cli.session import Session
from ckprof.errors import ExitCode
from ckprof.formatting import agreeing, counted, percent
from ckprof.model.problem import brief
from ckprof.report.document import Document
from ckprof.report.table import Column, Table
from ckprof_plugins.tuning.options import ValidateOptions
from ckprof_plugins.tuning.time_model.model import Efficiency

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof_plugins.tuning.time_model.measurements import Choice
    from ckprof_plugins.tuning.validation import JudgedShape, Validation


_EPILOG = """\
examples:
  ckprof validate model.json unseen.csv
  ckprof validate model.json unseen.csv --training sweep.csv --format json

For every problem of the table the model chooses among the kernels that were measured on it; the efficiency
is the best time divided by the time of the chosen kernel. For comparison: the kernel that is best on average,
the best kernel of the most similar training problem (with --training), and the noise ceiling, since the times
of equal kernels scatter. Problems that were measured with a single kernel have no efficiency. Kernels that
the model does not know are predicted from the most similar ones. Below the table: how many times lie in their
95 % intervals, without a warning, of chosen kernels, and with a warning.
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
    from ckprof_plugins.tuning.validation import validate

    validation = validate(session.profiler, chosen(arguments, ValidateOptions))
    for line in validation.dropped:
        session.console.info(f"excluded: {line}")
    session.console.result_in(
        arguments.format, validation_values(validation), validation_document(validation)
    )
    return ExitCode.OK


#: problems with the largest losses that the table shows
_SHOWN = 10


def validation_values(validation: Validation) -> dict[str, Any]:
    """Return a validation as plain JSON values; efficiencies and shares are between 0 and 1.

    Efficiencies are ``None`` where no problem had two kernels to choose among.
    """
    single = validation.single
    return {
        **(asdict(validation.model) if validation.model else dict.fromkeys(Efficiency.__dataclass_fields__)),
        "shapes": len(validation.shapes),
        "shapes_with_a_choice": sum(shape.choices > 1 for shape in validation.shapes),
        "kernels": len(validation.kernels),
        "derived_kernels": list(validation.derived),
        "coverage": _coverage_values(validation.inside),
        "warned_coverage": _coverage_values(validation.warned_inside),
        "chosen_coverage": _coverage_values(validation.chosen_inside),
        "top": validation.top,
        "best_of_top": _values(validation.best_of_top),
        "best_single": {"kernel": single and _name(single), **(_values(validation.best_single) or {})},
        "nearest_neighbour": _values(validation.nearest_neighbour),
        "noise_ceiling": _values(validation.ceiling),
        "dropped": list(validation.dropped),
        "basis": validation.basis,
        "seen": validation.seen,
        "unserved": [problem.describe() for problem in validation.unserved],
        "choices": [_shape_values(shape) for shape in validation.shapes],
    }


def _values(efficiency: Efficiency | None) -> dict[str, Any] | None:
    return None if efficiency is None else asdict(efficiency)


def _coverage_values(inside: Sequence[bool]) -> dict[str, Any]:
    share = sum(inside) / len(inside) if inside else None
    return {"times": len(inside), "inside": sum(inside), "share": share}


def _shape_values(shape: JudgedShape) -> dict[str, Any]:
    chosen = shape.prediction
    return {
        "problem": shape.problem.describe(),
        "kernel": chosen.kernel,
        "splits": chosen.splits,
        "time_us": shape.chosen_us,
        "predicted_us": chosen.time_us,
        "uncertainty": chosen.uncertainty,
        "low_us": chosen.low_us,
        "high_us": chosen.high_us,
        "best_kernel": shape.best[0],
        "best_splits": shape.best[1],
        "best_us": shape.best_us,
        "efficiency": shape.efficiency,
        "warnings": list(shape.warnings),
    }


def validation_document(validation: Validation) -> Document:
    """Return the figures, those of reference policies, and the problems with the largest losses."""
    single = "best single kernel"
    if validation.single is not None:
        single += f", {_name(validation.single)}"
    figures = [
        ("model", validation.model),
        (f"best of the predicted best {validation.top}", validation.best_of_top),
        (single, validation.best_single),
        ("nearest neighbour", validation.nearest_neighbour),
        ("noise ceiling", validation.ceiling),
    ]
    rows = [(label, efficiency) for label, efficiency in figures if efficiency is not None]
    columns: list[Column[tuple[str, Efficiency]]] = [
        Column("best time / time of the choice", lambda row: row[0]),
        Column("mean", lambda row: percent(row[1].mean, 2)),
        Column("median", lambda row: percent(row[1].median, 2)),
        Column("P10", lambda row: percent(row[1].p10, 2)),
        Column("worst", lambda row: percent(row[1].worst, 2)),
    ]
    counts = (
        f"{counted(len(validation.shapes), 'problem')}, {counted(len(validation.kernels), 'kernel')}, "
        f"{len(validation.derived)} of them unknown to the model"
    )
    alone = sum(shape.choices == 1 for shape in validation.shapes)
    document = Document([Table(columns, rows)] if rows else [])
    lines = [*filter(None, [validation.basis]), counts, _coverage_lines(validation)]
    if validation.seen:
        lines.insert(0, "the model was trained on these times: unseen problems are predicted less well")
    if alone:
        verb = agreeing(alone, "was", "were")
        lines.insert(
            -1, f"{counted(alone, 'problem')} {verb} measured with one kernel alone: nothing to choose among"
        )
    document.add("\n".join(lines), _unserved_lines(validation))
    by_loss = sorted(validation.shapes, key=lambda shape: shape.efficiency)
    worst = [shape for shape in by_loss if shape.efficiency < 1][:_SHOWN]
    if worst:
        document.add(Table(_LOSSES, worst))
    return document


def _unserved_lines(validation: Validation) -> str:
    """Return the problems without a measured kernel; empty if all have one."""
    unserved = validation.unserved
    if not unserved:
        return ""
    total = len(validation.shapes) + len(unserved)
    lines = [
        f"served by no kernel, so that there is nothing to choose: {len(unserved)} of "
        f"{counted(total, 'problem')}"
    ]
    lines += [f"  {problem.describe()}" for problem in unserved[:_SHOWN]]
    left = len(unserved) - _SHOWN
    return "\n".join([*lines, *([f"  and {left} more"] if left > 0 else [])])


def _coverage_lines(validation: Validation) -> str:
    """Return how many times lie in their intervals."""
    outside = sum(bool(shape.warnings) for shape in validation.shapes)
    parts = [
        f"{percent(sum(inside) / len(inside), 2)} of {len(inside)} {what}"
        for inside, what in (
            (validation.inside, "times"),
            (validation.chosen_inside, "chosen kernels"),
            (validation.warned_inside, "times with a warning"),
        )
        if inside
    ]
    unlike = "are unlike what the model was trained on"
    return (
        f"in intervals of 95 %: {', '.join(parts)}\n{counted(outside, 'problem')}, or their chosen "
        f"kernels, {unlike}"
    )


def _name(choice: Choice) -> str:
    name, splits = choice
    return name if splits == 1 else f"{name}, {splits} splits"


_LOSSES: Final[list[Column[JudgedShape]]] = [
    Column("", lambda shape: f"{shape.efficiency:.3f}", align="right"),
    Column(
        "chosen",
        lambda shape: _name((shape.prediction.kernel, shape.prediction.splits)),
        names=lambda shape: shape.prediction.kernel,
    ),
    Column("us", lambda shape: shape.chosen_us, align="right", form=".2f"),
    Column("best", lambda shape: _name(shape.best), names=lambda shape: shape.best[0]),
    Column("us", lambda shape: shape.best_us, align="right", form=".2f"),
    Column(
        "largest losses",
        lambda shape: shape.problem.describe(),
        short=lambda shape: brief(shape.problem),
    ),
]
