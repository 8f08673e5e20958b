"""Comparisons for programs: JSON and CSV."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.problem_types import sizes
from ckprof.option import limits_text
from ckprof.report.figures import display_name
from ckprof.report.table import Column, Table
from ckprof.report.unserved import compared_unserved
from ckprof.sanitize import json_text

if TYPE_CHECKING:
    from ckprof.compare.compare import ComparedProblem, ComparedRow, Comparison
    from ckprof.compare.side import MeasuredRow, ProblemKey

SCHEMA: Final = "ckprof.compare"

#: raised whenever a key changes its meaning or vanishes; new keys do not raise it
VERSION: Final = 3


def _end(row: ComparedRow, place: int) -> float | None:
    interval = row.change.interval if row.change else None
    return math.exp(interval[place]) if interval else None


#: of one compared row; ratios are new time / old time, the error is the standard deviation of their logarithm
_COLUMNS: Final[list[Column[ComparedRow]]] = [
    Column("direction", lambda row: row.key.problem.direction),
    Column("problem", lambda row: row.key.problem.problem.describe()),
    Column("dtype", lambda row: row.key.problem.dtype),
    Column("layout", lambda row: row.key.problem.layout),
    Column("split_k", lambda row: row.key.split_k),
    Column("instance", lambda row: row.key.instance),
    Column("name", lambda row: display_name(row.old)),
    Column("verdict", lambda row: row.change and row.change.verdict.value),
    Column("ratio", lambda row: row.change.ratio if row.change else None),
    Column("ratio_low", lambda row: _end(row, 0)),
    Column("ratio_high", lambda row: _end(row, 1)),
    Column("error", lambda row: row.change.error if row.change else None),
    Column("p_value", lambda row: row.change.p_value if row.change else None),
    Column("passes_needed", lambda row: row.change and row.change.passes_needed),
    Column("old_ms", lambda row: row.old.time_ms if row.old.ranked else None),
    Column("new_ms", lambda row: row.new.time_ms if row.new.ranked else None),
    Column("old_passes", lambda row: len(row.old.trials)),
    Column("new_passes", lambda row: len(row.new.trials)),
    Column("old_rounds", lambda row: len(row.old.rounds)),
    Column("new_rounds", lambda row: len(row.new.rounds)),
    Column("old_error_ulp", lambda row: row.old.error_ulp),
    Column("new_error_ulp", lambda row: row.new.error_ulp),
    Column("old_status", lambda row: row.old.status.value),
    Column("new_status", lambda row: row.new.status.value),
    Column("reason", lambda row: " ".join(row.new.reason.split())),
]


def _table(comparison: Comparison) -> Table[ComparedRow]:
    failure: Column[ComparedRow] = Column("failure", lambda row: comparison.failure_of(row) or None)
    return Table([*_COLUMNS, failure], comparison.rows)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return everything as plain values. Ratios are new time / old time."""
    records = _table(comparison).records()
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "old": comparison.old_label,
        "new": comparison.new_label,
        "policy": {**asdict(comparison.policy), "fail_on": limits_text(comparison.policy.fail_on)},
        "failures": comparison.failures,
        "verdicts": {verdict.value: count for verdict, count in comparison.verdicts.items()},
        "geometric_mean": _mean_record(comparison),
        "shift": {**asdict(comparison.shift), "ratio": comparison.shift.ratio} if comparison.shift else None,
        "canaries": comparison.canaries,
        "conditions": [
            {**asdict(state), "contended": {mark.value: share for mark, share in state.contended.items()}}
            for state in comparison.states
        ],
        "settled": comparison.settled,
        "what_changed": [asdict(part) for part in comparison.what_changed],
        "problems": [_problem_record(problem) for problem in comparison.problems],
        "rows": [
            {**record, "problem_fields": sizes(row.key.problem.problem), "worsened": row.worsened}
            for record, row in zip(records, comparison.rows, strict=True)
        ],
        "unserved": [
            {**_key_record(key), "old": old and old.reason, "new": new and new.reason}
            for key, old, new in compared_unserved(comparison)
        ],
        "only_old": [_unmatched_record(row) for row in comparison.only_old],
        "only_new": [_unmatched_record(row) for row in comparison.only_new],
    }


def _mean_record(comparison: Comparison) -> dict[str, Any] | None:
    if comparison.geometric_mean is None:
        return None
    ratio, low, high = comparison.geometric_mean
    return {"ratio": ratio, "low": low, "high": high, "problems": len(comparison.problems)}


def _problem_record(problem: ComparedProblem) -> dict[str, Any]:
    """Return the best kernels of one problem."""
    return {
        **_key_record(problem.key),
        "old_best": display_name(problem.old),
        "new_best": display_name(problem.new),
        "old_ms": problem.old.time_ms,
        "new_ms": problem.new.time_ms,
        "ratio": problem.ratio,
        "changed": problem.changed,
        "old_best_now": problem.old_best_now,
    }


def _unmatched_record(row: MeasuredRow) -> dict[str, Any]:
    """Return a row that the other side does not have."""
    return {
        **_key_record(row.key.problem),
        "split_k": row.key.split_k,
        "instance": row.key.instance,
        "name": display_name(row),
        "status": row.status.value,
    }


def _key_record(key: ProblemKey) -> dict[str, str]:
    return {
        "direction": key.direction,
        "problem": key.problem.describe(),
        "dtype": key.dtype,
        "layout": key.layout,
    }


def render_json(comparison: Comparison) -> str:
    """Render everything."""
    return json_text(as_json(comparison)) + "\n"


def render_csv(comparison: Comparison) -> str:
    """Render one line per matched row; empty cells where there is no such figure."""
    return _table(comparison).csv()
