"""Times that rounds gave: which count, who is the fastest."""

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
    times.disturbed = [2]
    assert times.disturbed == {2} and times.time("a").time_ms == 4.0
    times.prune(["a"])
    assert times.time("a").pruned
    times.note("b", 1, None)
    assert times.noted == 3 and times.time("b") is None


def test_cells_stand_in_the_order_of_their_times():
    times = times_of({"a": {1: [3.0]}, "b": {1: [1.0]}, "c": {}, "d": {1: [2.0], 2: [2.0]}})
    cells, ranked = times.ranked_set("abcd")
    assert cells == ["b", "d", "a"]
    assert [one.ratio for one in ranked.intervals()] == pytest.approx([1.0, 2.0, 3.0])
    times.prune(["b"])
    assert times.ranked_set("abcd")[0] == ["d", "a", "b"], "the machine may have become slower since"
    assert (times.best_of("acd"), times.best_of("c"), times.best_of("")) == ("d", None, None)


def test_which_rounds_count():
    times = times_of({"a": {1: [1.0], 2: [1.0], 3: [1.0]}, "b": {2: [1.0], 3: [1.0], 4: [1.0]}})
    assert times.counted_rounds("ab") == {2, 3} and times.counted_rounds("a") == {1, 2, 3}
    assert times.counted_rounds("") == set() == RoundTimes("ab").counted_rounds("ab")
    times = RoundTimes("a")
    for number, process in ((1, "p"), (2, "p"), (3, "q")):
        times.note("a", number, Timing(time_ms=1.0, process=process))
    times.disturbed = {1, 3}
    assert times.counted_rounds("a") == {2, 3}
    assert times.processes("a") == 2


def test_the_best_after_a_round_is_by_what_was_known_then():
    times = times_of({"a": {1: [2.0], 2: [2.0]}, "b": {1: [3.0], 2: [1.0]}, "c": {1: [1.0]}})
    assert [times.best_after(number) for number in (1, 2, 3)] == ["c", "b", None]
