"""How the trials of two sides are arranged."""

import math
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from ckprof.compare.side import side_of
from ckprof.compare.trials import arranged, shared_canaries
from tests.measured import DEVICE, Made, attempts, later

OLD = Made(problems=2, instances=3, rounds=6, noise=0.1, seed=1)
NEW = Made(problems=2, instances=3, rounds=4, processes=2, noise=0.1, seed=2, session=later())


def sides(old=OLD, new=NEW):
    return side_of("old", attempts(old)), side_of("new", attempts(new))


def matched(old, new):
    return [(row, new.rows[key]) for key, row in old.rows.items()]


def test_each_trial_has_its_place():
    both = sides()
    rows = matched(*both)
    rows = [rows[place] for place in (3, 0, 4, 1, 5, 2)]  # in no order
    visits, order = arranged(rows, both)
    assert visits.times.shape == (2, 3, 5) and visits.old == 3
    assert sorted(order) == list(range(6))
    for place, values in zip(order, visits.times.reshape(6, 5), strict=True):
        for row, side in zip(rows[place], (values[:3], values[3:]), strict=True):
            groups = {}
            for one in row.rounds:
                groups.setdefault(one.process, []).append(one.time_ms)
            # two rounds in each pass: their median is in the middle of the logarithms
            expected = [math.fsum(map(math.log, times)) / 2 for times in groups.values()]
            assert side == pytest.approx(expected)


def test_canaries_are_those_of_the_visits():
    both = sides()
    rows = matched(*both)
    visits, order = arranged(rows, both)
    assert shared_canaries(both) == ("arithmetic", "bandwidth")
    assert visits.canaries.shape == (2, 2, 5)
    for number, place in enumerate(order[::3]):
        key = rows[place][0].key.problem
        for side, first in zip(both, (0, 3), strict=True):
            for column, process in enumerate(rows[place][side is both[1]].trials):
                seen = side.canaries[key, process]
                for canary, name in enumerate(("arithmetic", "bandwidth")):
                    assert visits.canaries[canary, number, first + column] == pytest.approx(
                        math.log(seen[name])
                    )


@pytest.mark.parametrize(
    "new", [replace(NEW, canaries=False), replace(NEW, device=replace(DEVICE, model="Model 8"))]
)
def test_canaries_of_other_devices_are_none(new):
    both = sides(new=new)
    assert shared_canaries(both) == ()
    visits, _ = arranged(matched(*both), both)
    assert visits.canaries.shape == (0, 2, 5)
    old, _ = sides()
    assert shared_canaries((old, replace(old, canary_digests={*old.canary_digests, "another"}))) == ()


def test_what_is_missing_is_nan_and_visits_stay_in_the_order_of_time():
    """A kernel lacks the first pass, another problem has fewer kernels."""
    measured = list(attempts(OLD))
    (first, second) = dict.fromkeys(one.key.problem for one in measured)
    kept = [
        one
        for one in measured
        if not (one.key.problem == first and one.kernel.name.endswith("_0") and one.conditions.round <= 2)
        and not (one.key.problem == second and one.kernel.name.endswith("_2"))
    ]
    old, new = side_of("old", kept), side_of("new", attempts(NEW))
    both = old, new
    rows = [(row, new.rows[key]) for key, row in old.rows.items()]
    visits, order = arranged(rows, both)
    missing = {
        (number // 3, visit)
        for number, values in enumerate(visits.times.reshape(6, 5))
        for visit in np.flatnonzero(np.isnan(values)).tolist()
        if not np.isnan(values).all()
    }
    assert missing == {(0, 0)}
    assert len(order) == 5 and np.isnan(visits.times).all(axis=2).sum() == 1
    whole, _ = arranged(matched(*sides()), sides())
    assert np.nanmax(np.abs(visits.times[0] - whole.times[0])) == 0.0


def test_nothing_in_common_is_nothing_to_judge():
    visits, order = arranged([], sides())
    assert visits.times.shape == (0, 0, 0) and order == []


def test_disturbed_rounds_count_where_a_visit_has_no_others():
    old, _ = sides()
    for row in old.rows.values():
        slowed = replace(row.rounds[0], contended=True, time_ms=3 * row.rounds[0].time_ms)
        rounds = [slowed, *row.rounds[1:]]
        assert row.time is not None
        disturbed = replace(row, time=replace(row.time, rounds=tuple(rounds)))
        first = rounds[0].process
        calm = [one.time_ms for one in rounds if one.process == first and not one.contended]
        assert disturbed.trials[first] == pytest.approx(math.log(median(calm)))
        alone = replace(row, time=replace(row.time, rounds=tuple(rounds[:1])))
        assert alone.trials == {first: pytest.approx(math.log(rounds[0].time_ms))}
