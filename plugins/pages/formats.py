"""The formats of reports of stores: a kind of objects that plugins may add to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ckprof.plugin.additions import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.testing.contract import Trials
    from ckprof.testing.samples import Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReportFormat:
    """A way to write the report of a store."""

    id: str
    label: str
    #: end of the names of its files, e.g. ``.html``: what ``-o FILE`` is recognised by
    suffix: str
    #: of a :class:`ckprof_plugins.pages.content.ReportContent`: text, or the bytes of a file that is no text
    render: Callable[[Any], str | bytes]


def shipped() -> list[StoreReportFormat]:
    """Return HTML, Markdown and PNG."""
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


def trials(samples: Samples, report_format: StoreReportFormat) -> Trials:
    """Yield the trials of a format: the report of a store of one instance."""
    from ckprof_plugins.pages.content import report

    def rendered() -> str:
        return f"{len(report_format.render(report(samples.profiler, samples.store)))} characters"

    yield "renders a report", rendered


STORE_REPORT_FORMATS: Final = Kind[StoreReportFormat](
    "store report format", StoreReportFormat, "ckprof_plugins.pages.formats:trials"
)
