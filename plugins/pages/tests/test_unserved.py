"""Why no kernel serves a problem, in reports: what runs and stores say."""

import html

from ckprof.compare.side import side_of
from ckprof_plugins.pages.content import report_content
from ckprof_plugins.pages.markdown import render_markdown
from ckprof_plugins.pages.options import ReportOptions
from ckprof_plugins.pages.page import render_html
from tests.report.test_unserved import case

__all__ = ["case"]


def test_reports_say_it(case):
    found, reason = case
    content = report_content(side_of("x.db", found), ReportOptions())
    assert [one.reason for one in content.unserved] == [reason]
    for text in (
        render_markdown(content).replace("\\", ""),
        html.unescape(render_html(content).replace("<wbr>", "")),
    ):
        assert f"none: {reason}" in text
