"""What a report says, against direct counts over the same measurements."""

import math
import re
from dataclasses import replace
from itertools import combinations

import pytest

from ckprof.compare.side import Side, side_of, with_rounds
from ckprof.errors import UsageError
from ckprof.model.outcome import Status
from ckprof.model.ranking import Order
from ckprof.model.roofline import Ceiling, CeilingKind
from ckprof.report.short_names import WHOLE_NAMES
from ckprof.store.attempt import Mark
from ckprof_plugins.pages.content import best_rows, coverage, report_content
from ckprof_plugins.pages.devices import device_rows
from ckprof_plugins.pages.heat import heat_map
from ckprof_plugins.pages.markdown import render_markdown
from ckprof_plugins.pages.options import ReportOptions
from ckprof_plugins.pages.page import render_html
from ckprof_plugins.pages.tables import best_table
from tests.measured import Made, attempts, later

OPTIONS = ReportOptions()


def failing(problem, instance):
    if problem == 1 and instance < 2:
        return Status.UNSUPPORTED
    return Status.WRONG_RESULT if (problem, instance) == (2, 3) else None


MADE = Made(problems=5, instances=8, rounds=6, failing=failing)


@pytest.fixture(scope="module")
def side():
    return side_of("results.db", attempts(MADE))


@pytest.fixture(scope="module")
def content(side):
    return report_content(side, OPTIONS)


def test_the_overview_counts(content):
    assert content.summary.startswith("5 problems, 8 instances, 40 outcomes: 37 ok, ")
    assert content.statuses == {Status.OK: 37, Status.UNSUPPORTED: 2, Status.WRONG_RESULT: 1}
    assert f"<b>{37 * 6}</b> verified rounds" in render_html(content)
    facts = dict(content.facts)
    assert facts["device"] == "cpu Model 7 x86-64"
    assert facts["compiler"] == "clang 19.1"
    assert facts["timing"] == "wall clock, cold cache"


def test_failures_are_grouped_and_real_ones_come_first(content):
    assert [(*kind, len(rows)) for kind, rows in content.failures.items()] == [
        (Status.WRONG_RESULT, "it is wrong_result", 1),
        (Status.UNSUPPORTED, "requirement vector_size", 2),
    ]


def test_the_best_has_the_least_median(side, content):
    for row in content.best:
        times = [one.time_ms for one in side.rows.values() if one.key.problem == row.key and one.ranked]
        assert row.best.time_ms == min(times)
        assert row.ranked == len(times)
        assert row.runner_up is not None
        assert row.runner_up.time_ms / row.best.time_ms == pytest.approx(sorted(times)[1] / min(times))
        assert row.gflops == pytest.approx(row.key.problem.flop / (row.best.time_ms / 1e3) / 1e9)


def test_rates_and_ceilings(content):
    row = content.best[0]
    elements = (
        row.key.problem.input_elements + row.key.problem.weight_elements + row.key.problem.output_elements
    )
    assert row.gbytes_per_s == pytest.approx(2 * elements / row.best.time_ms / 1e6)
    assert row.intensity == pytest.approx(row.key.problem.flop / (2 * elements))
    assert row.of_ceiling is None
    ceilings = (Ceiling.parse("theoretical=400,-"), Ceiling.parse("measured=200,1000"))
    expected = row.gflops / min(200.0, 1000 * (row.intensity or 0))
    under_ceilings = best_rows(content.side, replace(OPTIONS, ceilings=ceilings))[0]
    assert under_ceilings.of_ceiling == pytest.approx(expected)


def two_kernels(factor, noise, rounds=8):
    made = Made(problems=1, instances=2, rounds=rounds, processes=4, noise=0.0)
    whole = side_of("x", attempts(made))
    first, second = whole.rows.values()

    def timed(row, scale, phase):
        wobble = [1 + noise * math.sin(7 * index + phase) for index in range(rounds)]
        return with_rounds(
            row, [replace(one, time_ms=scale * by) for one, by in zip(row.rounds, wobble, strict=True)]
        )

    return Side(label="x", rows={first.key: timed(first, 1.0, 0), second.key: timed(second, factor, 2)})


@pytest.mark.parametrize(
    ("factor", "noise", "order"),
    [(1.2, 0.005, Order.CLEAR), (1.004, 0.003, Order.TIE), (1.03, 0.08, Order.OPEN)],
)
def test_how_sure_the_order_is(factor, noise, order):
    assert best_rows(two_kernels(factor, noise), OPTIONS)[0].resolution.order is order


