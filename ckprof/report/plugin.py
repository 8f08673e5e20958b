"""The output formats that ship with ckprof, imported when one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.protocols import ParityFormat, ReportFormat


@hookimpl
def ckprof_register_report_formats() -> list[ReportFormat]:
    """Entry table, JSON, CSV and Markdown."""
    from ckprof.report.run_formats import FORMATS

    return FORMATS


@hookimpl
def ckprof_register_parity_formats() -> list[ParityFormat]:
    """Entry text, JSON, JUnit and Markdown for comparisons of instance strings."""
    from ckprof.report.parity_formats import FORMATS

    return FORMATS
