"""Announces the formats of reports, what ``ckprof inspect --page`` shows, and what notebooks show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl
from ckprof.plugin.protocols import InspectionView, ResultsView, StoreReportFormat

if TYPE_CHECKING:
    import argparse


@hookimpl
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Add ``--page`` and ``--gpu`` to ``ckprof inspect``."""
    if command != "inspect":
        return
    group = parser.add_argument_group("pages")
    group.add_argument(
        "--page",
        metavar="FILE|DIR",
        help="write the predicted profile of the kernel on the problem: .html, .md, .txt or .json; into a "
        "folder, a page for each kernel; - prints it in place of the table",
    )
    group.add_argument(
        "--gpu",
        metavar="NAME",
        help="product whose compute units, clock and memory count, e.g. MI300X (default: the architecture's "
        "usual one)",
    )


@hookimpl
def ckprof_register_inspection_views() -> list[InspectionView]:
    """Return the predicted profiles of kernels."""
    from ckprof_plugins.pages import profile_view

    return [
        InspectionView(
            id="page",
            label="predicted profiles of kernels",
            options=("page", "gpu"),
            prepare=profile_view.prepare,
        )
    ]


@hookimpl
def ckprof_register_results_views() -> list[ResultsView]:
    """Return tables and charts for notebooks."""
    from ckprof_plugins.pages import notebook

    return [
        ResultsView(id="html", label="tables for notebooks", make=notebook.results_html),
        ResultsView(id="plot", label="charts of a run", make=notebook.RunCharts),
    ]


@hookimpl
def ckprof_register_store_report_formats() -> list[StoreReportFormat]:
    """Return HTML, Markdown and PNG for reports of stores."""
    from ckprof_plugins.pages import image, markdown, page

    return [
        StoreReportFormat(id="html", label="one page with charts", suffix=".html", render=page.render_html),
        StoreReportFormat(
            id="md", label="tables for pull requests", suffix=".md", render=markdown.render_markdown
        ),
        StoreReportFormat(
            id="png", label="best kernels and charts as an image", suffix=".png", render=image.render_png
        ),
    ]
