"""Rows: only what was verified is ranked, ties and noise are noted, conditions are counted."""

import dataclasses
from dataclasses import replace

import pytest

from ckprof.model.outcome import Measurement, Outcome, Status, Verification
from ckprof.report.rows import reason_of, requirement_counts, rows_of_problem
from ckprof.report.run_table import run_document
from ckprof.report.table import Terminal
from tests.report.conftest import REFUSALS

PASSED = Verification(max_error=1e-4, wrong_elements=0, elements=100, rtol=1e-3, atol=1e-3)


def timed(key, time_ms, spread_ms, *, verified=True):
    return Outcome(
        key=key,
        problem_index=0,
        status=Status.OK,
        measurement=Measurement(
            time_ms=time_ms,
            spread_ms=spread_ms,
            min_ms=time_ms,
            mean_ms=time_ms,
            samples=10,
            stopped_by="stdrel",
        ),
        verification=PASSED if verified else None,
    )


def test_ties_and_noise_are_noted(results):
    outcomes = (
        timed("k0", 1.0, 0.02),
        timed("k1", 1.03, 0.02),
        timed("k2", 1.7, 0.02),
        timed("k3", 1.6, 0.3),
        timed("k4", 2.5, 0.3),
        timed("k5", 0.9, 0.2, verified=False),
    )
    rows = rows_of_problem(replace(results, outcomes=outcomes), 0)
    assert {row.outcome.key: row.note for row in rows} == {
        "k0": "",
        "k1": "tied with the best",
        "k2": "",
        "k3": "tied with the best, noisy",
        "k4": "noisy",
        "k5": "noisy",
    }
    table = run_document(replace(results, outcomes=outcomes)).text()
    assert table.count(" tied with the best") == 2
    assert "(statistical tie of 3)" in table


def test_a_larger_rounding_error_than_that_of_other_splits_is_noted(results):
    def split(key, number, error):
        one = timed(key, float(number), 0.001)
        return replace(one, split_k=number, verification=replace(PASSED, max_error=error))

    of_splits = (split("k0", 1, 0.02), split("k0", 16, 0.05), split("k0", 64, 0.12), split("k1", 64, 0.12))
    marked = replace(results, outcomes=(*of_splits, split("k2", 1, 0.0), split("k2", 2, 0.1)))
    rows = rows_of_problem(marked, 0)
    noted = {(row.outcome.key, row.outcome.split_k): row.note for row in rows}
    assert noted.pop(("k0", 64)) == "6x the rounding error of other splits"
    assert not any("rounding" in note for note in noted.values())
    # also where the table has no room for reasons, and of the winner
    text = run_document(marked).text(Terminal(width=80))
    assert "6x the" not in text and "at least 3x the rounding error of other splits: 1 of 6 times" in text
    won = replace(of_splits[2], measurement=replace(of_splits[2].measurement, time_ms=0.5))
    text = run_document(replace(results, outcomes=(*of_splits[:2], won))).text(Terminal(width=80))
    assert "6x the rounding error of other splits" in text.rpartition("winner: ")[2]


def test_only_verified_results_are_ranked_and_failures_keep_their_reason(results):
    assert all(row.note == "" for row in rows_of_problem(results, 0) if row.outcome.status is not Status.OK)
    rows = rows_of_problem(results, 0)
    assert [(row.rank, row.instance.key) for row in rows[:3]] == [(1, "k2"), (2, "k1"), (None, "k3")]
    assert len(rows) == len(results.outcomes)
    best = results.best(0)
    assert best is not None and best.key == "k2"


def test_rates_follow_the_documented_formulas(results):
    row = rows_of_problem(results, 0)[0]
    flop = 2 * 4 * 64 * 64 * 28 * 28 * 9
    moved = 2 * (4 * 64 * 28 * 28 + 64 * 64 * 9 + 4 * 64 * 28 * 28)
    assert row.gflops == pytest.approx(flop / 2e-3 / 1e9)
    assert row.gbytes == pytest.approx(moved / 2e-3 / 1e9)


def test_conditions_are_counted_and_shortened(rejected):
    found = {one.condition: (one.instances, one.alone) for one in requirement_counts(rejected, 0)}
    assert found == {"vector-a": (2, 1), "specialization": (2, 1)}
    twice = dataclasses.replace(rejected.outcomes[0], unmet_requirements=(*REFUSALS, *REFUSALS[1:]))
    assert reason_of(twice, why=True).endswith("needs filter height = 1, got 3 (+1)")
