"""The page in a real browser."""

import csv
import time
from dataclasses import replace

import pytest

from ckprof.compare.side import side_of
from ckprof.model.outcome import Status
from ckprof.model.problem_case import ProblemCase
from ckprof.model.roofline import Ceiling
from ckprof.report.escape import csv_cell
from ckprof.sweep.evidence import layer_evidence
from ckprof_plugins.pages.charts import boxes
from ckprof_plugins.pages.content import report_content
from ckprof_plugins.pages.history import history, labels_of
from ckprof_plugins.pages.options import ReportOptions
from ckprof_plugins.pages.page import render_html
from plugins.pages.tests.browser import Browser, find_browser
from tests.measured import TOOLCHAIN, Made, attempts, later, problems

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


#: what a spreadsheet would take for a formula, and what breaks a line or a field of CSV
HOSTILE = '=1+2, "x"\n<b>'


def listed(made):
    """Yield attempts of kernels that know their line in a list."""
    for one in attempts(made):
        number = int(one.kernel.name.rpartition("_")[2])
        string = HOSTILE if number == 3 else f"Legacy<{number}, 64>"
        kernel = replace(one.kernel, source=f"lists/legacy.conf:{number + 1}", instance_string=string)
        yield replace(one, kernel=kernel)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The report, and an empty folder ``saved``."""
    folder = tmp_path_factory.mktemp("report")
    cases = [
        ProblemCase(problem=problem, count=1 + number % 3, name=f"conv{number}", network=network)
        for number, problem in enumerate(problems(8))
        for network in ("a-network-of-segmentation batch 16", "detection batch 128")
        # both have the fourth problem
        if (number <= 3, number >= 3)[network.startswith("d")]
    ]
    named = replace(NEW.session, environment=layer_evidence(cases))
    latest = [*listed(replace(NEW, session=named))]
    sides = [
        *(side_of(f"{name}.db", attempts(made)) for name, made in (("older", MADE), ("old", MADE))),
        side_of("new.db", latest),
    ]
    vendor = {key: 0.5 + number for number, key in enumerate(sides[-1].by_problem)}
    del vendor[next(iter(vendor))]
    sides[-1] = replace(sides[-1], baselines={"a-vendor-library": vendor})
    options = ReportOptions(ceilings=(Ceiling.parse("theoretical=160,90"), Ceiling.parse("measured=110,45")))
    past = history(labels_of(sides), sides, tuple(sides[-1].by_problem))
    content = report_content(sides[-1], options, sides[-2], past)
    content = replace(content, boxes=boxes(sides[-1], latest, 5))
    (folder / "report.html").write_text(render_html(content))
    (folder / "saved").mkdir()
    return folder


@pytest.fixture(scope="module")
def browser(folder):
    program = find_browser()
    assert program
    with Browser(program, folder / "profile") as opened:
        opened.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder / "saved"))
        opened.open(folder / "report.html")
        yield opened
        # what any of the tests caused
        assert opened.console == []
        assert {url.partition(":")[0] for url in opened.requests} <= {"file", "data", "blob"}


def numbers(texts):
    return [float(text) for text in texts if text]


def test_every_column_of_every_table_sorts_both_ways(browser):
    count = browser.evaluate("document.querySelectorAll('table.sortable').length")
    assert count >= 11
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


def test_every_chart_has_text(browser):
    described = browser.evaluate(
        "Array.from(document.querySelectorAll('svg:not(.spark)')).map((svg) => "
        "[svg.querySelector('title')?.textContent, "
        "svg.querySelector('desc')?.textContent, svg.getAttribute('role')])"
    )
    # two of them of networks
    assert len(described) == 7 + 8
    assert all(name and len(text) > 30 for name, text, _ in described)
    assert {role for _, _, role in described} == {"img", "group", "application"}


def test_the_keyboard_moves_over_the_heat_map(browser):
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


def test_the_filter_hides_rows(browser):
    shown = "document.querySelectorAll('#instance-table tbody tr:not([hidden])').length"
    for text, count in (("variant_11", 1), ("", 12), ("no such", 0), ("", 12)):
        browser.evaluate(
            "(() => { const input = document.querySelector('input[data-table=instance-table]'); "
            f"input.value = '{text}'; input.dispatchEvent(new Event('input')); }})()"
        )
        assert browser.evaluate(shown) == count


def test_rounds_of_another_problem(browser):
    label = "document.querySelector('#trace svg').getAttribute('aria-label')"
    assert "on P1," in browser.evaluate(label)
    browser.evaluate(
        "(() => { const choice = document.getElementById('trace-problem'); choice.value = '3'; "
        "choice.dispatchEvent(new Event('change')); })()"
    )
    assert "on P4," in browser.evaluate(label)
    assert browser.evaluate("document.querySelectorAll('#trace-table tbody tr').length") == 5
    assert browser.evaluate("document.querySelectorAll('#trace circle').length") == 5 * 6


def test_points_lead_to_their_rows(browser):
    browser.evaluate("document.querySelector('#roofline a').focus()")
    browser.key("Enter", 13)
    browser.evaluate(
        "document.querySelector('#roofline a').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert browser.evaluate("document.querySelector('tr:target')?.id") == "p1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_themes(browser, scheme):
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


def _luminance(colour):
    """Return the relative luminance of WCAG 2."""
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_theme_button_overrides_the_system(browser):
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


def filter_instances(browser, text):
    browser.evaluate(
        "(() => { const input = document.querySelector('input[data-table=instance-table]'); "
        f"input.value = '{text}'; input.dispatchEvent(new Event('input')); }})()"
    )


def test_paper_shows_every_row(browser):
    filter_instances(browser, "variant_11")
    rows = (
        "Array.from(document.querySelectorAll('#instance-table tbody tr')).filter((row) => "
        "getComputedStyle(row).display !== 'none').length"
    )
    closed = "document.querySelectorAll('details.rows:not([open])').length"
    assert browser.evaluate(f"[{rows}, {closed}]") == [1, 2]
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate(rows) == 12
    hidden = (
        "Array.from(document.querySelectorAll('tbody tr')).filter((row) => "
        "!row.closest('details') && getComputedStyle(row).display === 'none').length"
    )
    totals = "document.querySelectorAll('#total-table tbody tr').length"
    # the best, single kernels, libraries, the baseline and the store before, of two networks
    assert browser.evaluate(hidden) == 0 and browser.evaluate(totals) >= 8
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.evaluate(f"addEventListener('beforeprint', () => {{ window.closedOnPaper = {closed}; }})")
    assert browser.pdf().startswith(b"%PDF")
    assert browser.evaluate("window.closedOnPaper") == 0
    assert browser.evaluate(f"[{rows}, {closed}]") == [1, 2]
    filter_instances(browser, "")


def test_a_telephone_scrolls_no_more_than_tables(browser, folder):
    browser.screenshot(folder / "480.png", width=480)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 480


@pytest.mark.parametrize("width", [800, 1280])
def test_nothing_is_cut_off(browser, folder, width):
    browser.screenshot(folder / f"{width}.png", width=width)
    cut = browser.evaluate(
        "Array.from(document.querySelectorAll('html, .scroll, .table, figure, svg, p, li')).filter((one) => "
        "one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth + 1)"
        ".map((one) => `${one.tagName} ${one.id} ${one.className} ${one.textContent.slice(0, 40)}`)"
    )
    assert cut == []
    # figures of one column stand below each other, also where rows are blocks
    columns = browser.evaluate(
        "Array.from(document.querySelectorAll('#best-table th'), (_, column) => new Set(Array.from("
        "document.querySelectorAll(`#best-table tbody td:nth-child(${column + 1})`), "
        "(cell) => Math.round(cell.getBoundingClientRect().left))).size)"
    )
    assert len(columns) > 10 and set(columns) == {1}
    # texts of charts stay inside of them
    outside = browser.evaluate(
        "Array.from(document.querySelectorAll('svg text')).filter((text) => { "
        "const box = text.getBoundingClientRect(), all = text.ownerSVGElement.getBoundingClientRect(); "
        "return box.width && (box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 "
        "|| box.bottom > all.bottom + 1); }).map((text) => text.textContent)"
    )
    assert outside == []


def saved(folder, name):
    path = folder / "saved" / name
    end = time.monotonic() + 20
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def test_tables_are_saved_as_csv(browser, folder):
    browser.evaluate("document.querySelector('#best-table th button').click()")
    browser.evaluate("document.querySelector('[data-csv=best-table]').click()")
    head, *rows = saved(folder, "best.csv")
    assert head[:4] == ["#", "layer", "times", "problem"]
    assert head[-4:] == ["name", "list line", "instance string", "pipeline"]
    assert len(rows) == 8 and {len(row) for row in rows} == {len(head)}
    assert sorted(row[head.index("layer")] for row in rows) == [f"conv{number}" for number in range(8)]
    for row in rows:
        name, number = row[head.index("best instance")], row[-4].rpartition("_")[2]
        # whole names and lines, exact numbers
        assert name == row[-4] and name.startswith("grouped_conv_fwd_")
        assert row[-3] == f"lists/legacy.conf:{int(number) + 1}"
        assert row[-2] == (csv_cell(HOSTILE) if number == "3" else f"Legacy<{number}, 64>")
        assert float(row[head.index("ms")]) > 0
    browser.evaluate("document.querySelector('[data-csv=instance-table]').click()")
    head, *rows = saved(folder, "instance.csv")
    assert csv_cell(HOSTILE) in {row[-1] for row in rows} and len(rows) == 12


def test_tables_are_copied(browser):
    browser.evaluate(
        "window.copied = null; navigator.clipboard.writeText = (text) => { window.copied = text; "
        "return Promise.resolve(); }; document.querySelector('[data-copy=total-table]').click()"
    )
    head, *rows = [line.split("\t") for line in browser.evaluate("window.copied").split("\n")]
    assert head[:3] == ["network", "kernels", "total ms"]
    kernels = {"best kernel per layer", "a single kernel", "baseline a-vendor-library"}
    assert kernels <= {row[1] for row in rows if row[0].startswith("detection")}
    assert kernels <= {row[1] for row in rows if row[0].startswith("a-network")}
    assert {len(row) for row in rows} == {len(head)}
    label = "document.querySelector('[data-copy=total-table]').textContent"
    assert browser.evaluate(label) == "Copied"


def test_the_keyboard_opens_a_kernel(browser):
    browser.evaluate("document.querySelector('#best-table summary').focus()")
    browser.key("Enter", 13)
    browser.evaluate("document.activeElement.click()")
    shown = browser.evaluate("document.querySelector('#best-table details[open] dl').textContent")
    assert "legacy.conf:" in shown and "instance string" in shown
    browser.evaluate("document.activeElement.click()")


def test_samples_follow_the_problem(browser):
    visible = (
        "Array.from(document.querySelectorAll('.boxes')).filter((one) => !one.hidden)"
        ".map((one) => one.dataset.problem)"
    )
    choose = (
        "(() => {{ const choice = document.getElementById('trace-problem'); choice.value = '{}'; "
        "choice.dispatchEvent(new Event('change')); }})()"
    )
    for number in ("5", "0"):
        browser.evaluate(choose.format(number))
        assert browser.evaluate(visible) == [number]


def test_lines_of_the_history_lead_to_their_rows(browser):
    links = browser.evaluate(
        "Array.from(document.querySelectorAll('#history-chart a')).map((one) => one.getAttribute('href'))"
    )
    assert sorted(links) == sorted(f"#h{number}" for number in range(1, 9))
    assert browser.evaluate("document.querySelectorAll('#history-table .spark').length") == 8


def test_columns_of_the_heat_map_have_names(browser):
    names = browser.evaluate(
        "Array.from(document.querySelectorAll('#heat text')).map((one) => one.lastChild.textContent)"
    )
    assert sum("variant_" in name for name in names) == 12
    assert "P1 conv0" in names
