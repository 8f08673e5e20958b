"""Times that rounds gave: which count, who is the fastest, how far the reference moved."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ckprof.measure.round_times import RoundTimes, Timing


def times_of(table, spread=0.0):
    """Return the times of cells: cell -> round -> medians of its samples."""
    times = RoundTimes([*table])
    for cell, rounds in table.items():
        for number, medians in rounds.items():
            for median in medians:
                times.note(cell, number, Timing(time_ms=median, spread=spread))
    return times


def test_a_time_is_the_median_of_the_rounds_that_count():
    table = {"a": {number: [1.0 + number] for number in range(1, 6)}, "b": {1: [2.0, 8.0]}}
    times = times_of(table, spread=0.5)
    medians = [2.0, 3.0, 4.0, 5.0, 6.0]
    found = times.time("a")
    assert found.time_ms == np.median(medians) == 4.0
    assert found.spread_ms == np.median(0.5 * np.array(medians)) == 2.0
    assert times.time("a", 3).time_ms == np.median(medians[:3]) == 3.0
    assert times.time("a") is found, "it is not computed again"
    assert times.time("b").time_ms == pytest.approx(4.0), "visits of one round have their geometric mean"
    assert times.time("c") is None and times.time("a", 0) is None


def test_what_is_noted_later_counts_at_once():
    times = times_of({"a": {1: [4.0]}})
    assert times.time("a").time_ms == 4.0 and not times.time("a").pruned
    times.note("a", 2, Timing(time_ms=2.0))
    assert times.time("a").time_ms == pytest.approx(8.0**0.5)
    times.drifted = [2]
    assert times.drifted == {2} and times.time("a").time_ms == 4.0
    times.prune(["a"])
    assert times.time("a").pruned
    times.note("b", 1, None)
    assert times.noted == 3 and times.time("b") is None


def test_cells_stand_in_the_order_of_their_times():
    times = times_of({"a": {1: [3.0]}, "b": {1: [1.0]}, "c": {}, "d": {1: [2.0], 2: [2.0]}})
    cells, field = times.field("abcd")
    assert cells == ["b", "d", "a"]
    assert [lead.ratio for lead in field.leads()] == pytest.approx([1.0, 2.0, 3.0])
    times.prune(["b"])
    assert times.field("abcd")[0] == ["d", "a", "b"], "the machine may have become slower since"
    assert (times.best_of("acd"), times.best_of("c"), times.best_of("")) == ("d", None, None)


def test_rounds_are_shared_that_all_have_and_that_did_not_drift():
    times = times_of({"a": {1: [1.0], 2: [1.0], 3: [1.0]}, "b": {2: [1.0], 3: [1.0], 4: [1.0]}})
    assert times.shared_rounds("ab") == {2, 3}
    times.drifted = {3}
    assert times.shared_rounds("ab") == {2} and times.shared_rounds("a") == {1, 2}
    assert times.shared_rounds("") == set() == RoundTimes("ab").shared_rounds("ab")


def test_the_best_after_a_round_is_by_what_was_known_then():
    times = times_of({"a": {1: [2.0], 2: [2.0]}, "b": {1: [3.0], 2: [1.0]}, "c": {1: [1.0]}})
    assert [times.best_after(number) for number in (1, 2, 3)] == ["c", "b", None]


def test_the_noise_is_what_rounds_do_not_share():
    steady = {
        name: {number: [scale * 1.1**number] for number in range(1, 6)}
        for name, scale in (("a", 1), ("b", 5))
    }
    assert times_of(steady).noise("ab", without=0) == pytest.approx(0.0, abs=1e-12)
    assert times_of(steady).noise("xyz", without=0) == 0.0
    shaken = {**steady, "b": {**steady["b"], 5: [50.0], 4: [20.0], 3: [2.0]}}
    times = times_of(shaken)
    assert times.noise("ab", without=0) > 0.1
    assert times.noise("ab", without=0) > times.noise("ab", without=3) > 0


def test_drift_is_how_far_the_reference_moved_within_a_round():
    times = times_of({"a": {1: [2.0], 2: [2.0, 9.0, 3.0], 4: [2.0, 4.0]}})
    assert [times.drift("a", number) for number in (2, 4)] == pytest.approx([math.log(1.5), math.log(2)])
    assert times.drift("a", 1) is None and times.drift("a", 3) is None and times.drift(None, 2) is None


def test_the_limit_of_drift_is_four_deviations_and_at_least_5_percent():
    least, usual = math.log(1.05), 4 * math.sqrt(2)
    times = times_of({"a": {1: [2.0, 2.0]}}, spread=0.06745)
    assert times.drift_limit(None, 1, 0.0) == least == times.drift_limit(None, 1, 0.0086)
    assert times.drift_limit(None, 1, 0.05) == pytest.approx(usual * 0.05)
    # three quarters of the distance of quartiles are one deviation: half of it is 0.6745
    assert times.drift_limit("a", 1, 0.05) == pytest.approx(usual * 0.1)
    assert times.drift_limit("a", 1, 0.2) == pytest.approx(usual * 0.2)
    assert times.drift_limit("a", 2, 0.0) == least
