"""Figures of a time model, as text and as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

if TYPE_CHECKING:
    from ckprof.selection.measurements import Choice
    from ckprof.selection.metrics import Efficiency
    from ckprof.selection.validation import JudgedShape, Validation

#: problems with the largest losses that the table shows
_SHOWN = 10


def validation_values(found: Validation) -> dict[str, Any]:
    """Return a validation as plain JSON values; efficiencies are between 0 and 1."""
    return {
        **asdict(found.model),
        "shapes": len(found.shapes),
        "kernels": len(found.kernels),
        "derived_kernels": list(found.derived),
        "top": found.top,
        "best_of_top": asdict(found.best_of_top),
        "best_single": {"kernel": _name(found.single), **asdict(found.best_single)},
        "nearest_neighbour": None if found.nearest_neighbour is None else asdict(found.nearest_neighbour),
        "noise_ceiling": None if found.ceiling is None else asdict(found.ceiling),
        "dropped": list(found.dropped),
        "choices": [_shape_values(one) for one in found.shapes],
    }


def _shape_values(one: JudgedShape) -> dict[str, Any]:
    return {
        "problem": one.problem.describe(),
        "kernel": one.chosen[0],
        "splits": one.chosen[1],
        "time_us": one.chosen_us,
        "predicted_us": one.predicted_us,
        "uncertainty": one.uncertainty,
        "best_kernel": one.best[0],
        "best_splits": one.best[1],
        "best_us": one.best_us,
        "efficiency": one.efficiency,
        "warnings": list(one.warnings),
    }


def validation_text(found: Validation) -> str:
    """Return the figures beside those of simpler choices, and the problems with the largest losses."""
    rows = [_row("model", found.model), _row(f"best of the predicted best {found.top}", found.best_of_top)]
    rows.append(_row(f"best single kernel, {_name(found.single)}", found.best_single))
    if found.nearest_neighbour is not None:
        rows.append(_row("nearest neighbour", found.nearest_neighbour))
    if found.ceiling is not None:
        rows.append(_row("noise ceiling", found.ceiling))
    headers = ("best time / time of the choice", "mean", "median", "P10", "worst")
    outside = sum(bool(one.warnings) for one in found.shapes)
    lines = [
        tabulate(rows, headers=headers, disable_numparse=True),
        "",
        f"{len(found.shapes)} problems, {len(found.kernels)} kernels, "
        f"{len(found.derived)} of which the model does not know; "
        f"{outside} problems outside the trained range",
    ]
    worst = [one for one in sorted(found.shapes, key=lambda one: one.efficiency) if one.efficiency < 1]
    if worst:
        losses = [
            (f"{one.efficiency:.3f}", _name(one.chosen), f"{one.chosen_us:.2f}", _name(one.best),
             f"{one.best_us:.2f}", one.problem.describe())
            for one in worst[:_SHOWN]
        ]  # fmt: skip
        lines += ["", tabulate(losses, headers=("", "chosen", "us", "best", "us", "largest losses"))]
    return "\n".join(lines)


def percent(value: float) -> str:
    """Return a share as text."""
    return f"{100 * value:.2f} %"


def _row(label: str, figures: Efficiency) -> tuple[str, ...]:
    return label, *(percent(value) for value in (figures.mean, figures.median, figures.p10, figures.worst))


def _name(choice: Choice) -> str:
    name, splits = choice
    return name if splits == 1 else f"{name}, {splits} splits"
