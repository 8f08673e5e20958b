"""What rows note of times: ties with the best, and noise."""

from __future__ import annotations

from dataclasses import replace

from ckprof.model.outcome import Measurement, Outcome, Status, Verification
from ckprof.report.rows import rows_of_problem
from ckprof.report.run_table import run_document

PASSED = Verification(max_error=1e-4, wrong_elements=0, elements=100, rtol=1e-3, atol=1e-3)


def timed(key: str, median_ms: float, spread_ms: float, *, verified: bool = True) -> Outcome:
    return Outcome(
        key=key,
        problem_index=0,
        status=Status.OK,
        measurement=Measurement(
            median_ms=median_ms,
            spread_ms=spread_ms,
            min_ms=median_ms,
            mean_ms=median_ms,
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
    assert table.count(" tied with the best") == 3
    assert "2 of 6 times are tied with the best" in table


def test_failures_keep_their_reason(results):
    assert all(row.note == "" for row in rows_of_problem(results, 0) if row.outcome.status is not Status.OK)
