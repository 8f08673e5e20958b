"""Times over stores and commands, and what is said of the latest one."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings

from ckprof.compare.side import Side, side_of
from ckprof.model.outcome import Status
from ckprof.model.ranking import TIE, Order, RankedSet, ranking
from ckprof.profiler import Profiler
from ckprof.store.attempt import PLANNED, SWEEP
from ckprof.store.writer import StoreWriter
from ckprof_plugins.pages.content import best_rows, report, report_content
from ckprof_plugins.pages.history import MOST, Trend, history, history_of_commands, labels_of
from ckprof_plugins.pages.markdown import render_markdown
from ckprof_plugins.pages.options import ReportOptions
from ckprof_plugins.pages.page import render_html
from tests.compare.test_one_winner import measured, outcomes_of
from tests.measured import SESSION, Made, attempts


def made(night, slower=1.0, **changes):
    session = replace(SESSION, uid=f"{night:032x}", started=SESSION.started + 86400 * night)
    return Made(
        problems=4,
        instances=3,
        seed=night,
        session=session,
        processes=3,
        noise=0.003,
        factor=lambda p, i: slower if p == 1 else 1.0,
        **changes,  # type: ignore[arg-type]
    )


def nights(*factors):
    return [side_of(f"{n}/results.db", attempts(made(n, factor))) for n, factor in enumerate(factors)]


def found(sides):
    past = history(labels_of(sides), sides, list(sides[-1].by_problem))
    assert past is not None
    return past


@pytest.fixture(scope="module")
def past():
    return found(nights(1.0, 1.0, 1.0, 1.2))


def test_a_line_per_problem_and_what_became_slower(past):
    assert past.labels == tuple(f"{n}/results.db" for n in range(4))
    assert [row.number for row in past.rows] == [1, 2, 3, 4]
    assert [row.trend for row in past.rows] == [Trend.BEST, Trend.SLOWER, Trend.BEST, Trend.BEST]
    slow = past.rows[1]
    assert slow.last.ratio == pytest.approx(1.2, rel=0.02) and slow.last.low > 1 + TIE


def test_the_limits_are_those_of_the_ranking(past):
    for row in past.rows:
        points = sorted(row.points, key=lambda point: point.row.time_ms)
        leads = RankedSet([point.row.time for point in points if point.row.time]).intervals()
        for point, lead in zip(points, leads, strict=True):
            assert math.log(point.ratio) == pytest.approx(lead.estimate)
            assert (math.log(point.low), math.log(point.high)) == pytest.approx((lead.low, lead.high))
        fastest = min(row.points, key=lambda point: point.row.time_ms)
        assert (fastest.ratio, fastest.low, fastest.high) == (1.0, 1.0, 1.0)


def test_a_problem_that_a_store_lacks_has_a_gap():
    sides = nights(1.0, 1.0, 1.0)
    sides[1] = side_of("x", attempts(made(1, failing=lambda p, i: Status.RUN_ERROR if p == 0 else None)))
    past = found(sides)
    assert [point.place for point in past.rows[0].points] == [0, 2] and past.rows[0].absent == (1,)
    # only one store has the first problem: no line
    sides[2] = side_of("y", attempts(made(2, failing=lambda p, i: Status.RUN_ERROR if p == 0 else None)))
    assert [row.number for row in found(sides).rows] == [2, 3, 4]


def test_places_and_their_labels():
    sides = nights(*[1.0] * (MOST + 2))
    assert found(sides).labels == tuple(f"{n}/results.db" for n in range(2, MOST + 2))
    sides = [Side(label=label, rows={}) for label in ("a/x.db", "b/x.db", "c/y.db")]
    assert labels_of(sides) == ["a/x.db", "b/x.db", "c/y.db"]
    assert labels_of(sides[1:]) == ["x.db", "y.db"]


def test_commands_of_one_store():
    both = [*attempts(made(0)), *attempts(made(1, 1.2))]
    order = list(side_of("x", both).by_problem)
    past = history_of_commands(both, order)
    assert past is not None
    assert past.labels == ("1970-01-01 00:16", "1970-01-02 00:16")
    assert past.rows[1].trend is Trend.SLOWER
    assert history_of_commands(both[: len(both) // 2], order) is None
    # one that resumes a sweep is no second measurement
    resumed = replace(both[-1].session, environment={PLANNED: {"known": 6, "missing": 6}})
    half = len(both) // 2
    again = [replace(one, session=resumed) for one in both[half:]]
    assert history_of_commands([*both[:half], *again], order) is None


def test_a_sweep_that_was_ended_says_how_much_is_missing(tmp_path):
    planned = replace(SESSION, environment={PLANNED: {"known": 0, "missing": 14}})
    for known, said in ((12, "2 of its outcomes are"), (13, "1 of its outcomes is"), (14, "")):
        made_ = replace(made(0), session=planned, problems=known, instances=1)
        with StoreWriter(path := tmp_path / f"{known}.db") as writer:
            writer.append_many(attempts(made_))
        content = report(Profiler(), path)
        assert content.ended == (
            f"The sweep was stopped: {said} missing. Rerun the same command to resume." if said else ""
        )
        for text in (render_markdown(content), render_html(content)):
            assert ("The sweep was stopped" in text) == bool(said)


def test_workers_of_a_sweep_are_one_command():
    some = [
        replace(one, session=replace(one.session, environment={SWEEP: "job"}))
        for night in (0, 1)
        for one in attempts(made(night))
    ]
    assert history_of_commands(some, list(side_of("x", some).by_problem)) is None


def test_reports_of_one_and_of_several_stores(tmp_path):
    profiler = Profiler()
    paths = []
    for night, factor in enumerate((1.0, 1.0, 1.2)):
        paths.append(tmp_path / f"{night}.db")
        with StoreWriter(paths[-1]) as writer:
            for one in attempts(made(night, factor)):
                writer.append(one)
    content = report(profiler, *paths)
    assert content.history is not None and content.history.labels == ("0.db", "1.db", "2.db")
    assert content.comparison is not None and content.comparison.old_label == str(paths[1])
    assert report(profiler, *paths[:2]).history is None
    assert report(profiler, *paths[:1]).history is None
    boxes = report(profiler, *paths[:1], options=ReportOptions(samples=True)).boxes
    assert len(boxes) == 4 and all(box.samples == 30 for of in boxes.values() for box in of)


def test_it_is_drawn(past):
    sides = nights(1.0, 1.0, 1.0, 1.2)
    content = report_content(sides[-1], ReportOptions(), sides[-2], past)
    page = render_html(content)
    chart = re.search(r'<svg [^>]*id="history-chart".*?</svg>', page, re.S)
    assert chart
    lines = re.findall(r'<g class="line (\w+)">', chart[0])
    assert lines[-1] == "slower" and lines.count("steady") == 3
    assert chart[0].count("<polyline") == 4 and chart[0].count("<circle") == 16
    # every time but the fastest of each problem has its limits
    limits = re.findall(r'<path d="([^"]*)" class="limits"', chart[0])
    assert [path.count("M") for path in limits] == [3, 3, 3, 3]
    assert page.count('class="spark"') == 4
    (row,) = [line for line in render_markdown(content).splitlines() if "was faster" in line]
    assert "P2" in row


@settings(max_examples=60, deadline=None)
@given(attempts=measured())
def test_the_same_measurements_name_the_same_winner(attempts):
    rows = best_rows(side_of("x", attempts), ReportOptions())
    outcomes = outcomes_of(attempts)
    ranked = ranking(outcomes, {one.key: number for number, one in enumerate(outcomes)})
    if ranked[0].rank is None:
        assert rows == []
        return
    (row,) = rows
    assert row.best.key.instance == ranked[0].outcome.key
    first = [one.outcome.key for one in ranked if one.rank == 1]
    assert row.resolution.first == len(first)
    assert (row.resolution.order in (Order.TIE, Order.OPEN)) == (len(first) > 1)
