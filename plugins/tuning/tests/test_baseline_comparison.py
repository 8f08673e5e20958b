"""Sums and tables of what was found beside a library of others."""

from types import SimpleNamespace

import pytest

from ckprof.model.outcome import BaselineOutcome, Measurement, Outcome, Status, Verification
from ckprof.model.results import BuildSummary, RunResults
from ckprof.model.types import DataType
from ckprof_plugins.tuning.baseline_comparison import comparison_of, comparison_s
from tests.convolutions import convolution

PASSED = Verification(max_error=0.0, wrong_elements=0, elements=1, rtol=1e-3, atol=1e-3)
#: batch of a problem -> occurrences
COUNTS = {1: 1, 2: 5, 3: 2}


def problem(batch):
    return convolution(f"2 1 {batch} 8 8 1 1 4 4 1 1 1 1 0 0 0 0")


def outcome(index, key, us, *, split_k=1, status=Status.OK):
    measured = Measurement(
        time_ms=us / 1000, spread_ms=0, min_ms=0, mean_ms=0, samples=9, stopped_by="stdrel"
    )
    ok = status is Status.OK
    return Outcome(
        key=key,
        problem_index=index,
        status=status,
        reason="" if ok else "it went wrong",
        split_k=split_k,
        measurement=measured if ok else None,
        verification=PASSED if ok else None,
    )


def vendor(index, us, status=Status.OK):
    return BaselineOutcome(
        baseline="vendor",
        description="vendor 1.2",
        layout="nhwgc",
        dtype=DataType.BF16,
        outcome=outcome(index, "vendor", us, status=status),
    )


def compared(outcomes, others, *, stopped=False, **changes):
    searched = [(problem(batch), count) for batch, count in COUNTS.items()]
    results = RunResults(
        direction="fwd",
        target="cpu",
        arch="gfx942",
        environment={},
        conversions=(),
        instances=(),
        problems=tuple(one for one, _ in searched),
        build=BuildSummary(),
        outcomes=tuple(outcomes),
        baseline_ids=("vendor",),
        baselines=tuple(others),
        **changes,
    )
    return comparison_of(results, searched, frozenset({"b", "c"}), stopped=stopped)


def three_problems():
    """Return a comparison whose third problem has no time of the vendor's."""
    return compared(
        [
            *(outcome(0, "a", 10, split_k=2), outcome(0, "a", 15, split_k=1)),
            *(outcome(0, "b", 14), outcome(0, "b", 12, split_k=2), outcome(0, "c", 13)),
            *(outcome(1, "a", 20, split_k=2), outcome(1, "b", 0, status=Status.UNSUPPORTED)),
            outcome(1, "c", 25),
            *(outcome(2, "a", 30, split_k=2), outcome(2, "b", 30)),
        ],
        [vendor(0, 11), vendor(1, 40), vendor(2, 0, Status.WRONG_RESULT)],
    )


def test_times_are_those_of_the_best_of_the_library_and_of_the_vendor():
    found = three_problems()
    assert [one.best_us for one in found.problems] == [10, 20, 30]
    assert [one.library_us for one in found.problems] == [12, 25, 30]
    assert [dict(one.baseline_us) for one in found.problems] == [{"vendor": 11}, {"vendor": 40}, {}]
    assert [dict(one.failures) for one in found.problems] == [
        {},
        {},
        {"vendor": "wrong_result: it went wrong"},
    ]


def test_sums_count_occurrences_where_everything_was_timed():
    found = three_problems()
    assert found.sums_against("vendor") == {
        **{"problems": 2, "count": 1 + 5},
        "best_us": pytest.approx(10 + 5 * 20),
        "library_us": pytest.approx(12 + 5 * 25),
        "baseline_us": pytest.approx(11 + 5 * 40),
    }


def test_the_best_is_never_slower_than_the_library():
    """What was the best in the search may be beaten by noise when it is measured again."""
    found = compared([outcome(0, "a", 10, split_k=2), outcome(0, "b", 9)], [vendor(0, 11)])
    assert (found.problems[0].best_us, found.problems[0].library_us) == (9, 9)


def test_problems_for_which_no_time_was_left_are_named():
    outcomes = [outcome(0, "a", 10), outcome(0, "b", 12), outcome(1, "a", 20)]
    found = compared(outcomes, [vendor(0, 11)], partial=True)
    assert [one.count for one in found.problems] == [1]
    assert (found.left_out, found.failure) == ((problem(2), problem(3)), "")


@pytest.mark.parametrize(("budget_s", "kept_s"), [(1000.0, 6.0), (16.0, 4.0)])
def test_the_comparison_gets_what_it_takes_but_a_quarter_at_most(budget_s, kept_s):
    request = SimpleNamespace(
        options=SimpleNamespace(max_time_s=0.1),
        problems=[SimpleNamespace(problem=number % 4) for number in range(5)],
    )
    options = SimpleNamespace(
        rounds=SimpleNamespace(max_rounds=5), baselines=("a",), search=SimpleNamespace(budget_s=budget_s)
    )
    assert comparison_s(request, options) == pytest.approx(kept_s)
