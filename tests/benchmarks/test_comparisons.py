"""Comparing 100 problems x 300 kernels.

Goal: at most one false verdict in 1,000 rows where a sweep on a busy machine is compared with itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ckprof.compare.compare import compare
from ckprof.compare.self_test import self_test
from ckprof.compare.side import Side, side_of, with_rounds
from tests.measured import Made, attempts, later

MADE = Made(problems=100, instances=300, rounds=4)


@pytest.fixture(scope="module")
def sides() -> tuple[Side, Side]:
    old = side_of("old.db", attempts(MADE))
    return old, side_of("new.db", attempts(replace(MADE, seed=1, session=later())))


def test_grouping_attempts(benchmark: Any) -> None:
    some = list(attempts(replace(MADE, problems=20)))
    side = benchmark.pedantic(side_of, ("x", some), rounds=3)
    assert len(side.rows) == 6000


def test_comparing(benchmark: Any, sides: tuple[Side, Side]) -> None:
    comparison = benchmark.pedantic(compare, sides, rounds=3)
    assert len(comparison.rows) == 30_000


def test_a_busy_machine_against_itself(benchmark: Any) -> None:
    """Each kernel, and whole rounds, are slowed down now and then, as on a machine that others use."""
    quiet = side_of("busy.db", attempts(Made(problems=40, instances=25, rounds=20, noise=0.03)))
    generator = np.random.default_rng(8)
    whole_rounds = np.exp(generator.exponential(0.3, 20) * (generator.random(20) < 0.3))
    rows = {}
    for key, row in quiet.rows.items():
        own = np.exp(generator.exponential(0.3, 20) * (generator.random(20) < 0.2))
        factors = (whole_rounds * own).tolist()
        rounds = [replace(one, time_ms=one.time_ms * by) for one, by in zip(row.rounds, factors, strict=True)]
        rows[key] = with_rounds(row, rounds)
    busy = Side(label="busy.db", rows=rows)
    result = benchmark.pedantic(self_test, (busy, range(20)), rounds=1)
    print(
        f"\n{result.false_verdicts} false verdicts in {result.rows} rows; "
        f"{result.found} of {result.injected} slowdowns found"
    )
    assert result.false_verdicts <= result.rows / 1000
