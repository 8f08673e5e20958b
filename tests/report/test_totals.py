"""What a network takes, against sums over the same measurements by hand."""

import math
from dataclasses import replace
from itertools import combinations

import pytest

from ckprof.compare.side import Side, side_of
from ckprof.model.outcome import Status
from ckprof.model.problem_case import ProblemCase
from ckprof.report.document import Document
from ckprof.report.run_summary import terminal_document
from ckprof.report.run_table import run_document
from ckprof.report.table import Terminal
from ckprof.report.totals import NetworkTimes, add_totals, networks, networks_of_run
from ckprof.sweep.evidence import Layers, layer_evidence
from tests.measured import SESSION, Made, attempts, later, problems
from tests.report.test_run_table import baseline, with_baselines

from .conftest import PROBLEM

#: how often each of six problems occurs
COUNTS = (1, 3, 2, 1, 5, 1)


def ends(problem, instance):
    """Nothing serves the fourth problem; the first kernel does not serve the second one."""
    return Status.UNSUPPORTED if problem == 3 or (problem, instance) == (1, 0) else None


CASES = [
    ProblemCase(problem=problem, count=count, name=f"conv{number}")
    for number, (problem, count) in enumerate(zip(problems(6), COUNTS, strict=True))
]
MADE = Made(
    problems=6,
    instances=5,
    failing=ends,
    session=replace(SESSION, environment=layer_evidence(CASES)),
    factor=lambda p, i: 1 + 0.2 * ((p + 2 * i) % 5),
)


@pytest.fixture(scope="module")
def side():
    return side_of("results.db", attempts(MADE))


def networks_of(side, older=None):
    layers = Layers(side.sessions).of_keys(side.by_problem)
    return networks(
        NetworkTimes.of_side(side), layers, NetworkTimes.of_side(older) if older is not None else None
    )


def times(side):
    """Return instance -> time for each problem."""
    return [
        {row.key.instance: row.time_ms for row in rows if row.ranked} for rows in side.by_problem.values()
    ]


def totals(side, older=None):
    (network,) = networks_of(side, older)
    return {total.library: total for total in network.totals}


def test_the_best_per_layer_is_summed_up_by_counts(side):
    expected = sum(
        count * min(of_problem.values())
        for count, of_problem in zip(COUNTS, times(side), strict=True)
        if of_problem
    )
    (network,) = networks_of(side)
    best = totals(side)["best kernel per layer"]
    assert best.time_ms == pytest.approx(expected)
    assert (network.problems, network.layers, network.unserved) == (6, 13, ("conv3",))
    assert (best.layers, best.missing, best.ratio) == (12, ("conv3",), 1.0)


@pytest.mark.parametrize("size", [2, 3])
def test_no_other_library_of_that_size_takes_less(side, size):
    served = [(count, row) for count, row in zip(COUNTS, times(side), strict=True) if row]
    names = sorted({name for _, row in served for name in row})
    sums = [
        sum(count * min(row.get(one, math.inf) for one in chosen) for count, row in served)
        for chosen in combinations(names, size)
    ]
    total = totals(side)[f"one library of {size} kernels"]
    assert total.time_ms == pytest.approx(min(sums)) and total.exact
    assert len(total.kernels) == size and total.missing == ("conv3",)
    assert total.ratio == pytest.approx(min(sums) / totals(side)["best kernel per layer"].time_ms)


def test_a_sum_without_a_layer_says_so_and_is_compared_on_what_it_has():
    only_first = replace(
        MADE, instances=2, failing=lambda p, i: Status.RUN_ERROR if (p == 0) == (i == 0) else None
    )
    single = totals(side_of("x", attempts(only_first)))["a single kernel"]
    # the second kernel alone serves the first problem, the first one all others
    assert single.missing == ("conv0",) and single.layers == 12 and single.ratio == pytest.approx(1.0)


def test_an_older_side_is_what_is_compared(side):
    made = replace(MADE, session=later(MADE.session), factor=lambda p, i: 2 * MADE.factor(p, i), noise=0.0)
    exact = side_of("results.db", attempts(replace(MADE, noise=0.0)))
    older = side_of("old.db", attempts(made))
    found = totals(exact, older)
    old = found["best kernel per layer of old.db"]
    assert old.ratio == pytest.approx(2, rel=0.01) and old.missing == ("conv3",)
    # no time on any layer: neither "0 ms" nor "0 %"
    others = [
        replace(one, key=replace(one.key, problem=replace(one.key.problem, batch=77)))
        for one in attempts(made)
    ]
    assert set(totals(exact, side_of("old.db", others))) == set(totals(exact))


def test_kinds_are_summed_up_apart(side):
    other = replace(side.rows[next(iter(side.rows))].key.problem, layout="other")
    rows = dict(side.rows)
    for key, row in side.rows.items():
        moved = replace(key, problem=replace(key.problem, layout=other.layout))
        rows[moved] = replace(row, key=moved)
    both = networks_of(Side(label="x", rows=rows, sessions=side.sessions))
    assert [network.layout for network in both] == ["nhwgc", "other"]
    assert len({network.totals[0].time_ms for network in both}) == 1


