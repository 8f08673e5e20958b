"""The page without a browser: it is whole, small, safe and deterministic, and shortens names as tables do."""

import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from ckprof.compare.side import side_of
from ckprof.model.outcome import Status
from ckprof.model.roofline import Ceiling
from ckprof.report.short_names import ShortNames
from ckprof_plugins.pages import charts, image
from ckprof_plugins.pages import heat as heat_map_module
from ckprof_plugins.pages.charts import Bar, bar_chart, box_chart, boxes, coverage_chart
from ckprof_plugins.pages.content import report_content
from ckprof_plugins.pages.heat import BANDS, heat_chart, heat_map
from ckprof_plugins.pages.markdown import render_markdown
from ckprof_plugins.pages.options import ReportOptions
from ckprof_plugins.pages.page import render_html
from tests.measured import Made, attempts, later
from tests.report.hostile_text import CONTROL, PAYLOADS, Elements, assert_harmless_markdown
from tests.report.test_escape import ALL, sides
from tests.report.test_short_names import MIDDLES, NAMES, long_name, renamed

MADE = Made(
    problems=4, instances=6, processes=3, failing=lambda p, i: Status.RUN_ERROR if (p, i) == (0, 0) else None
)
OPTIONS = ReportOptions(ceilings=(Ceiling.parse("measured=100,50"),))
VOID = {"meta", "link", "input", "br", "wbr"}


