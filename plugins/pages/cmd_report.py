"""``ckprof report``: a store as one HTML page, as Markdown, or as an image."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import check_report, write_report
from ckprof.errors import ExitCode, UsageError
from ckprof.formatting import counted
from ckprof_plugins.pages.formats import STORE_REPORT_FORMATS
from ckprof_plugins.pages.options import ReportOptions

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof_plugins.pages.content import ReportContent
    from ckprof_plugins.pages.formats import StoreReportFormat

_EPILOG: Final = """\
examples:
  ckprof report results.db -o report.html
  ckprof report yesterday.db results.db -o report.html
  ckprof report monday.db tuesday.db wednesday.db -o report.html             # with the history
  ckprof report results.db -o report.html --box-plots                        # with box plots
  ckprof report results.db@main --format md
  ckprof report results.db -o report.html --png report.png                   # needs the extra ckprof[report]
  ckprof report results.db -o report.html --ceiling theoretical=163400,5300 --ceiling measured=121000,4100

With several stores, oldest first, the report shows the last one and compares it with the one before. Three
or more, or one store of several commands, give a history. The page needs no network and no other file.
Ceilings of the roofline are those that sweeps and runs have measured; --ceiling, in GFLOP/s and GB/s,
replaces them.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof report``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="STORE",
        help="one store, or several, oldest first; files that can be imported, and STORE@TAG, work as well",
    )
    add_fields(parser.add_argument_group("content"), ReportOptions)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        metavar="ID",
        help="format of the result (default: what the name of the file says, else html): "
        "{store report format}",
    )
    group.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to this file")
    group.add_argument(
        "--png",
        type=Path,
        metavar="FILE",
        help="write best kernels and charts as an image, too, for pull requests",
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: an input or an option is wrong.
    """
    report_format = _format(arguments, session)
    outputs = [(report_format, arguments.output)]
    if arguments.png is not None:
        image = session.registry.entries(STORE_REPORT_FORMATS).find("png")
        # an image alone, unless a page is asked for as well
        outputs = [*(outputs if arguments.output or arguments.format else []), (image, arguments.png)]
    for form, path in outputs:
        check_report(path)
        if path is None and form.suffix == ".html" and sys.stdout.isatty():
            raise UsageError(
                "HTML is not shown on a terminal: write it with -o FILE.html, or add --format md"
            )
    from ckprof_plugins.pages.content import report

    content = report(session.profiler, *arguments.inputs, options=chosen(arguments, ReportOptions))
    if not content.side.rows:
        session.console.warning(f"{content.side.label} has no measurements")
    for report_format, path in outputs:
        _write(report_format.render(content), path, content, session)
    return ExitCode.OK


def _write(report: str | bytes, path: Path | None, content: ReportContent, session: Session) -> None:
    if path is not None:
        write_report(report, path)
        size = len(report.encode() if isinstance(report, str) else report) / 1e6
        problems, instances = len(content.side.by_problem), len(content.heat.instances)
        session.console.info(
            f"{path}: {counted(problems, 'problem')}, {counted(instances, 'instance')}, {size:.2f} MB"
        )
    elif isinstance(report, str):
        session.console.exact(report)
    else:
        raise UsageError("the format is not text: name a file for it with --output")


def _format(arguments: argparse.Namespace, session: Session) -> StoreReportFormat:
    formats = session.registry.entries(STORE_REPORT_FORMATS)
    if arguments.format is not None:
        return formats.find(arguments.format)
    suffix = arguments.output.suffix if arguments.output is not None else ""
    if suffix:
        for report_format in formats:
            if suffix == report_format.suffix:
                return report_format
        names = ", ".join(report_format.suffix for report_format in formats)
        raise UsageError(
            f"the format of {arguments.output} is not known by its name ({names}): say it with --format"
        )
    return formats.find("html")
