"""The formats of store reports that ship with ckprof, imported when one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl
from ckprof.plugin.protocols import StoreReportFormat

if TYPE_CHECKING:
    from ckprof.store_report.content import ReportContent


def _html(content: ReportContent) -> str:
    from ckprof.store_report.page import render_html

    return render_html(content)


def _markdown(content: ReportContent) -> str:
    from ckprof.store_report.markdown import render_markdown

    return render_markdown(content)


def _png(content: ReportContent) -> bytes:
    from ckprof.store_report.image import render_png

    return render_png(content)


@hookimpl
def ckprof_register_store_report_formats() -> list[StoreReportFormat]:
    """Return HTML, Markdown and PNG."""
    return [
        StoreReportFormat(id="html", label="one page with charts", suffix=".html", render=_html),
        StoreReportFormat(id="md", label="tables for pull requests", suffix=".md", render=_markdown),
        StoreReportFormat(id="png", label="best kernels and charts as an image", suffix=".png", render=_png),
    ]
