"""Reporting 100 problems x 300 kernels: at most 2 MB, and open within 1 s in a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckprof.compare.side import Side, side_of
from ckprof_plugins.pages.content import report_content
from ckprof_plugins.pages.options import ReportOptions
from ckprof_plugins.pages.page import render_html
from plugins.pages.tests.browser import Browser, find_browser
from tests.measured import Made, attempts, later

MADE = Made(problems=100, instances=300, rounds=4)


@pytest.fixture(scope="module")
def sides() -> tuple[Side, Side]:
    old = side_of("old.db", attempts(MADE))
    return old, side_of("new.db", attempts(replace(MADE, seed=1, session=later())))


def test_rendering_the_report(benchmark: Any, sides: tuple[Side, Side]) -> None:
    page = benchmark.pedantic(lambda: render_html(report_content(sides[1], ReportOptions())), rounds=3)
    size = len(page.encode()) / 1e6
    print(f"\nreport of 100 x 300: {size:.2f} MB")
    assert size <= 2


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium; Debian's package is chromium")
def test_opening_the_report(benchmark: Any, sides: tuple[Side, Side], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_html(report_content(sides[1], ReportOptions())))
    program = find_browser()
    assert program
    with Browser(program, tmp_path / "profile", seconds=120) as browser:
        benchmark.pedantic(browser.open, (path,), rounds=5, warmup_rounds=1)
        assert browser.console == []
