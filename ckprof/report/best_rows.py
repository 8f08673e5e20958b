"""The fastest kernels of each problem, one row each: what remains of a run over many problems."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from tabulate import tabulate

from ckprof.model.outcome import Status
from ckprof.report.csv_report import COLUMNS, outcome_values, ratio_columns, ratio_values
from ckprof.report.rows import rows_of_problem
from ckprof.report.run_table import columns_of

if TYPE_CHECKING:
    from ckprof.model.results import RunResults
    from ckprof.report.rows import Row

#: formats that :func:`render_best` knows, and the style of those that are tables
BEST_FORMATS = ("table", "md", "csv")
_STYLES = {"table": "simple", "md": "github"}


def best_rows(results: RunResults, problem_index: int, top: int) -> list[Row]:
    """Return the ``top`` fastest verified outcomes of a problem, or fewer."""
    return [row for row in rows_of_problem(results, problem_index) if row.rank is not None][:top]


def render_best(results: RunResults, form: str, top: int) -> str:
    """Render the ``top`` fastest kernels of each problem.

    :param form: one of :data:`BEST_FORMATS`.
    """
    if form == "csv":
        return _csv(results, top)
    columns = [one for one in columns_of(results) if one.title not in ("status", "max error", "reason")]
    table = [
        [str(index), problem.describe(), *(column.cell(row) for column in columns), row.note]
        for index, problem in enumerate(results.problems)
        for row in best_rows(results, index, top)
    ]
    headers = ["", "problem", *(column.title for column in columns), "note"]
    align = ["right", "left", *(column.align for column in columns), "left"]
    text = tabulate(
        table,
        headers=headers,
        tablefmt=_STYLES[form],
        disable_numparse=True,
        colalign=align if table else None,
    )
    return text + "\n"


def _csv(results: RunResults, top: int) -> str:
    buffer = io.StringIO()
    columns = (COLUMNS[0], "problem_text", *COLUMNS[1:], *ratio_columns(results))
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    for index, problem in enumerate(results.problems):
        for row in best_rows(results, index, top):
            values = outcome_values(index, row) | ratio_values(results, row)
            writer.writerow({**values, "problem_text": problem.describe()})
    return buffer.getvalue()


def problems_without_best(results: RunResults) -> list[str]:
    """Return a sentence for each problem that has no row among the best."""
    sentences = []
    for index, problem in enumerate(results.problems):
        if best_rows(results, index, 1):
            continue
        unsupported = all(one.status is Status.UNSUPPORTED for one in results.of_problem(index))
        what = "no instance supports" if unsupported else "no verified result for"
        sentences.append(f"{what} problem {index}: {problem.describe()}")
    return sentences