def test_a_kernel_without_rivals():
    (row,) = best_rows(side_of("x", attempts(Made(problems=1, instances=1))), OPTIONS)
    assert (row.resolution.order, row.runner_up, row.change) == (Order.ALONE, None, None)


def good_enough(side, tolerance):
    """Return instance -> numbers of problems, by another way than the coverage."""
    found = {}
    for number, rows in enumerate(side.by_problem.values()):
        least = min(row.time_ms for row in rows)
        for row in rows:
            if row.ranked and row.time_ms <= least * (1 + tolerance):
                found.setdefault(row.key.instance, set()).add(number)
    return found


@pytest.mark.parametrize("tolerance", [0.02, 0.05, 0.10])
def test_the_cover_serves_everything_and_is_no_larger_than_greed_allows(side, tolerance):
    curve = coverage(side, tolerance)
    served = good_enough(side, tolerance)
    chosen = list(curve.steps)
    assert set().union(*(served[one] for one in chosen)) == set(range(5))
    running = set()
    for instance, covered in curve.steps.items():
        running |= served[instance]
        assert covered == len(running)
    smallest = next(
        size
        for size in range(1, 9)
        if any(len(set().union(*(served[one] for one in some))) == 5 for some in combinations(served, size))
    )
    assert smallest <= len(chosen) <= smallest * (math.log(5) + 1)


@pytest.fixture(scope="module")
def with_gaps():
    """Nothing serves the third of five problems, on the fourth every kernel fails."""

    def ends(problem, instance):
        return {2: Status.UNSUPPORTED, 3: Status.WRONG_RESULT}.get(problem)

    return report_content(side_of("x", attempts(replace(MADE, failing=ends))), OPTIONS)


def test_problems_that_nothing_serves_keep_their_place(with_gaps):
    assert [row.number for row in with_gaps.best_table] == [1, 2, 3, 4, 5]
    assert [(one.number, one.tried, one.reason) for one in with_gaps.unserved] == [
        (3, 8, "it is unsupported"),
        (4, 8, "wrong_result: it is wrong_result"),
    ]
    for curve in with_gaps.coverage:
        assert (curve.problems, curve.served, [*curve.steps.values()][-1]) == (5, 3, 3)
        assert re.fullmatch(r"\d kernels? serves? 3 of 5 problems", curve.text)
    assert "5 problems (2 of them served by no kernel)" in with_gaps.summary
    text = render_markdown(with_gaps)
    (row,) = [line for line in text.splitlines() if line.startswith("|") and " P3 " in line]
    assert "none: it is unsupported" in row and "0 of 8" in row
    assert "serve 3 of 5 problems" in text and "serve all" not in text
    assert re.search(r"^\* P4 .*: none: wrong_result: it is wrong_result$", text, re.MULTILINE)
    page = render_html(with_gaps)
    assert 'id="p3"' in page and "none: it is unsupported" in page
    assert "No kernel serves:" in page and "serve 3 of 5 problems" in page


def test_where_everything_is_served_it_says_so(content):
    assert content.unserved == () and all(" all 5 problems" in curve.text for curve in content.coverage)
    assert "No kernel serves" not in render_html(content)


def test_the_heat_map(side):
    heat = heat_map(side)
    assert (len(heat.cells), len(heat.cells[0])) == (5, 8)
    columns = {one.key: index for index, one in enumerate(heat.instances)}
    for row, problem in zip(heat.cells, side.by_problem, strict=True):
        best = side.best(problem)
        assert best is not None
        assert row[columns[best.key.instance]] == 100
        assert sum(cell == 100 for cell in row) == 1
    assert [cell for row in heat.cells for cell in row if isinstance(cell, Status)].count(
        Status.UNSUPPORTED
    ) == 2
    assert sum(one.wins for one in heat.instances) == 5
    assert sum(one.failed for one in heat.instances) == 1
    merits = [one.mean_share * one.ranked for one in heat.instances]
    assert merits == sorted(merits, reverse=True)


@pytest.mark.parametrize(
    "text", ["measured", "measured=1", "measured=-,-", "guessed=1,2", "measured=0,1", "measured=a,1"]
)
def test_wrong_ceilings(text):
    with pytest.raises(UsageError, match="ceiling "):
        Ceiling.parse(text)


