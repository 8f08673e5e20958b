"""The output formats that ship with ckprof, imported when one of their kind is used."""

from __future__ import annotations

from ckprof.plugin.markers import hookimpl
from ckprof.plugin.protocols import ComparisonFormat, ParityFormat, ReportFormat, StoreReportFormat


@hookimpl
def ckprof_register_report_formats() -> list[ReportFormat]:
    """Return table, JSON, CSV and Markdown for runs and batches."""
    from ckprof.report import batch_report, run_data, run_table

    return [
        ReportFormat(
            id="csv",
            label="one row per outcome",
            render=run_data.render_csv,
            render_batch=batch_report.render_batch_csv,
        ),
        ReportFormat(
            id="json",
            label="everything, with schema and version",
            render=run_data.render_json,
            render_batch=batch_report.render_batch_json,
        ),
        ReportFormat(
            id="md",
            label="tables in Markdown",
            render=run_table.render_markdown,
            render_batch=batch_report.render_batch_markdown,
        ),
        ReportFormat(
            id="table",
            label="tables for a terminal",
            render=run_table.render_table,
            render_batch=batch_report.render_batch_table,
        ),
    ]


@hookimpl
def ckprof_register_parity_formats() -> list[ParityFormat]:
    """Return table, JSON, JUnit and Markdown for comparisons of instance strings."""
    from ckprof.report import parity_text

    return [
        ParityFormat(
            id="json", label="everything, with schema and version", render=parity_text.render_parity_json
        ),
        ParityFormat(id="junit", label="one test case per instance", render=parity_text.render_parity_junit),
        ParityFormat(id="md", label="for pull requests", render=parity_text.render_parity_markdown),
        ParityFormat(id="table", label="for a terminal", render=parity_text.render_parity_table),
    ]


@hookimpl
def ckprof_register_comparison_formats() -> list[ComparisonFormat]:
    """Return table, JSON, CSV, Markdown and JUnit for comparisons of two sides of measurements."""
    from ckprof.report.comparison import data_formats, text_formats

    return [
        ComparisonFormat(
            id="csv", label="one row per matched kernel and problem", render=data_formats.render_csv
        ),
        ComparisonFormat(
            id="json", label="everything, with schema and version", render=data_formats.render_json
        ),
        ComparisonFormat(id="junit", label="one test case per row, for CI", render=data_formats.render_junit),
        ComparisonFormat(
            id="md", label="tables in Markdown, for pull requests", render=text_formats.render_markdown
        ),
        ComparisonFormat(id="table", label="tables for a terminal", render=text_formats.render_table),
    ]


@hookimpl
def ckprof_register_store_report_formats() -> list[StoreReportFormat]:
    """Return HTML, Markdown and PNG for reports of stores."""
    from ckprof.report.store import image, page, tables

    return [
        StoreReportFormat(id="html", label="one page with charts", suffix=".html", render=page.render_html),
        StoreReportFormat(
            id="md", label="tables for pull requests", suffix=".md", render=tables.render_markdown
        ),
        StoreReportFormat(
            id="png", label="best kernels and charts as an image", suffix=".png", render=image.render_png
        ),
    ]
