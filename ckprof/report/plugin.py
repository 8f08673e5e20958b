"""The output formats that ship with ckprof, imported when one of their kind is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl
from ckprof.plugin.protocols import ComparisonFormat, ParityFormat, ReportFormat

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the formats of runs and of both kinds of comparisons."""
    registry.add_lazy(ReportFormat, "ckprof.report.plugin:run_formats")
    registry.add_lazy(ParityFormat, "ckprof.report.plugin:parity_formats")
    registry.add_lazy(ComparisonFormat, "ckprof.report.plugin:comparison_formats")


def run_formats() -> list[ReportFormat]:
    """Return table, JSON, CSV, Markdown, JUnit and GitHub's annotations for runs and batches."""
    from ckprof.report import batch_report, ci, ci_formats, run_data, run_table

    return [
        ReportFormat(
            id="csv",
            label="one row per outcome",
            render=run_data.render_csv,
            render_batch=batch_report.render_batch_csv,
        ),
        ReportFormat(
            id="github",
            label="annotations for GitHub Actions",
            render=ci_formats.render_run_github,
            render_batch=ci_formats.render_batch_github,
            commands=True,
            render_failure=ci.failure_annotations,
        ),
        ReportFormat(
            id="json",
            label="everything, with schema and version",
            render=run_data.render_json,
            render_batch=batch_report.render_batch_json,
        ),
        ReportFormat(
            id="junit",
            label="one test case per instance and problem",
            render=ci_formats.render_run_junit,
            render_batch=ci_formats.render_batch_junit,
            render_failure=ci.failure_junit,
        ),
        ReportFormat(
            id="md",
            label="tables in Markdown",
            render=run_table.render_markdown,
            render_batch=batch_report.render_batch_markdown,
            render_failure=ci.failure_markdown,
        ),
        ReportFormat(
            id="table",
            label="tables for a terminal",
            render=run_table.render_table,
            render_batch=batch_report.render_batch_table,
        ),
    ]


def parity_formats() -> list[ParityFormat]:
    """Return table, JSON, JUnit, Markdown and GitHub's annotations for comparisons of instance strings."""
    from ckprof.report import ci, ci_formats, parity_text

    return [
        ParityFormat(
            id="github",
            label="annotations for GitHub Actions",
            render=ci_formats.render_parity_github,
            render_failure=ci.failure_annotations,
        ),
        ParityFormat(
            id="json", label="everything, with schema and version", render=parity_text.render_parity_json
        ),
        ParityFormat(
            id="junit",
            label="one test case per instance",
            render=ci_formats.render_parity_junit,
            render_failure=ci.failure_junit,
        ),
        ParityFormat(
            id="md",
            label="for pull requests",
            render=parity_text.render_parity_markdown,
            render_failure=ci.failure_markdown,
        ),
        ParityFormat(id="table", label="for a terminal", render=parity_text.render_parity_table),
    ]


def comparison_formats() -> list[ComparisonFormat]:
    """Return table, JSON, CSV, Markdown, JUnit and GitHub's annotations for comparisons of measurements."""
    from ckprof.report import ci, ci_formats, comparison_data, comparison_text

    return [
        ComparisonFormat(
            id="csv", label="one row per matched kernel and problem", render=comparison_data.render_csv
        ),
        ComparisonFormat(
            id="github",
            label="annotations for GitHub Actions",
            render=ci_formats.render_comparison_github,
            render_failure=ci.failure_annotations,
        ),
        ComparisonFormat(
            id="json", label="everything, with schema and version", render=comparison_data.render_json
        ),
        ComparisonFormat(
            id="junit",
            label="one test case per row, for CI",
            render=ci_formats.render_comparison_junit,
            render_failure=ci.failure_junit,
        ),
        ComparisonFormat(
            id="md",
            label="tables in Markdown, for pull requests",
            render=comparison_text.render_markdown,
            render_failure=ci.failure_markdown,
        ),
        ComparisonFormat(id="table", label="tables for a terminal", render=comparison_text.render_table),
    ]
