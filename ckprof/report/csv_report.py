"""One row per outcome, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from ckprof.report.rows import reason_of, rows_of_problem

if TYPE_CHECKING:
    from ckprof.model.results import RunResults

_COLUMNS = (
    "problem",
    "rank",
    "instance",
    "name",
    "instance_string",
    "pipeline",
    "dtype",
    "split_k",
    "split_k_deduced",
    "status",
    "median_ms",
    "spread_ms",
    "min_ms",
    "samples",
    "stopped_by",
    "gflops",
    "gbytes_per_s",
    "max_error",
    "wrong_elements",
    "refused_by",
    "reason",
)


def render_csv(results: RunResults) -> str:
    """Render all outcomes; empty cells where there is no such figure."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for index in range(len(results.problems)):
        for row in rows_of_problem(results, index):
            measurement = row.outcome.measurement
            verification = row.outcome.verification
            writer.writerow(
                {
                    "problem": index,
                    "rank": row.rank,
                    "instance": row.instance.index,
                    "name": row.instance.name,
                    "instance_string": row.instance.instance_string,
                    "pipeline": row.instance.pipeline,
                    "dtype": row.instance.dtype.value,
                    "split_k": row.outcome.split_k,
                    "split_k_deduced": row.outcome.split_k_deduced,
                    "status": row.outcome.status.value,
                    "median_ms": measurement.median_ms if measurement else None,
                    "spread_ms": measurement.spread_ms if measurement else None,
                    "min_ms": measurement.min_ms if measurement else None,
                    "samples": measurement.samples if measurement else None,
                    "stopped_by": measurement.stopped_by if measurement else None,
                    "gflops": row.gflops,
                    "gbytes_per_s": row.gbytes,
                    "max_error": verification.max_error if verification else None,
                    "wrong_elements": verification.wrong_elements if verification else None,
                    "refused_by": " ".join(dict.fromkeys(one.rule for one in row.outcome.unmet_requirements)),
                    "reason": reason_of(row.outcome, why=results.why),
                }
            )
    return buffer.getvalue()
