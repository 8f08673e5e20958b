"""The machine-readable report."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ckprof.report.rows import baseline_rows, requirement_counts, rows_of_problem

if TYPE_CHECKING:
    from ckprof.model.conversion import Conversion
    from ckprof.model.results import RunInstance, RunResults
    from ckprof.report.rows import Row

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
        "warnings": list(results.warnings),
        "direction": results.direction,
        "target": results.target,
        "arch": results.arch,
        "environment": dict(results.environment),
        "inputs": [_conversion(conversion) for conversion in results.conversions],
        "build": asdict(results.build),
        "stages_s": dict(results.stages_s),
        "instances": [_instance(instance) for instance in results.instances],
        "same_kernels": [asdict(one) for one in results.same_kernels],
        "problems": [
            {
                "index": index,
                **problem.as_dict(),
                "best": best.key if (best := results.best(index)) else None,
                "substitutions": [
                    {"kernel": one.kernel, "instances": list(one.instances)}
                    for one in results.substitutions
                    if one.problem_index == index
                ],
                "refused_by": [asdict(one) for one in requirement_counts(results, index)],
                "outcomes": [_row(row) for row in rows_of_problem(results, index)],
                "baselines": [_baseline(row) for row in baseline_rows(results, index)],
            }
            for index, problem in enumerate(results.problems)
        ],
    }


def _conversion(conversion: Conversion) -> dict[str, Any]:
    return {
        "path": str(conversion.path),
        "converter": conversion.converter,
        "lines": conversion.lines,
        "instances": sum(len(catalog.records) for catalog in conversion.catalogs),
        "dropped_by_rule": dict(conversion.dropped_by_rule),
        "dropped": [asdict(line) for line in conversion.dropped],
        "lossy": [asdict(line) for line in conversion.lossy],
    }


def _instance(instance: RunInstance) -> dict[str, Any]:
    plain = {**asdict(instance), "dtype": instance.dtype.value}
    # only instances that have one say so
    del plain["compute_type"]
    return plain if instance.compute_type is None else {**plain, "compute_type": instance.compute_type.value}


def _row(row: Row) -> dict[str, Any]:
    outcome = row.outcome
    return {
        "rank": row.rank,
        "instance": row.instance.index,
        "key": outcome.key,
        **_attempt(row),
        "split_k": outcome.split_k,
        "split_k_deduced": outcome.split_k_deduced,
        "ratios": dict(row.ratios),
    }


def _baseline(row: Row) -> dict[str, Any]:
    return {
        "baseline": row.baseline,
        "name": row.instance.name,
        "dtype": row.instance.dtype.value,
        "layout": row.instance.layout,
        **({"compute_type": row.instance.compute_type.value} if row.instance.compute_type else {}),
        **_attempt(row),
    }


def _attempt(row: Row) -> dict[str, Any]:
    outcome = row.outcome
    verification = outcome.verification
    return {
        "status": outcome.status.value,
        "reason": outcome.reason,
        "refusals": [{"condition": one.rule, "message": one.message} for one in outcome.unmet_requirements],
        "gflops": row.gflops,
        "gbytes_per_s": row.gbytes,
        "measurement": asdict(outcome.measurement) if outcome.measurement else None,
        "standing": asdict(outcome.standing) if outcome.standing else None,
        "verification": {**asdict(verification), "passed": verification.passed} if verification else None,
    }
