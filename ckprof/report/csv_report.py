"""One row per outcome, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from ckprof.plain_text import csv_cell
from ckprof.report.rows import reason_of, rows_with_baselines

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
    writer = csv.DictWriter(buffer, (*COLUMNS, *ratio_columns(results)), lineterminator="\n")
    writer.writeheader()
    for index in range(len(results.problems)):
        for row in rows_with_baselines(results, index):
            values = outcome_values(index, row, why=results.why) | ratio_values(results, row)
            writer.writerow({name: csv_cell(value) for name, value in values.items()})
    return buffer.getvalue()


def ratio_columns(results: RunResults) -> tuple[str, ...]:
    """Return the columns of a run with baselines: which baseline a row is, and a ratio to each."""
    return ("baseline", *(f"vs_{id_}" for id_ in results.baseline_ids)) if results.baseline_ids else ()


def ratio_values(results: RunResults, row: Row) -> dict[str, object]:
    """Return the values of :func:`ratio_columns`."""
    values = (row.baseline or None, *(row.ratios.get(id_) for id_ in results.baseline_ids))
    return dict(zip(ratio_columns(results), values, strict=False))


def outcome_values(problem_index: int, row: Row, *, why: bool = False) -> dict[str, object]:
    """Return an outcome as flat values, one per column; ``None`` where there is no such figure.

    :param why: give every condition that is not met as the reason.
    """
    outcome, instance = row.outcome, row.instance
    measurement, verification = outcome.measurement, outcome.verification
    values: tuple[object, ...] = (
        problem_index,
        row.rank,
        None if row.baseline else instance.index,
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
