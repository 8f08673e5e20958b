"""What a network takes, as reports say it."""

from dataclasses import replace

from ckprof.compare.side import Side, side_of
from ckprof.model.outcome import Status
from ckprof_plugins.pages.content import report_content
from ckprof_plugins.pages.markdown import render_markdown
from ckprof_plugins.pages.options import ReportOptions
from ckprof_plugins.pages.page import render_html
from tests.measured import SESSION, attempts, later
from tests.report.test_totals import MADE, in_networks, side

__all__ = ["side"]


def test_a_sum_without_a_layer_says_so():
    only_first = replace(
        MADE, instances=2, failing=lambda p, i: Status.RUN_ERROR if (p == 0) == (i == 0) else None
    )
    text = render_markdown(report_content(side_of("x", attempts(only_first)), ReportOptions()))
    (row,) = [line for line in text.splitlines() if "a single kernel" in line]
    assert "12 of 13" in row and "conv0" in row


def test_names_of_what_nothing_serves_stand_beside_the_sum(side):
    content = report_content(side, ReportOptions())
    for text in (render_markdown(content), render_html(content)):
        assert "conv3 is unsupported and excluded from all totals." in text
        assert "6 problems, which occur as 13 layers in all" in text
        assert text.index("best kernel per layer") < text.index("conv0")


def test_without_counts_it_says_that_each_problem_counts_once():
    content = report_content(side_of("x", attempts(replace(MADE, session=SESSION))), ReportOptions())
    assert not content.layers
    text = render_markdown(content)
    assert "over 6 problems, each once: the source does not say how often." in text
    alone = replace(MADE, session=SESSION, problems=1)
    text = render_markdown(report_content(side_of("x", attempts(alone)), ReportOptions()))
    assert "over 1 problem, each once" in text


def test_networks_stand_below_each_other(side):
    first = replace(SESSION, environment=in_networks(("a", {0: 2, 2: 1})))
    second = replace(later(SESSION), environment=in_networks(("b", {2: 4, 4: 1})))
    content = report_content(replace(side, sessions=(first, second)), ReportOptions())
    assert content.layers[next(iter(side.by_problem))].count == 2
    text = render_markdown(content)
    for name in ("a", "b", "other problems"):
        assert f"| {name} " in text and f"{name}: Times are summed up over" in text
    assert text.index("| a ") < text.index("| other problems ") < text.index("| b ")


def test_layouts_are_summed_up_apart(side):
    rows = dict(side.rows)
    for key, row in side.rows.items():
        moved = replace(key, problem=replace(key.problem, layout="other"))
        rows[moved] = replace(row, key=moved)
    both = Side(label="x", rows=rows, sessions=side.sessions)
    assert "other: Times are summed up over" in render_html(report_content(both, ReportOptions()))


def test_baselines_are_named(side):
    vendor = dict.fromkeys(side.by_problem, 10.0)
    content = report_content(replace(side, baselines={"vendor": vendor, "none": {}}), ReportOptions())
    for text in (render_markdown(content), render_html(content)):
        assert "baseline vendor" in text


def test_an_older_side_is_summed_up(side):
    content = report_content(side, ReportOptions(), replace(side, label="old.db"))
    for text in (render_markdown(content), render_html(content)):
        assert "best kernel per layer of old.db" in text
