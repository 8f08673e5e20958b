"""Charts and pages shorten names as tables do."""

import pytest

from ckprof.compare.side import side_of
from ckprof.report.short_names import ShortNames
from ckprof_plugins.pages import charts, image
from ckprof_plugins.pages import heat as heat_map_module
from ckprof_plugins.pages.charts import Bar, bar_chart, box_chart, boxes
from ckprof_plugins.pages.content import report_content
from ckprof_plugins.pages.heat import heat_chart, heat_map
from ckprof_plugins.pages.options import ReportOptions
from ckprof_plugins.pages.page import render_html
from tests.measured import Made, attempts
from tests.report.test_short_names import MIDDLES, NAMES, long_name, renamed

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
