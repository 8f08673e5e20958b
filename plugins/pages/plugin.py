"""Announces the formats of reports, what ``ckprof inspect --page`` shows, and what notebooks show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli.parser import CommandParser
from ckprof.plugin.hookspecs import hookimpl
from ckprof.plugin.protocols import InspectionView, ResultsView
from ckprof_plugins.pages.formats import STORE_REPORT_FORMATS, StoreReportFormat

if TYPE_CHECKING:
    import argparse

    from ckprof.plugin.additions import Additions


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
    if isinstance(parser, CommandParser):
        parser.first = (*parser.first, "--page", "--gpu")


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Add the formats of reports, the profiles of kernels, and tables and charts for notebooks."""
    registry.add(STORE_REPORT_FORMATS)
    registry.add_lazy(StoreReportFormat, "ckprof_plugins.pages.formats:shipped")
    registry.add_lazy(InspectionView, "ckprof_plugins.pages.profile_view:PAGE")
    registry.add_lazy(ResultsView, "ckprof_plugins.pages.notebook:VIEWS")
