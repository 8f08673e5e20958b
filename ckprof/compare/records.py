"""Rows of a comparison as plain values: what JSON, CSV and the HTML report show."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof.compare.model import ComparedProblem, ComparedRow
    from ckprof.compare.side import Row

Value = str | int | float | bool | None

#: columns of one compared row, in order
COLUMNS = (
    "direction",
    "problem",
    "dtype",
    "layout",
    "split_k",
    "instance",
    "name",
    "verdict",
    "ratio",
    "ratio_low",
    "ratio_high",
    "margin",
    "noise",
    "p_value",
    "rounds_needed",
    "old_ms",
    "new_ms",
    "old_rounds",
    "new_rounds",
    "old_status",
    "new_status",
    "reason",
)


def row_record(row: ComparedRow) -> dict[str, Value]:
    """Return one compared row; ratios are new time / old time, margin and noise are shares."""
    problem, judgement = row.key.problem, row.judgement
    change = judgement.change if judgement else None
    return {
        "direction": problem.direction,
        "problem": problem.problem.describe(),
        "dtype": problem.dtype,
        "layout": problem.layout,
        "split_k": row.key.split_k,
        "instance": row.key.instance,
        "name": display_name(row.old),
        "verdict": judgement.verdict.value if judgement else None,
        "ratio": change.ratio if change else None,
        "ratio_low": math.exp(change.low) if change else None,
        "ratio_high": math.exp(change.high) if change else None,
        "margin": math.expm1(change.margin) if change else None,
        "noise": math.expm1(change.noise) if change else None,
        "p_value": change.p_value if change else None,
        "rounds_needed": judgement.rounds_needed if judgement else None,
        "old_ms": row.old.mean_ms if row.old.ranked else None,
        "new_ms": row.new.mean_ms if row.new.ranked else None,
        "old_rounds": len(row.old.rounds),
        "new_rounds": len(row.new.rounds),
        "old_status": row.old.status.value,
        "new_status": row.new.status.value,
        "reason": " ".join(row.new.reason.split()),
    }


def problem_record(one: ComparedProblem) -> dict[str, Value]:
    """Return the best kernels of one problem."""
    return {
        "direction": one.key.direction,
        "problem": one.key.problem.describe(),
        "dtype": one.key.dtype,
        "layout": one.key.layout,
        "old_best": display_name(one.old),
        "new_best": display_name(one.new),
        "old_ms": one.old.mean_ms,
        "new_ms": one.new.mean_ms,
        "ratio": one.ratio,
        "changed": one.changed,
        "old_best_now": one.old_best_now,
    }


def unmatched_record(row: Row) -> dict[str, Value]:
    """Return a row that the other side does not have."""
    return {
        "direction": row.key.problem.direction,
        "problem": row.key.problem.problem.describe(),
        "dtype": row.key.problem.dtype,
        "layout": row.key.problem.layout,
        "split_k": row.key.split_k,
        "instance": row.key.instance,
        "name": display_name(row),
        "status": row.status.value,
    }


def problem_fields(row: ComparedRow) -> dict[str, object]:
    """Return the sizes of a row's problem."""
    return asdict(row.key.problem.problem)


def display_name(row: Row) -> str:
    """Return what readers call the kernel: its name, with the splits where they are not 1."""
    name = row.kernel.name or row.kernel.instance_string or row.key.instance[:12]
    return name if row.key.split_k == 1 else f"{name} (split-K {row.key.split_k})"
