"""Settling unclear rows with a scripted bench."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from ckprof.compare.change import Verdict
from ckprof.compare.compare import compare
from ckprof.compare.options import SettleOptions
from ckprof.compare.settle import settle
from ckprof.compare.side import side_of
from ckprof.errors import UsageError
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.device import Reading
from ckprof.model.outcome import Outcome, Status, Verification
from ckprof.model.ranking import summarise
from tests.measured import Made, attempts, later

OLD = Made(problems=2, instances=3, rounds=5, noise=0.05, seed=1)
NEW = Made(problems=2, instances=3, rounds=5, noise=0.05, seed=2, session=later())


class Scripted:
    """A machine that drifts by tens of percent between rounds; one kernel is 8 % slower on the new side."""

    def __init__(self, keys, slow, failing=None):
        self.keys = keys
        self.slow = slow
        self.failing = failing
        self.opened = []
        self.measured = Counter()
        self.order = []
        self._generator = np.random.default_rng(5)
        self._drift = 1.0
        self.restarts = 0
        self._draw_offsets()

    def new_process(self):
        self.restarts += 1
        self._draw_offsets()

    def _draw_offsets(self):
        """Processes differ by 0.5 %, in each row on its own."""
        sides = itertools.product(self.keys, (False, True))
        self._offsets = {one: self._generator.normal(0, 0.005) for one in sides}

    def open_group(self, group):
        self.opened.append(group.problem)

    def observe(self):
        return Reading()

    @property
    def process(self):
        return ""

    def measure(self, group, planned):
        if len(self.order) % 4 == 0:
            self._drift = math.exp(self._generator.normal(0, 0.3))
        self._drift *= 1.05  # steadily, so that the outer two move as much as the inner two
        cell, new = planned.cell, planned.cell.side == "new"
        (key,) = (
            one
            for one in self.keys
            if (one.problem.problem, one.instance, one.split_k) == (group.problem, *cell[:2])
        )
        self.order.append((key, new))
        self.measured[key] += 1
        assert key.problem.problem == self.opened[-1]
        if key == self.failing and self.measured[key] > 3:
            return Outcome(key=key.instance, problem_index=0, status=Status.RUN_ERROR)
        change = 1.08 if new and key == self.slow else 1.0
        offset = self._offsets[key, new]
        time_ms = self._drift * change * math.exp(offset + self._generator.normal(0, 0.002))
        return Outcome(
            key=key.instance,
            problem_index=0,
            status=Status.OK,
            measurement=summarise([time_ms], "stdrel", keep_samples=True),
            verification=Verification(max_error=0, wrong_elements=0, elements=1, rtol=0, atol=0),
        )


def sides():
    return side_of("old.db", attempts(OLD)), side_of("new.db", attempts(NEW))


def settled(failing_index=None, max_rounds=20):
    old, new = sides()
    keys = list(old.rows)
    bench = Scripted(keys, keys[4], None if failing_index is None else keys[failing_index])
    before = compare(old, new)
    return keys, bench, settle(before, (old, new), keys, bench, max_rounds)


def test_interleaved_rounds_settle_what_drift_hid():
    keys, bench, comparison = settled()
    assert [row.key for row in comparison.with_verdict(Verdict.SLOWER)] == [keys[4]]
    assert comparison.verdicts[Verdict.SAME] == 5
    assert comparison.settled == 6
    # each pass, in new processes, goes once over the problems that are not settled
    first, second = bench.opened[:2]
    counts = [bench.opened.count(problem) for problem in (first, second)]
    assert max(counts) == bench.restarts + 1
    assert bench.opened[: 2 * min(counts)] == [first, second] * min(counts)


def test_the_sides_of_a_row_run_in_the_order_abba():
    _, bench, _ = settled()
    fours = [bench.order[place : place + 4] for place in range(0, len(bench.order), 4)]
    assert all(len({key for key, _ in four}) == 1 for four in fours)
    assert {tuple(new for _, new in four) for four in fours} == {
        (False, True, True, False),
        (True, False, False, True),
    }


def test_rows_end_when_they_are_settled_or_at_the_limit():
    _, bench, _ = settled()
    assert all(16 <= count < 80 for count in bench.measured.values())
    _, bench, _ = settled(max_rounds=4)
    assert set(bench.measured.values()) == {16}
    assert bench.restarts == 3, "each pass but the first one has a new pair of processes"
    with pytest.raises(UsageError, match="max_rounds is 3"):
        SettleOptions(query=InstanceQuery(), max_rounds=3)


def test_a_row_that_fails_keeps_its_old_times():
    keys, bench, comparison = settled(failing_index=0)
    assert comparison.settled == 5
    assert bench.measured[keys[0]] == 4
    row = next(row for row in comparison.rows if row.key == keys[0])
    assert row.old.rounds == sides()[0].rows[keys[0]].rounds
