"""Rows of a comparison as plain values: what JSON, CSV and the HTML report show."""

from __future__ import annotations

import math
from itertools import takewhile
from typing import TYPE_CHECKING

from ckprof.model.problem import ConvProblem
from ckprof.model.problem_types import sizes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.compare.model import ComparedProblem, ComparedRow
    from ckprof.compare.side import Row
    from ckprof.model.problem import Problem

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


def short_problem(problem: Problem) -> str:
    """Return the sizes that have an effect, e.g. ``N4 C64-K128 28x28 filter 3x3 stride 2 pad 1``.

    Channels are those of one group. Values that are equal along all axes are written once.
    """

    if not isinstance(problem, ConvProblem):
        return problem.describe()

    def axes(values: tuple[int, ...]) -> str:
        return str(values[0]) if len(set(values)) == 1 else "x".join(map(str, values))

    parts = [f"N{problem.batch} C{problem.in_channels}-K{problem.out_channels}"]
    if problem.groups > 1:
        parts.insert(0, f"G{problem.groups}")
    parts.append("x".join(map(str, problem.input)))
    parts.append(f"filter {'x'.join(map(str, problem.filter))}")
    for name, values, usual in (("stride", problem.strides, 1), ("dilation", problem.dilations, 1)):
        if set(values) != {usual}:
            parts.append(f"{name} {axes(values)}")
    pads = axes(problem.left_pads)
    if problem.left_pads != problem.right_pads:
        pads += f"/{axes(problem.right_pads)}"
    return " ".join(parts if pads == "0" else [*parts, f"pad {pads}"])


def problem_fields(row: ComparedRow) -> dict[str, object]:
    """Return the sizes of a row's problem."""
    return sizes(row.key.problem.problem)


def change_text(ratio: float) -> str:
    """Return a ratio of times as percent, or as a factor where percent are hard to read."""
    if ratio >= 2:
        return f"x{ratio:.3g}"
    if ratio <= 0.5:
        return f"/{1 / ratio:.3g}"
    return f"{100 * (ratio - 1):+.1f}%"


def common_start(names: Iterable[str]) -> str:
    """Return the whole words that all names begin with, where there are several names."""
    distinct = set(names)
    columns = zip(*(name.split("_")[:-1] for name in distinct), strict=False)
    common = [words[0] for words in takewhile(lambda words: len(set(words)) == 1, columns)]
    return "".join(f"{word}_" for word in common) if len(distinct) > 1 else ""


def display_name(row: Row) -> str:
    """Return what readers call the kernel: its name, with the splits where they are not 1."""
    name = row.kernel.name or row.kernel.instance_string or row.key.instance[:12]
    return name if row.key.split_k == 1 else f"{name} (split-K {row.key.split_k})"
