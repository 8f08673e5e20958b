"""Settling unclear rows with a scripted bench."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from ckprof.compare.compare import compare
from ckprof.compare.settle import SettleLimits, settle
from ckprof.compare.side import ProblemKey, RowKey, Side, side_of
from ckprof.errors import UsageError
from ckprof.statistics.verdict import Verdict
from tests.measured import Made, attempts, later

OLD = Made(problems=2, instances=3, rounds=5, noise=0.05, seed=1)
NEW = Made(problems=2, instances=3, rounds=5, noise=0.05, seed=2, session=later())


class Scripted:
    """A machine that drifts by tens of percent between rounds; one kernel is 8 % slower on the new side."""

    def __init__(self, slow: RowKey, failing: RowKey | None = None) -> None:
        self.slow = slow
        self.failing = failing
        self.opened: list[ProblemKey] = []
        self.measured: Counter[RowKey] = Counter()
        self.order: list[tuple[RowKey, bool]] = []
        self._generator = np.random.default_rng(5)
        self._drift = 1.0

    def open_problem(self, problem: ProblemKey) -> None:
        self.opened.append(problem)

    def measure(self, key: RowKey, *, new: bool) -> float | None:
        if len(self.order) % 2 == 0:  # both sides of a pair run under the same conditions
            self._drift = math.exp(self._generator.normal(0, 0.3))
        self.order.append((key, new))
        self.measured[key] += 1
        assert key.problem == self.opened[-1]
        if key == self.failing and self.measured[key] > 3:
            return None
        change = 1.08 if new and key == self.slow else 1.0
        return self._drift * change * math.exp(self._generator.normal(0, 0.004))


def sides() -> tuple[Side, Side]:
    return side_of("old.db", attempts(OLD)), side_of("new.db", attempts(NEW))


def settled(failing_index: int | None = None, limits: SettleLimits | None = None):
    old, new = sides()
    keys = list(old.rows)
    bench = Scripted(keys[4], None if failing_index is None else keys[failing_index])
    before = compare(old, new)
    return keys, bench, settle(before, (old, new), keys, bench, limits or SettleLimits())


def test_interleaved_rounds_settle_what_drift_hid() -> None:
    keys, bench, comparison = settled()
    assert [row.key for row in comparison.with_verdict(Verdict.SLOWER)] == [keys[4]]
    assert comparison.verdicts[Verdict.SAME] == 5
    assert comparison.settled == 6
    assert len(bench.opened) == 2


def test_each_pair_runs_one_side_right_after_the_other_in_both_orders() -> None:
    _, bench, _ = settled()
    pairs = list(zip(bench.order[::2], bench.order[1::2], strict=True))
    assert all(first[0] == second[0] and first[1] != second[1] for first, second in pairs)
    assert {first[1] for first, _ in pairs} == {False, True}


def test_rows_end_when_they_are_settled() -> None:
    _, bench, _ = settled()
    assert all(8 <= count < 40 for count in bench.measured.values())


def test_a_row_that_fails_keeps_its_old_times() -> None:
    keys, bench, comparison = settled(failing_index=0)
    assert comparison.settled == 5
    assert bench.measured[keys[0]] == 4
    row = next(row for row in comparison.rows if row.key == keys[0])
    assert row.old.rounds == sides()[0].rows[keys[0]].rounds


def test_the_limit_of_rounds() -> None:
    _, bench, _ = settled(limits=SettleLimits(max_rounds=4))
    assert set(bench.measured.values()) == {8}
    with pytest.raises(UsageError, match="max_rounds is 3"):
        SettleLimits(max_rounds=3)
