"""The page in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.compare.side import side_of
from ckprof.model.outcome import Status
from ckprof.model.roof import Roof
from ckprof.report.store.content import report_content
from ckprof.report.store.options import ReportOptions
from ckprof.report.store.page import render_html
from tests.measured import TOOLCHAIN, Made, attempts, later
from tests.report.store.browser import Browser, find_browser

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.browser,
    pytest.mark.skipif(find_browser() is None, reason="there is no Chromium; Debian's package is chromium"),
]

MADE = Made(
    problems=8,
    instances=12,
    failing=lambda p, i: Status.UNSUPPORTED if (p + i) % 9 == 0 else Status.RUN_ERROR if p == i else None,
)
NEW = replace(
    MADE,
    seed=2,
    session=later(),
    toolchain=replace(TOOLCHAIN, compiler="clang 22.0"),
    factor=lambda p, i: 1.2 if i == 3 else 1.0,
)

#: texts of a column
COLUMN = (
    "Array.from({table}.tBodies[0].rows).map((row) => row.cells[{column}]).map((cell) => "
    "cell.dataset.v ?? cell.textContent)"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("report")
    old, new = (side_of(f"{name}.db", attempts(made)) for name, made in (("old", MADE), ("new", NEW)))
    options = ReportOptions(roofs=(Roof.parse("theoretical=160,90"), Roof.parse("measured=110,45")))
    (folder / "report.html").write_text(render_html(report_content(new, options, old)))
    program = find_browser()
    assert program
    with Browser(program, folder / "profile") as opened:
        opened.open(folder / "report.html")
        yield opened
        # what any of the tests caused
        assert opened.console == []
        assert {url.partition(":")[0] for url in opened.requests} <= {"file", "data"}


def numbers(texts: list[str]) -> list[float]:
    return [float(text) for text in texts if text]


def test_every_column_of_every_table_sorts_both_ways(browser: Browser) -> None:
    count = browser.evaluate("document.querySelectorAll('table.sortable').length")
    assert count >= 9
    for number in range(count):
        table = f"document.querySelectorAll('table.sortable')[{number}]"
        for column in range(browser.evaluate(f"{table}.tHead.rows[0].cells.length")):
            head = f"{table}.tHead.rows[0].cells[{column}]"
            before = sorted(browser.evaluate(COLUMN.format(table=table, column=column)))
            orders = []
            for direction in ("ascending", "descending"):
                browser.evaluate(f"{head}.querySelector('button').click()")
                assert browser.evaluate(f"{head}.getAttribute('aria-sort')") == direction
                orders.append(browser.evaluate(COLUMN.format(table=table, column=column)))
            assert sorted(orders[0]) == before
            if browser.evaluate(f"{head}.classList.contains('number')"):
                assert numbers(orders[0]) == sorted(numbers(orders[0]))
                assert numbers(orders[1]) == sorted(numbers(orders[1]), reverse=True)
                filled = [bool(text) for order in orders for text in order]
                half = len(filled) // 2
                for part in (filled[:half], filled[half:]):  # empty cells last, both ways
                    assert part == sorted(part, reverse=True)
            assert browser.evaluate(f"{table}.querySelectorAll('[aria-sort]').length") == 1


def test_every_chart_has_text(browser: Browser) -> None:
    described = browser.evaluate(
        "Array.from(document.querySelectorAll('svg')).map((svg) => [svg.querySelector('title')?.textContent, "
        "svg.querySelector('desc')?.textContent, svg.getAttribute('role')])"
    )
    assert len(described) == 4
    assert all(name and len(text) > 30 for name, text, _ in described)
    assert {role for _, _, role in described} == {"img", "group", "application"}


def test_the_keyboard_moves_over_the_heat_map(browser: Browser) -> None:
    readout = "document.getElementById('heat-cell').textContent"
    browser.evaluate("document.getElementById('heat').focus()")
    assert browser.evaluate(readout).startswith("P1 ")
    browser.key("ArrowDown", 40)
    browser.key("ArrowRight", 39)
    text = browser.evaluate(readout)
    assert text.startswith("P2 ")
    assert ", I2 " in text
    for _ in range(20):
        browser.key("ArrowUp", 38)
    assert browser.evaluate(readout).startswith("P1 ")


def test_the_filter_hides_rows(browser: Browser) -> None:
    shown = "document.querySelectorAll('#instance-table tbody tr:not([hidden])').length"
    for text, count in (("variant_11", 1), ("", 12), ("no such", 0), ("", 12)):
        browser.evaluate(
            "(() => { const input = document.querySelector('input[data-table=instance-table]'); "
            f"input.value = '{text}'; input.dispatchEvent(new Event('input')); }})()"
        )
        assert browser.evaluate(shown) == count


def test_rounds_of_another_problem(browser: Browser) -> None:
    label = "document.querySelector('#trace svg').getAttribute('aria-label')"
    assert "on P1," in browser.evaluate(label)
    browser.evaluate(
        "(() => { const choice = document.getElementById('trace-problem'); choice.value = '3'; "
        "choice.dispatchEvent(new Event('change')); })()"
    )
    assert "on P4," in browser.evaluate(label)
    assert browser.evaluate("document.querySelectorAll('#trace-table tbody tr').length") == 5
    assert browser.evaluate("document.querySelectorAll('#trace circle').length") == 5 * 6


def test_points_lead_to_their_rows(browser: Browser) -> None:
    browser.evaluate("document.querySelector('#roofline a').focus()")
    browser.key("Enter", 13)
    browser.evaluate(
        "document.querySelector('#roofline a').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert browser.evaluate("document.querySelector('tr:target')?.id") == "p1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_themes(browser: Browser, scheme: str) -> None:
    browser.colours(scheme)
    pairs = browser.evaluate(
        "Array.from(document.querySelectorAll('body, .card b, td, .tag, dt, a, figcaption')).map((one) => "
        "{ let back = one; while (getComputedStyle(back).backgroundColor === 'rgba(0, 0, 0, 0)' && "
        "back.parentElement) back = back.parentElement; return getComputedStyle(one).color + '|' + "
        "getComputedStyle(back).backgroundColor; })"
    )
    for pair in set(pairs):
        front, back = (_luminance(colour) for colour in pair.split("|"))
        contrast = (max(front, back) + 0.05) / (min(front, back) + 0.05)
        assert contrast >= 4.5, pair


def _luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_theme_button_overrides_the_system(browser: Browser) -> None:
    browser.colours("light")
    seen = []
    for _ in range(3):
        browser.evaluate("document.getElementById('theme').click()")
        seen.append(
            browser.evaluate(
                "[document.getElementById('theme').textContent, "
                "getComputedStyle(document.body).backgroundColor]"
            )
        )
    assert [text for text, _ in seen] == ["Theme: light", "Theme: dark", "Theme: system"]
    assert seen[0][1] == seen[2][1] != seen[1][1]


def test_it_prints(browser: Browser) -> None:
    assert browser.pdf().startswith(b"%PDF")


def test_nothing_overflows_a_narrow_window(browser: Browser, tmp_path: Path) -> None:
    browser.screenshot(tmp_path / "narrow.png", width=480, height=800)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 480
    browser.screenshot(tmp_path / "wide.png")
