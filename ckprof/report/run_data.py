"""Runs for programs: JSON with everything, CSV with one row per outcome."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.ranking import kernel_time, unranked_time_of
from ckprof.report.epilogue_cost import cost_as_json, cost_columns, epilogue_costs
from ckprof.report.rows import (
    baseline_rows,
    reason_of,
    requirement_counts,
    rows_of_problem,
    rows_with_baselines,
)
from ckprof.report.table import Column, Table
from ckprof.report.unserved import Unserved, unserved_in, with_unserved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.conversion import Conversion
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.results import RunResults
    from ckprof.report.rows import ResultRow

SCHEMA: Final = "ckprof.run"

#: raised whenever a key changes its meaning or vanishes; new keys do not raise it
VERSION: Final = 1


def render_json(results: RunResults) -> str:
    """Render everything that the run found out, with units in the keys."""
    return json.dumps(as_json(results), indent=2) + "\n"


def as_json(results: RunResults) -> dict[str, Any]:
    """Return the report as plain values."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "partial": results.partial,
        "notes": list(results.notes),
        "warnings": list(results.warnings),
        "direction": results.direction,
        "target": results.target,
        "arch": results.arch,
        "environment": dict(results.environment),
        "inputs": [_conversion(conversion) for conversion in results.conversions],
        "build": {
            **asdict(results.build),
            "separated": [{"kernels": names, "reason": why} for names, why in results.build.separated],
        },
        "stages_s": dict(results.stages_s),
        "instances": [_instance(instance) for instance in results.instances],
        "second_problems": {key: list(lines) for key, lines in results.second.items()},
        "same_kernels": [asdict(same) for same in results.same_kernels],
        "problems": [
            {
                "index": index,
                "text": problem.describe(),
                **problem.as_dict(),
                "best": best.key if (best := results.best(index)) else None,
                "unserved": unserved.reason if (unserved := unserved_in(results, index)) else None,
                "substitutions": [
                    {"kernel": substitution.kernel, "instances": list(substitution.instances)}
                    for substitution in results.substitutions
                    if substitution.problem_index == index
                ],
                "refused_by": [asdict(count) for count in requirement_counts(results, index)],
                "outcomes": [_row(row) for row in rows_of_problem(results, index)],
                "baselines": [_baseline(row) for row in baseline_rows(results, index)],
                **_epilogue_costs(results, index),
            }
            for index, problem in enumerate(results.problems)
        ],
    }


def _epilogue_costs(results: RunResults, problem_index: int) -> dict[str, Any]:
    """Return what epilogues cost; nothing of problems that have nothing beside them."""
    if problem_index not in results.unfused_problems:
        return {}
    costs = epilogue_costs(results, problem_index)
    return {"epilogue_costs": [cost_as_json(cost) for cost in costs]}


def _conversion(conversion: Conversion) -> dict[str, Any]:
    return {
        "path": str(conversion.path),
        "converter": conversion.converter,
        "lines": conversion.lines,
        "instances": sum(len(catalog.records) for catalog in conversion.catalogs),
        "dropped_by_rule": dict(conversion.dropped_by_rule),
        "dropped": [
            {"line": line, "rule": why.rule, "reason": why.message}
            for line, why in conversion.dropped.items()
        ],
        "lossy": [{"line": line, "what": what} for line, what in conversion.lossy.items()],
    }


def _instance(kernel: SelectedKernel) -> dict[str, Any]:
    names = ("key", "index", "id", "name", "instance_string", "pipeline", "dtype", "source", "layout")
    plain = {name: getattr(kernel, name) for name in names} | {"dtype": kernel.dtype.value}
    # only kernels that have one say so
    return plain if kernel.compute_type is None else {**plain, "compute_type": kernel.compute_type.value}


def _row(row: ResultRow) -> dict[str, Any]:
    outcome = row.outcome
    return {
        "rank": row.rank,
        "instance": row.instance.index,
        "key": outcome.key,
        **_attempt(row),
        "source": row.instance.source,
        "tied_with_best": row.tied,
        "split_k": outcome.split_k,
        "split_k_deduced": outcome.split_k_deduced,
        "ratios": dict(row.ratios),
    }


def _baseline(row: ResultRow) -> dict[str, Any]:
    return {
        "baseline": row.baseline,
        "name": row.instance.name,
        "dtype": row.instance.dtype.value,
        "layout": row.instance.layout,
        **({"compute_type": row.instance.compute_type.value} if row.instance.compute_type else {}),
        **_attempt(row),
    }