class Reader(HTMLParser):
    """Checks that elements nest, and collects them."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page():
    old = side_of(
        "yesterday.db", attempts(replace(MADE, seed=5, factor=lambda p, i: 1.5 if i in (1, 2) else 1.0))
    )
    new = side_of("results.db", attempts(replace(MADE, session=later())))
    return render_html(report_content(new, OPTIONS, old))


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_elements_nest_and_ids_are_unique(page):
    ids = [attributes["id"] for _, attributes in read(page).seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in read(page).seen:
        if (target := attributes.get("href") or "").startswith("#"):
            assert target[1:] in ids


def test_nothing_is_loaded_from_elsewhere(page):
    links = [
        value
        for _, attributes in read(page).seen
        for name, value in attributes.items()
        if name in ("src", "href")
    ]
    assert all(value is not None and value.startswith(("#", "data:")) for value in links)
    assert "@import" not in page
    assert set(re.findall(r"url\([^)]*\)", page)) <= {"url(#hatch)"}


def test_every_chart_has_a_name_and_a_description(page):
    drawings = re.findall(r"<svg .*?</svg>", page, re.S)
    assert len(drawings) == 4
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)  # noqa: S314 - our own text
        texts = {child.get("id"): child.text for child in root}
        assert texts[root.get("aria-labelledby")]
        assert len(texts[root.get("aria-describedby")] or "") > 30


def test_every_table_can_be_sorted(page):
    tables = re.findall(r"<table(.*?)>.*?<thead>(.*?)</thead>", page, re.S)
    assert len(tables) == 10
    for attributes, head in tables:
        assert "sortable" in attributes
        assert head.count("<th ") == head.count('<button type="button">')


def test_rows_have_as_many_cells_as_the_head(page):
    for table in re.findall(r"<table.*?</table>", page, re.S):
        columns = table.count("<th ")
        for row in re.findall(r"<tr(?: [^>]*)?>(?:(?!<th).)*?</tr>", table, re.S):
            assert row.count("<td") == columns, row


def test_names_cannot_break_out_of_the_page():
    evil = "</script><img src=x onerror=alert(1)>"
    some = [replace(one, kernel=replace(one.kernel, name=evil), reason=evil) for one in attempts(MADE)]
    page = render_html(report_content(side_of(evil, some), ReportOptions(title=evil)))
    assert "<img" not in page
    assert page.count("</script>") == 2
    read(page)


def test_the_data_is_json(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    data = json.loads(found[1])
    assert len(data["cells"]) == 4
    assert {len(row) for row in data["cells"]} == {6}
    assert [len(group) for group in data["traces"]] == [5, 5, 5, 5]
    assert min(cell for row in data["cells"] for cell in row) <= -2


def test_the_page_is_deterministic_also_of_an_empty_store():
    side = side_of("x", attempts(MADE))
    assert render_html(report_content(side, OPTIONS)) == render_html(report_content(side, OPTIONS))
    page = render_html(report_content(side_of("empty.db", []), ReportOptions()))
    assert "Nothing was measured." in page
    read(page)


@pytest.mark.parametrize(("instances", "turned"), [(6, False), (60, True), (150, False)])
def test_heat_cells_are_drawn_once_each_with_figures(instances, turned):
    heat = heat_map(side_of("x", attempts(replace(MADE, instances=instances))))
    page = str(heat_chart(heat))
    drawn = re.findall(r'<path d="([^"]*)" class="(\w+)"', page)
    cells = {}
    for path, name in drawn:
        for column, row, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", path):
            for offset in range(int(length)):
                place = (int(row), int(column) + offset)
                assert cells.setdefault(place[::-1] if turned else place, name) == name
    assert len(cells) == 4 * instances
    for row, values in enumerate(heat.cells):
        for column, value in enumerate(values):
            if isinstance(value, int):
                band = int(cells[row, column][1:])
                assert BANDS[band] <= value
                assert band + 1 == len(BANDS) or value < BANDS[band + 1]
    # with the figures, over the whole width: kernels are rows where columns would be too narrow for them
    assert ("problems across" in page) == turned
    grid = zip(*heat.cells, strict=True) if turned else heat.cells
    timed = [str(value) for row in grid for value in row if isinstance(value, int)]
    assert re.findall(r">(\d+)</text>", page) == (timed if instances < 150 else [])


def test_a_library_of_one_kernel_is_a_dot():
    one = report_content(side_of("x", attempts(replace(MADE, instances=1))), OPTIONS).coverage[0]
    assert len(one.steps) == 1 and str(coverage_chart([one])).count("<circle") == 1


PROBLEM = "conv -n 1 -c 64 -H 14 -W 14 -k 64 -y 1 -x 1 -F 1"


def test_pages_are_about_kernels_on_a_problem(ckprof, tmp_path):
    asked = ("inspect", "fwd", "--rule-set", "tiny", "--arch", "gfx942", "--target", "hip")
    page = tmp_path / "page.html"
    ckprof(*asked, "--page", page).fails_with(2, "give --problem")
    ckprof(*asked, "--problem", PROBLEM, "--gpu", "MI300X").fails_with(2, "give --page")
    ckprof(*asked, "--problem", PROBLEM, "--instance", "0", "--page", tmp_path / "page.doc").fails_with(
        2, ".html, .json, .md, .txt"
    )
    ckprof(*asked, "--problem", PROBLEM, "--page", f"{tmp_path}/none/").fails_with(3, "is not a folder")
    ckprof(*asked, "--problem", PROBLEM, "--page", page).fails_with(2, "a page shows one kernel")
    assert not page.exists()


#: of whole pages; in the fast suite all in one, and a link, a comment, a fence, controls, a service's command
HOSTILE_PAGE = pytest.mark.parametrize(
    "payload",
    [
        ALL,
        *(
            pytest.param(payload, marks=pytest.mark.thorough if number % 5 else ())
            for number, payload in enumerate(PAYLOADS)
        ),
    ],
    ids=lambda text: ascii(text)[1:25],
)


@HOSTILE_PAGE
def test_stores_show_texts_as_texts(payload):
    old, new = sides(payload)
    content = report_content(old, ReportOptions(title=f"title {payload}"), new)
    assert_harmless_markdown(render_markdown(content))
    page = render_html(content)
    assert not CONTROL.search(page)
    found = Elements(page)
    assert found.tags == usual_tags() and not found.comments
    assert not CONTROL.search(found.text)
    for tag, attributes in found.seen:
        assert not any(name.startswith("on") or name in ("src", "autofocus") for name in attributes), tag
        assert re.match(r"#|data:,$", attributes.get("href") or "#"), tag
        assert not any(CONTROL.search(value or "") for value in attributes.values())
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert not re.search(r"\\u00[019]|\\u20[26]", data.replace("\\\\", ""))
    drawn = image._drawing(content)
    assert not CONTROL.search(drawn)
    ElementTree.fromstring(drawn)  # noqa: S314 - our own text


@cache
def usual_tags():
    old, new = sides("")
    return Elements(render_html(report_content(old, ReportOptions(), new))).tags


#: a name whose middle is too long for any chart
LONG = long_name(f"compv9_{'x'.join(map(str, range(40)))}")
TEXT = ("chart", "Chart", "A chart")


@pytest.fixture(scope="module")
def named():
    """Measurements of kernels with long names, the last of which is very long."""
    return [renamed(one, [*NAMES[:3], LONG]) for one in attempts(Made())]


@pytest.fixture(scope="module")
def side(named):
    return side_of("results.db", named)


def shown(names, width):
    common = ShortNames(names)
    return [common.short(name, width) for name in names]


def test_bars_and_heat_maps_have_the_names_of_tables(side):
    names = [*NAMES[:3], LONG]
    bars = str(bar_chart([Bar(name=name, time_ms=1.0) for name in names], *TEXT))
    heat = str(heat_chart(heat_map(side), ShortNames(names)))
    for drawn, width in ((bars, charts._NAME), (heat, heat_map_module._NAME)):
        expected = shown(names, width)
        assert all(middle in text for middle, text in zip(MIDDLES, expected[:3], strict=False))
        assert len({*expected}) == 4 and max(map(len, expected)) <= width
        for text in expected:
            assert f"{text}</text>" in drawn


def test_the_page_and_the_image_say_what_is_left_out(side):
    content = report_content(side, ReportOptions())
    page = render_html(content)
    assert f"<dt>common to all names</dt><dd>{ShortNames([*NAMES[:3], LONG]).common}</dd>" in page
    assert f'title="{NAMES[0]}"' in page
    assert MIDDLES[0] in image._drawing(content)


def test_box_plots_have_the_names_of_tables(named, side):
    found = boxes(side, named, 4)
    for of_problem in found.values():
        drawn = str(box_chart(of_problem, *TEXT))
        for text in shown([box.name for box in of_problem], charts._NAME):
            assert text in drawn
