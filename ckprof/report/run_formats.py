"""The formats of runs and of batches."""

from __future__ import annotations

from typing import Final

from ckprof.plugin.protocols import ReportFormat
from ckprof.report.batch_report import (
    render_batch_csv,
    render_batch_json,
    render_batch_markdown,
    render_batch_table,
)
from ckprof.report.csv_report import render_csv
from ckprof.report.json_report import render_json
from ckprof.report.run_table import render_markdown, render_table

FORMATS: Final = [
    ReportFormat(id="csv", label="one row per outcome", render=render_csv, render_batch=render_batch_csv),
    ReportFormat(
        id="json",
        label="everything, with schema and version",
        render=render_json,
        render_batch=render_batch_json,
    ),
    ReportFormat(
        id="md", label="tables in Markdown", render=render_markdown, render_batch=render_batch_markdown
    ),
    ReportFormat(
        id="table", label="tables for a terminal", render=render_table, render_batch=render_batch_table
    ),
]