def test_names_and_counts_of_a_problem_that_is_there_twice_are_put_together():
    (first, second, *_) = problems(2)
    cases = [
        ProblemCase(problem=first, count=2, name="a"),
        ProblemCase(problem=first, count=3, name="b"),
        ProblemCase(problem=second, name="c", layout="other"),
    ]
    known = Layers([replace(SESSION, environment=layer_evidence(cases))])
    layer = known.of(first, "fwd", "fp16", "nhwgc")
    assert layer is not None and (layer.name, layer.count) == ("a, b", 5)
    assert known.of(second, "fwd", "fp16", "nhwgc") is None
    newer = replace(SESSION, environment=layer_evidence([ProblemCase(problem=first, name="z")]))
    layer = Layers([replace(SESSION, environment=layer_evidence(cases)), newer]).of(first, "", "", "")
    assert layer is not None and (layer.name, layer.count) == ("z", 1)


@pytest.mark.parametrize("wrong", [5, {"a": 1}, [3], [{"problem": 3}], [{"problem": "x", "count": -1}]])
def test_what_is_no_layer_is_left_out(wrong):
    known = Layers([replace(SESSION, environment={"layers": wrong})])
    assert known.of(problems(1)[0], "fwd", "fp16", "nhwgc") is None


def test_problems_without_name_and_count_are_not_kept():
    assert layer_evidence([ProblemCase(problem=problems(1)[0])]) == {}


def in_networks(*named):
    """Return what a session says of problems that are layers of networks, by their numbers."""
    found = problems(6)
    return layer_evidence(
        ProblemCase(problem=found[number], count=count, name=f"{name}{number}", network=name)
        for name, layers in named
        for number, count in layers.items()
    )


def test_each_network_has_sums_of_its_own_and_shares_layers(side):
    # two commands: each has swept a network, and both have the third problem
    first = replace(SESSION, environment=in_networks(("a", {0: 2, 2: 1})))
    second = replace(later(SESSION), environment=in_networks(("b", {2: 4, 4: 1})))
    both = replace(side, sessions=(first, second))
    best = [min(row.values(), default=math.inf) for row in times(side)]
    expected = {
        "a": 2 * best[0] + best[2],
        "b": 4 * best[2] + best[4],
        # the fourth is served by nothing
        "": best[1] + best[5],
    }
    found = networks_of(both)
    assert {network.name: network.totals[0].time_ms for network in found} == pytest.approx(expected)


def test_what_a_network_is_said_to_have_later_counts(side):
    first = replace(SESSION, environment=in_networks(("a", {0: 2})))
    second = replace(later(SESSION), environment=in_networks(("a", {0: 7})))
    unnamed = replace(later(SESSION), uid="9" * 32, environment=layer_evidence(CASES))
    known = Layers([first, second, unnamed]).of(problems(1)[0], "fwd", "fp16", "nhwgc")
    assert known is not None and known.counts == {"a": 7}


def test_a_baseline_is_summed_up_beside_libraries(side):
    keys = list(side.by_problem)
    vendor = {key: 10.0 * number for number, key in enumerate(keys, start=1)}
    del vendor[keys[1]]
    found = totals(replace(side, baselines={"vendor": vendor, "none": {}}))
    total = found["baseline vendor"]
    assert "baseline none" not in found
    expected = {number: COUNTS[number] * 10.0 * (number + 1) for number in (0, 2, 3, 4, 5)}
    assert total.time_ms == pytest.approx(sum(expected.values())) and total.missing == ("conv1",)
    # against the best where both have a time: the fourth problem has no kernel, the second no baseline
    best = [COUNTS[number] * min(times(side)[number].values()) for number in (0, 2, 4, 5)]
    assert total.ratio == pytest.approx(sum(expected[number] for number in (0, 2, 4, 5)) / sum(best))


def test_a_baseline_that_only_the_older_side_has_is_named_as_such(side):
    vendor = dict.fromkeys(side.by_problem, 1.0)
    older = replace(side, label="old.db", baselines={"vendor": vendor, "other": vendor})
    newer = replace(side, baselines={"other": vendor})
    found = totals(newer, older)
    assert {name for name in found if name.startswith("baseline")} == {
        "baseline other",
        "baseline vendor of old.db",
    }


def of_network(results, **changes):
    case = ProblemCase(
        **{"problem": PROBLEM, "count": 3, "name": "conv1", "network": "net batch 4", **changes}
    )
    return replace(results, cases=(case,))


def test_a_run_of_a_network_ends_with_its_totals(results):
    run = of_network(with_baselines(results, baseline(3.0)))
    (network,) = networks_of_run(run)
    # k2 takes 2 ms, and is the fastest one that is right
    assert [(total.library, total.time_ms, total.ratio) for total in network.totals] == [
        ("best kernel per layer", 6.0, 1.0),
        ("a single kernel", 6.0, 1.0),
        ("baseline vendor", 9.0, 1.5),
    ]
    for text in (
        run_document(run).text(),
        run_document(run).markdown(),
        terminal_document(run).text(Terminal(width=80)),
    ):
        assert "Problem 0, conv1 of net batch 4: fwd" in text
        place = text.index("Network")
        assert "baseline vendor" in text[place:] and "net batch 4" in text[place:] and "+50" in text[place:]


def test_a_run_of_single_problems_has_none(results):
    assert networks_of_run(results) == ()
    assert networks_of_run(of_network(results, count=1, network="")) == ()
    assert "Network" not in run_document(results).text()


def test_totals_keep_their_figures_at_80_columns(results):
    run = of_network(with_baselines(results, baseline(3.0)), network="a-network-with-a-long-name batch 128")
    document = Document()
    add_totals(document, networks_of_run(run))
    text = document.text(Terminal(width=80))
    assert max(map(len, text.splitlines())) <= 80
    (row,) = [line for line in text.splitlines() if "vendor" in line]
    assert row.split()[-3:] == ["9", "+50.0", "%"]
