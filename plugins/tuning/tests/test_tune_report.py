"""Searches for people, beside the libraries of others."""

import pytest

from ckprof.report.best_libraries import BestLibrary
from ckprof.report.document import Document
from ckprof_plugins.tuning.baseline_comparison import BaselineComparison
from ckprof_plugins.tuning.search.loop import SearchProgress, TuneStop
from ckprof_plugins.tuning.search.result import BestChoice, TuneResult
from ckprof_plugins.tuning.tune_report import add_comparison, comparison_values, tune_document, tune_values
from plugins.tuning.tests.test_baseline_comparison import compared, outcome, three_problems
from tests.store.samples import make_problem


def text_of(comparison):
    document = Document()
    add_comparison(document, comparison)
    return document.text()


def test_the_table_ends_with_the_sum():
    comparison = three_problems()
    text = text_of(comparison)
    assert text.startswith("measured again next to vendor: vendor 1.2\n")
    rows = [line.split() for line in text.splitlines()]
    assert rows[4][:6] == ["1", "0.01", "0.012", "0.011", "1.10", "0.92"]
    assert rows[5][:6] == ["5", "0.02", "0.025", "0.04", "2.00", "1.60"]
    assert rows[6][:4] == ["2", "0.03", "0.03", "wrong_result"]
    assert rows[7][:6] == ["6", "0.11", "0.137", "0.211", "1.92", "1.54"]
    assert "sum of the 2 that all have a time for" in text
    values = comparison_values(comparison)
    assert values["baselines"][0]["baseline_us"] == pytest.approx(211)
    assert values["problems"][2]["failures"] == {"vendor": "wrong_result: it went wrong"}


def choice(number, kernel, time_us=2.0, **fields):
    usual = {"count": 1, "splits": 1 if kernel else 0, "time_us": time_us if kernel else None, "tied": 0}
    usual |= {"better": 0.0, "gain": 0.0, "measured": 1, "unmeasured": 0}
    return BestChoice(problem=make_problem(number), kernel=kernel, **usual | fields)


def test_problems_that_no_kernel_serves_are_named():
    result = TuneResult(
        strategy="model",
        stop=TuneStop.SETTLED,
        seconds=1.0,
        planning_s=0.1,
        tie=0.02,
        progress=(),
        best=(choice(4, "k"), choice(5, ""), choice(6, "", unmeasured=2)),
        blind=0,
        surprises=0,
        unbuilt={},
        kernels=("k",),
        libraries=(BestLibrary(kernels=(0,), slowdown=1.0, bound=1.0, unserved=0),),
        chosen=("k",),
    )
    lines = tune_document(result).text().splitlines()
    assert "chosen: 1 kernel serves 1 of 3 problems" in lines
    assert "  problem 1: none: no kernel supports it or works on it" in lines
    assert "  problem 2: none: nothing was measured yet" in lines
    values = tune_values(result)["problems"]
    assert [(one["kernel"], one["missing"] is None) for one in values] == [
        ("k", True),
        (None, False),
        (None, False),
    ]


def test_the_best_so_far_falls_and_columns_say_what_they_are():
    # of three problems, of which the last one has no time; 30 and 25 were too short, as is found in the end
    no = float("inf")
    steps = ((40.0, no, no), (60.0, 30.0, no), (50.0, 25.0, no), (55.0, 25.0, no), (40.0, 35.0, no))
    best = (choice(4, "k", 40.0, count=2), choice(5, "k", 35.0), choice(6, ""))
    progress = tuple(
        SearchProgress(
            seconds=float(number),
            **{"measured": number, "built": 1, "problems": 1, "total_us": 40.0, "kernels": 1},
            best_us=times,
        )
        for number, times in enumerate(steps)
    )
    assert progress[0].text.endswith("sum of best times 0.04 ms over 1 of 3 problems")
    result = TuneResult(
        **{"strategy": "model", "stop": TuneStop.SETTLED, "seconds": 1.0, "planning_s": 0.1, "tie": 0.02},
        **{"progress": progress, "best": best, "blind": 0, "surprises": 0, "unbuilt": {}, "kernels": ("k",)},
        libraries=(BestLibrary(kernels=(0,), slowdown=1.0, bound=1.0, unserved=0),),
        chosen=("k",),
    )
    text = tune_document(result).text()
    rows = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert [row[4:] for row in rows if len(row) < 6][:5] == [[], ["0.155"], ["0.135"], ["0.135"], ["0.115"]]
    assert " us" not in text
    for heading in ("library size", "slowdown", "unsupported problems", "probability of a better kernel"):
        assert heading in text


def test_what_was_not_compared_or_left_out_is_said():
    stopped = compared([outcome(0, "a", 10, split_k=2)], [], partial=True, stopped=True)
    assert "not compared with vendor: it was stopped before its end" in text_of(stopped)
    assert stopped.sums_against("vendor")["problems"] == 0
    nothing = BaselineComparison(baselines=("vendor",), descriptions={}, problems=(), failure="no GPU")
    assert text_of(nothing).rstrip() == "not compared with vendor: no GPU"
    assert comparison_values(nothing)["failure"] == "no GPU"
    cut = compared([outcome(0, "a", 10, split_k=2)], [], partial=True)
    lines = text_of(cut).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("3 problems were not compared"))
    named = [problem.describe() for problem in cut.left_out]
    assert len(set(named)) == 3 and [line.strip() for line in lines[first + 1 : first + 4]] == named
    assert comparison_values(cut)["left_out"] == named