def _attempt(row: ResultRow) -> dict[str, Any]:
    outcome = row.outcome
    verification = outcome.verification
    return {
        "status": outcome.status.value,
        "reason": outcome.reason,
        "refusals": [
            {"condition": rejection.rule, "message": rejection.message}
            for rejection in outcome.unmet_requirements
        ],
        "noisy": row.noisy,
        "gflops": row.gflops,
        "gbytes_per_s": row.gbytes,
        "measurement": asdict(outcome.measurement) if outcome.measurement else None,
        "statistic": _statistic(row),
        "standing": _standing(row),
        "verification": {
            **asdict(verification),
            "passed": verification.passed,
            "error_ulp": verification.error_ulp,
        }
        if verification
        else None,
    }


def _statistic(row: ResultRow) -> str | None:
    time = unranked_time_of(row.outcome)
    return time.statistic if time is not None else None


def _standing(row: ResultRow) -> dict[str, Any] | None:
    """Return what the rounds say of an outcome; ``None`` where it was not measured in rounds."""
    rounds = row.outcome.rounds
    time = kernel_time(rounds)
    if time is None:
        return None
    return {
        "group": int(rounds[0].place[0]) if rounds[0].place else 0,
        "counted": len(time.rounds),
        "taken": len(rounds),
        "ratio": row.ratio,
        "tied": row.rank == 1,
        "left_early": row.outcome.pruned,
    }


def render_csv(results: RunResults) -> str:
    """Render all outcomes; empty cells where there is no such figure."""
    rows: list[ResultRow | Unserved] = []
    for index in range(len(results.problems)):
        rows += rows_with_baselines(results, index)
        unserved = unserved_in(results, index)
        if unserved is not None and not unserved.complete:
            rows.append(unserved)
    return data_table(results, rows).csv()


def data_table(results: RunResults, rows: Sequence[ResultRow | Unserved]) -> Table[ResultRow | Unserved]:
    """Return the table of CSV, with a column that says so where the run is partial."""
    shown = {
        "problem": lambda row: row.number,
        "problem_text": lambda row: row.problem.describe(),
        "name": lambda row: "none",
        "status": lambda row: None if row.complete else "not measured",
        "reason": lambda row: row.reason,
        "partial": lambda row: results.partial,
    }
    columns = data_columns(results)
    if results.partial:
        columns.append(Column("partial", lambda row: True))
    return Table(with_unserved(columns, shown), rows)


def data_columns(results: RunResults) -> list[Column[ResultRow]]:
    """Return the columns of CSV: every figure of an outcome, of runs with baselines a ratio to each."""
    columns: list[Column[ResultRow]] = [
        Column("problem", lambda row: row.outcome.problem_index),
        Column("problem_text", lambda row: results.problems[row.outcome.problem_index].describe()),
        Column("rank", lambda row: row.rank),
        Column("instance", lambda row: None if row.baseline else row.instance.index),
        Column("name", lambda row: row.instance.name),
        Column("instance_string", lambda row: row.instance.instance_string),
        Column("source", lambda row: row.instance.source),
        Column("pipeline", lambda row: row.instance.pipeline),
        Column("dtype", lambda row: row.instance.dtype.value),
        Column("split_k", lambda row: row.outcome.split_k),
        Column("split_k_deduced", lambda row: row.outcome.split_k_deduced),
        Column("status", lambda row: row.outcome.status.value),
        *_of("measurement", "time_ms", "low_ms", "high_ms"),
        Column("statistic", _statistic),
        *_of("measurement", "spread_ms", "min_ms", "samples", "stopped_by"),
        Column("units", lambda row: " ".join(row.measurement.units) if row.measurement else None),
        Column("tied_with_best", lambda row: row.tied if row.measurement else None),
        Column("noisy", lambda row: row.noisy),
        Column("gflops", lambda row: row.gflops),
        Column("gbytes_per_s", lambda row: row.gbytes),
        *_of("verification", "max_error", "error_ulp", "wrong_elements"),
        Column("launches", lambda row: row.verification and (row.verification.launches or None)),
        Column("checked_launches", _checked_launches),
        Column(
            "refused_by",
            lambda row: " ".join(dict.fromkeys(one.rule for one in row.outcome.unmet_requirements)),
        ),
        Column("reason", lambda row: reason_of(row.outcome, why=results.why)),
    ]
    columns += cost_columns(results)
    if results.baseline_ids:
        columns.append(Column("baseline", lambda row: row.baseline or None))
    return columns + [_ratio_column(id_) for id_ in results.baseline_ids]


def _ratio_column(baseline: str) -> Column[ResultRow]:
    return Column(f"vs_{baseline}", lambda row: row.ratios.get(baseline))


def _of(part: str, *names: str) -> list[Column[ResultRow]]:
    """Return columns of figures of a measurement or a verification; empty where it is missing."""
    return [Column(name, partial(_figure, part, name)) for name in names]


def _figure(part: str, name: str, row: ResultRow) -> object:
    return getattr(getattr(row, part), name, None)


def _checked_launches(row: ResultRow) -> int | None:
    return row.verification.checked if row.verification and row.verification.launches else None
