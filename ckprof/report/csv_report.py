"""One row per outcome, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from ckprof.plain_text import csv_cell
from ckprof.report.rows import reason_of, rows_of_problem

if TYPE_CHECKING:
    from ckprof.model.results import RunResults
    from ckprof.report.rows import Row

#: of every outcome, in the order of the file
COLUMNS = (
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
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for index in range(len(results.problems)):
        for row in rows_of_problem(results, index):
            values = outcome_values(index, row, why=results.why)
            writer.writerow({name: csv_cell(value) for name, value in values.items()})
    return buffer.getvalue()


def outcome_values(problem_index: int, row: Row, *, why: bool = False) -> dict[str, object]:
    """Return an outcome as flat values, one per column; ``None`` where there is no such figure.

    :param why: give every condition that is not met as the reason.
    """
    outcome, instance = row.outcome, row.instance
    measurement, verification = outcome.measurement, outcome.verification
    values: tuple[object, ...] = (
        problem_index,
        row.rank,
        instance.index,
        instance.name,
        instance.instance_string,
        instance.pipeline,
        instance.dtype.value,
        outcome.split_k,
        outcome.split_k_deduced,
        outcome.status.value,
        *(
            (measurement.median_ms, measurement.spread_ms, measurement.min_ms, measurement.samples)
            if measurement
            else (None,) * 4
        ),
        measurement.stopped_by if measurement else None,
        row.gflops,
        row.gbytes,
        verification.max_error if verification else None,
        verification.wrong_elements if verification else None,
        " ".join(dict.fromkeys(one.rule for one in outcome.unmet_requirements)),
        reason_of(outcome, why=why),
    )
    return dict(zip(COLUMNS, values, strict=True))
