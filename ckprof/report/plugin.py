"""The output formats that ship with ckprof."""

from __future__ import annotations

from ckprof.plugin.markers import hookimpl
from ckprof.plugin.protocols import ParityFormat, ReportFormat
from ckprof.report.batch_report import (
    render_batch_csv,
    render_batch_json,
    render_batch_markdown,
    render_batch_table,
)
from ckprof.report.csv_report import render_csv
from ckprof.report.json_report import render_json
from ckprof.report.parity_json import render_parity_json
from ckprof.report.parity_junit import render_parity_junit
from ckprof.report.parity_text import render_parity_markdown, render_parity_table
from ckprof.report.run_table import render_markdown, render_table


@hookimpl
def ckprof_register_report_formats() -> list[ReportFormat]:
    """Entry table, JSON, CSV and Markdown."""
    return [
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


@hookimpl
def ckprof_register_parity_formats() -> list[ParityFormat]:
    """Entry text, JSON, JUnit and Markdown for comparisons of instance strings."""
    return [
        ParityFormat(id="json", label="everything, with schema and version", render=render_parity_json),
        ParityFormat(id="junit", label="one test case per instance", render=render_parity_junit),
        ParityFormat(id="md", label="for pull requests", render=render_parity_markdown),
        ParityFormat(id="table", label="for a terminal", render=render_parity_table),
    ]