def test_ceilings():
    ceiling = Ceiling.parse("measured=100, 50")
    assert (ceiling.kind, ceiling.at(1), ceiling.at(10)) == (CeilingKind.MEASURED, 50, 100)
    assert Ceiling.parse("theoretical=-,50").at(100) == 5000


@pytest.mark.parametrize("wrong", [{"tie": 0}, {"tolerances": ()}, {"tolerances": (2.0,)}])
def test_wrong_options(wrong):
    with pytest.raises(UsageError):
        ReportOptions(**wrong)  # type: ignore[arg-type]


def test_markdown_has_every_part(side):
    older = side_of("yesterday.db", attempts(replace(MADE, seed=3, session=later())))
    text = render_markdown(report_content(side, replace(OPTIONS, title="My run"), older))
    assert text.startswith("## My run\n")
    assert "37 ok, 2 unsupported, 1 wrong_result" in text
    assert "### Best per problem" in text
    assert "* within 5 % of the best:" in text
    assert "yesterday.db (old) against results.db (new)" in text
    assert len(re.findall(r"\| +P\d \|", text)) == 5


def test_nothing_measured():
    content = report_content(side_of("empty.db", []), OPTIONS)
    assert "0 problems" in render_markdown(content)


def test_cards_are_shown_beside_each_other():
    def of_card(card, factor, marks=()):
        session = replace(MADE.session, uid=card * 32, environment={"card": {"id": f"node:{card}"}})
        conditions = {"clock_mhz": 1700.0 / factor, "temperature_c": 60.0}
        return [
            replace(
                one,
                marks=marks,
                conditions=replace(one.conditions, extra={"reference_ms": 2.0 * factor}, **conditions),
            )
            for one in attempts(replace(MADE, session=session))
        ]

    made = [*of_card("a", 1.0), *of_card("b", 1.0), *of_card("c", 1.5, (Mark.SLOW_DEVICE,))]
    found = side_of("results.db", made)
    devices = device_rows(made)
    assert [(one.id, one.reference_ms, one.ratio, one.checks) for one in devices] == [
        ("node:c", 3.0, 1.5, 1),
        ("node:a", 2.0, 1.0, 1),
        ("node:b", 2.0, 1.0, 1),
    ]
    slow = devices[0]
    assert (slow.problems, slow.attempts, slow.slow) == (5, len(made) // 3, len(made) // 3)
    content = replace(report_content(found, OPTIONS), devices=devices)
    assert "node:c" in render_markdown(content) and "### Devices" in render_markdown(content)
    page = render_html(content)
    assert '<section id="devices" ' in page and "node:c" in page
    # what a slow card measured does not count: the session of its rounds is not among them
    uids = {one.place[0] for row in found.rows.values() for one in row.rounds if one.place is not None}
    assert uids == {"a" * 32, "b" * 32}
    assert "Cards" not in render_markdown(report_content(side_of("x", attempts(MADE)), OPTIONS))


def test_errors_of_the_best_against_other_splits():
    """A kernel whose error grows with its splits is marked; without errors there is no column."""
    one = Made(problems=1, instances=1)
    (first, *_) = attempts(one)

    def verified(splits, ulp):
        seen = replace(first.verification, max_error=ulp, spacing=1.0)
        time = replace(first.measurement, time_ms=first.measurement.time_ms / splits)
        return replace(
            first,
            key=replace(first.key, split_k=splits),
            verification=seen,
            measurement=time,
            sequence=splits,
        )

    def cells(*errors):
        content = report_content(side_of("x", [verified(*one) for one in errors]), OPTIONS)
        table = best_table(content, WHOLE_NAMES)
        columns = [column for column in table.columns if column.name == "error [ulp]"]
        return [(column.shown(row), column.hint(row)) for column in columns for row in table.rows]

    said = "times the error of the same kernel with other splits"
    assert cells((1, 0.5), (16, 10.0)) == [("10 (20 times)", f"20 {said}")]
    assert cells((1, 0.5), (16, 1.0)) == [("1", f"2 {said}")]
    assert cells((1, 0.5)) == [("0.5", "")]
    table = best_table(report_content(side_of("x", attempts(one)), OPTIONS), WHOLE_NAMES)
    assert "error [ulp]" not in [column.name for column in table.columns]
