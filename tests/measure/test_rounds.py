"""Rounds on simulated devices: the right kernel wins, slow ones leave, nothing is measured twice."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import UsageError
from ckprof.measure.round_times import Timing
from ckprof.measure.rounds import Ending, Ranking, RoundOptions, RoundRobin
from ckprof.model.ranking import is_tied

from .device import SimulatedDevice, run, samples_of, spread_times


def play(times, *, options=None, on_visit=lambda report: None, **device):
    simulated = SimulatedDevice(times, **device)
    ranking = Ranking(list(times), options or RoundOptions())
    ranking.on_visit = on_visit
    assert run(ranking, simulated)
    return ranking, simulated


@pytest.mark.parametrize("seed", range(2))
def test_dropping_slow_kernels_saves_two_thirds_of_the_time(seed):
    times = spread_times(60, seed)
    reports = []
    chosen, short = play(times, options=RoundOptions(seed=seed), seed=seed, on_visit=reports.append)
    for cell, ratio in (one for report in reports for one in report.dropped.items()):
        assert ratio == pytest.approx(times[cell] / min(times.values()), rel=0.1)
    every, long = play(times, options=RoundOptions(seed=seed, exhaustive=True), seed=seed + 100)
    assert long.cost_ms >= 3 * short.cost_ms
    fastest = min(times.values())
    for ranking in (chosen, every):
        assert times[ranking.best()] <= 1.02 * fastest
    # the winners are the same, or tied
    assert abs(times[chosen.best()] / times[every.best()] - 1) < 0.02


@pytest.mark.parametrize("seed", range(4))
def test_no_leader_is_dropped_on_a_busy_machine(seed):
    times = spread_times(40, seed)
    ranking, _ = play(times, noise=0.08, bursts=0.1, seed=seed)
    fastest = min(times.values())
    near = {cell for cell, time in times.items() if time < 1.1 * fastest}
    assert near <= set(ranking.active), "a kernel within 10 % of the best left at a margin of 25 %"


def test_kernels_that_differ_are_told_apart_and_rounds_end_early():
    reports = []
    ranking, device = play({"a": 1.0, "b": 1.1, "c": 6.0}, noise=0.004, on_visit=reports.append)
    assert ranking.ending is Ending.SETTLED
    assert ranking.best() == "a"
    assert ranking.rounds == 3
    assert {cell for report in reports for cell in report.dropped} == {"c"}
    assert Counter(one.cell for one in device.samples)["c"] == 2, "one pass prunes nothing"


def test_a_tie_that_cannot_be_settled_ends_with_the_rounds():
    ranking, _ = play({"a": 1.0, "b": 1.02}, noise=0.05, options=RoundOptions(max_rounds=6))
    assert ranking.ending is Ending.MAX_ROUNDS
    assert ranking.rounds == 6


def test_orders_are_shuffled_and_repeatable():
    times = {number: 1.0 + number / 1000 for number in range(8)}
    orders = []
    for seed in (1, 1, 2):
        _, device = play(times, options=RoundOptions(seed=seed, exhaustive=True, max_rounds=3))
        orders.append([(one.round, one.cell) for one in device.samples])
    assert orders[0] == orders[1] != orders[2]
    first, second = ([cell for number, cell in orders[0] if number == n] for n in (1, 2))
    assert first != sorted(first)
    assert first != second


def visits_of(ranking, device, off=()):
    """Visit to the end; return the rounds of each visit, those in ``off`` (from 1) disturbed."""
    visits = []
    ranking.is_disturbed = lambda: len(visits) + 1 in off
    while ranking.ending is None:
        # what is repeated is repeated in the same pass
        device.passes += not ranking.repeats
        rounds = set()
        for planned in ranking.visit():
            rounds.add(planned.round)
            ranking.record(planned, device.measure(planned))
        visits.append(rounds)
    return visits


@pytest.mark.parametrize(
    ("off", "repeats", "rounds"),
    [
        ((2,), [False, True, False, False], 3),
        ((1, 3), [True, False, True, False, False], 3),
        # the repeat is off as well: both are marked, and the pass is one
        ((2, 3), [False, True, False, False], 4),
        ((1, 2, 3, 4, 5, 6), [True, False] * 3, 6),
    ],
)
def test_a_disturbed_visit_is_repeated_once_and_what_stays_off_is_marked(off, repeats, rounds):
    reports = []
    ranking = Ranking("abc", RoundOptions())
    device = SimulatedDevice({"a": 1.0, "b": 1.3, "c": 9.0}, noise=1e-4)
    ranking.on_visit = reports.append
    assert visits_of(ranking, device, off) == [{number + 1} for number in range(len(repeats))]
    assert [report.repeats for report in reports] == repeats and device.passes == 3
    assert [report.disturbed for report in reports] == [one + 1 in off for one in range(len(repeats))]
    assert ranking.disturbed == set(off) and ranking.rounds == rounds
    assert ranking.ending is Ending.SETTLED


def test_what_was_disturbed_decides_nothing():
    """Two passes of three are sound; a kernel looks five times as slow in the other one."""

    class Disturbed(SimulatedDevice):
        def measure(self, planned):
            timing = super().measure(planned)
            slow = 5.0 if planned.cell == "a" and planned.round in (2, 3) else 1.0
            return timing._replace(time_ms=slow * timing.time_ms)

    ranking, device = Ranking("ab", RoundOptions()), Disturbed({"a": 1.0, "b": 1.15}, noise=1e-4)
    visits_of(ranking, device, off=(2, 3))
    assert ranking.best() == "a" and not ranking.dropped


@given(seed=st.integers(0, 10_000), slower=st.floats(1.0, 3.0))
@settings(max_examples=40)
def test_what_was_pruned_is_never_tied_with_the_best(seed, slower):
    """However slow the machine becomes for those that stay."""
    times = spread_times(12, seed, slowest=4.0)
    ranking = Ranking(list(times), RoundOptions(seed=seed, max_rounds=8))
    device, passes = SimulatedDevice(times, noise=0.05, bursts=0.1, seed=seed), 0
    while ranking.ending is None:
        passes += 1
        for planned in ranking.visit():
            timing = device.measure(planned)
            later = slower if passes > 2 else 1.0
            again = timing._replace(time_ms=timing.time_ms * later, process=str(passes))
            ranking.record(planned, again)
        cells, ordered = ranking._times.ranked_set(ranking.cells)
        tied = [cell for cell, lead in zip(cells, ordered.intervals(), strict=True) if is_tied(lead)]
        assert not ranking.dropped.intersection(tied)
        assert set(cells[len(cells) - len(ranking.dropped) :]) == ranking.dropped
        assert ranking.best() == cells[0]


def test_failing_kernels_leave_at_once():
    ranking, device = play({"a": 1.0, "b": 2.0, "c": 1.5}, failing={"a"})
    assert ranking.best() == "c"
    assert Counter(one.cell for one in device.samples)["a"] == 1


@pytest.mark.parametrize("cells", [[], ["a"], ["a", "b"]])
def test_without_competitors_the_rounds_end(cells):
    reports = []
    ranking, _ = play(dict.fromkeys(cells, 1.0), on_visit=reports.append, failing={"a", "b"})
    assert ranking.ending is Ending.NO_RANKING and len(reports) == bool(cells)
    assert ranking.best() is None


def test_a_single_kernel_gets_its_rounds():
    ranking, device = play({"a": 1.0})
    assert ranking.ending is Ending.SETTLED
    assert [one.round for one in device.samples] == [1, 2, 3]


@given(stop=st.integers(0, 150), seed=st.integers(0, 20), busy=st.booleans())
@settings(max_examples=40)
def test_an_interrupted_ranking_goes_on_where_it_stopped(stop, seed, busy):
    """Whatever was measured before the interruption is not measured again in that round."""
    times = spread_times(12, seed, slowest=2.5 if busy else 12.0)
    options = RoundOptions(seed=seed)
    disturbed = {"noise": 0.12, "bursts": 0.15} if busy else {}
    device = SimulatedDevice(times, seed=seed, failing={3}, **disturbed)
    first = Ranking(list(times), options)
    history = {}
    dropped = {}
    first.on_visit = lambda report: dropped.update(dict.fromkeys(report.dropped, report.rounds[-1]))
    ended = True
    for number, planned in enumerate(samples_of(first, device)):
        if number == stop:
            ended = False
            break
        timing = device.measure(planned)
        first.record(planned, timing)
        history.setdefault(planned.cell, []).append((planned.round, timing))
    second = Ranking(list(times), options)
    second.resume(history, dropped=dropped)
    if ended:
        assert second.ending is first.ending
        assert list(second.visit()) == []
        assert set(second.active) == set(first.active)
        assert second.best() == first.best()
        return
    before = {(cell, number) for cell, samples in history.items() for number, _ in samples}
    for planned in samples_of(second, device):
        assert (planned.cell, planned.round) not in before
        second.record(planned, device.measure(planned))
    if not busy:
        assert times[second.best()] <= 1.03 * min(time for cell, time in times.items() if cell != 3)


@pytest.mark.parametrize("seed", range(12))
def test_a_finished_ranking_on_a_busy_machine_stays_finished(seed):
    """Decisions that are made again from what was measured must be those that were made then."""
    times = spread_times(25, seed, slowest=3.0)
    device = SimulatedDevice(times, noise=0.15, bursts=0.2, seed=seed)
    first = Ranking(list(times), RoundOptions(seed=seed))
    dropped, history = {}, {}
    first.on_visit = lambda report: dropped.update(dict.fromkeys(report.dropped, report.rounds[-1]))
    for planned in samples_of(first, device):
        timing = device.measure(planned)
        first.record(planned, timing)
        history.setdefault(planned.cell, []).append((planned.round, timing))
    second = Ranking(list(times), RoundOptions(seed=seed))
    second.resume(history, dropped=dropped)
    assert second.ending is first.ending
    assert set(second.active) <= set(first.active)
    assert second.best() == first.best()


def test_today_options_decide_over_old_rounds():
    times = {number: 1.0 + number / 2 for number in range(6)}
    device = SimulatedDevice(times, noise=0.001)
    ranking = Ranking(list(times), RoundOptions(keep_within=0.05))
    history = {}
    for planned in samples_of(ranking, device):
        timing = device.measure(planned)
        ranking.record(planned, timing)
        history.setdefault(planned.cell, []).append((planned.round, timing))
    again = Ranking(list(times), RoundOptions(keep_within=10.0))
    last = max(number for samples in history.values() for number, _ in samples)
    again.resume(history, {1, last, last + 1})
    assert len(again.active) == 6 and again.disturbed == {1, last}, (
        "rounds that are to come are not disturbed"
    )
    assert len(ranking.active) < 6


def test_overhead_per_outcome_is_small():
    """Far below a millisecond is the goal; this only guards against quadratic decisions."""
    import time

    times = spread_times(300, 1)
    device = SimulatedDevice(times)
    ranking = Ranking(list(times), RoundOptions())
    start = time.process_time()
    run(ranking, device)
    assert (time.process_time() - start) / len(device.samples) < 0.01


@pytest.mark.parametrize(
    "wrong",
    [
        *({"keep_within": -0.1}, {"tie": float("nan")}, {"tie": float("inf")}, {"passes": 0}),
        *({"confidence": 1.0}, {"confidence": 0.49}, {"confidence": -0.5}),
        {"min_rounds": 0},
        {"min_rounds": 5, "max_rounds": 4},
    ],
)
def test_options_out_of_range_are_rejected(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        RoundOptions(**wrong)
    least = {"keep_within": 0.0, "tie": 0.0, "confidence": 0.5, "min_rounds": 1, "max_rounds": 1, "passes": 1}
    assert RoundOptions(**least).least_rounds == 1


def test_more_kernels_than_a_seed_could_order_by_chance():
    times = {number: 1.0 for number in range(50)}
    _, device = play(
        times, options=RoundOptions(exhaustive=True, max_rounds=3, seed=random.Random(1).getrandbits(30))
    )
    assert Counter(one.cell for one in device.samples if one.round == 1) == Counter(range(50))


@pytest.mark.parametrize(
    ("options", "rounds_of_visits"),
    [
        (RoundOptions(), [1, 1, 1]),
        (RoundOptions(passes=5), [1] * 5),
        (RoundOptions(passes=2), [2, 1]),
        (RoundOptions(passes=1), [3]),
        (RoundOptions(min_rounds=7, passes=3), [3, 2, 2]),
        (RoundOptions(passes=2, exhaustive=True), [5, 5]),
        (RoundOptions(passes=3, exhaustive=True), [4, 3, 3]),
        (RoundOptions(passes=5, min_rounds=3, max_rounds=4), [1] * 4),
    ],
)
def test_a_visit_has_its_share_of_the_rounds(options, rounds_of_visits):
    ranking, device = Ranking("ab", options), SimulatedDevice({"a": 1.0, "b": 1.3}, noise=1e-4)
    found = []
    while ranking.ending is None:
        device.passes += 1
        rounds = set()
        for planned in ranking.visit():
            rounds.add(planned.round)
            ranking.record(planned, device.measure(planned))
        found.append(len(rounds))
    assert found == rounds_of_visits
    assert ranking.rounds == sum(rounds_of_visits) == options.least_rounds


def test_rounds_are_dealt_to_the_passes_that_are_left():
    options = RoundOptions(passes=3, min_rounds=7, max_rounds=10)
    dealt = {(0, 0): 3, (1, 3): 2, (2, 5): 2, (1, 1): 3, (2, 1): 6, (2, 7): 1}
    # once there are enough, as many as a pass has on average, up to the most
    dealt |= {(3, 7): 3, (4, 7): 3, (3, 6): 3, (3, 8): 2, (4, 9): 1, (5, 10): 1, (5, 11): 1}
    for (passes, rounds), expected in dealt.items():
        assert options.visit_rounds(passes, rounds) == expected, (passes, rounds)


@given(
    slow=st.sampled_from([1.5, 3.0, 50.0]),
    passes=st.integers(1, 4),
    rounds=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_within_a_visit_nothing_is_decided_and_one_pass_prunes_nothing(slow, passes, rounds, seed):
    options = RoundOptions(min_rounds=rounds, max_rounds=max(10, rounds), passes=passes, seed=seed)
    times = {"a": 1.0, "b": 1.01, "c": slow}
    ranking, device = Ranking(list(times), options), SimulatedDevice(times, noise=0.002, seed=seed)
    while ranking.ending is None:
        device.passes += 1
        active, first = ranking.active, len(device.samples)
        for planned in ranking.visit():
            assert ranking.active == active and ranking.ending is None
            ranking.record(planned, device.measure(planned))
        assert {one.cell for one in device.samples[first:]} == set(active)
        assert device.passes > 1 or set(ranking.active) == set(times)
    assert device.passes >= options.least_passes


def test_a_visit_that_was_cut_short_counts_for_what_it_measured():
    """What its process measured is one visit, and the next process ends the round that it began."""
    history = {
        "a": [(number, Timing(time_ms=1.0, process="dead")) for number in (1, 2)],
        "b": [(1, Timing(time_ms=1.2, process="dead"))],
    }
    ranking, device = Ranking("ab", RoundOptions(min_rounds=6)), SimulatedDevice({"a": 1.0, "b": 1.2})
    ranking.resume(history)
    visits = []
    while ranking.ending is None:
        device.passes += 1
        visit = set()
        for planned in ranking.visit():
            visit.add((planned.round, planned.cell))
            ranking.record(planned, device.measure(planned))
        visits.append({one for one in visit if one[1] == "b"})
    assert visits[:2] == [{(2, "b"), (3, "b"), (4, "b")}, {(5, "b"), (6, "b")}]
    assert ranking._times.processes("b") == 1 + len(visits)


def test_kernels_in_turn_are_visited_once_each_in_their_order():
    ranking = RoundRobin("bacd")
    assert ranking.remaining_samples == 4
    seen = [(one.cell, one.round, one.order, ranking.remaining_samples) for one in ranking.visit()]
    assert seen == [(cell, 1, at, 3 - at) for at, cell in enumerate("bacd")]
    assert ranking.ending is Ending.MAX_ROUNDS


def test_nothing_remains_once_the_rounds_have_ended():
    ranking = Ranking("ab", RoundOptions(max_rounds=4))
    assert ranking.remaining_samples == 2 * 4
    ended, _ = play({"a": 1.0, "b": 1.1}, noise=0.004)
    assert ended.ending is not None and ended.remaining_samples == 0
    # rounds of one process: others have to measure, too, as long as there are passes or rounds left
    for rounds, most, passes, left in ((3, 3, 3, 2), (1, 5, 2, 4), (2, 3, 3, 2), (4, 4, 2, 1)):
        ranking = Ranking("ab", RoundOptions(min_rounds=3, max_rounds=most, passes=passes))
        times = [(number, Timing(time_ms=1.0, process="p")) for number in range(1, rounds + 1)]
        ranking.resume(dict.fromkeys("ab", times))
        assert (ranking.remaining_samples, ranking.rounds) == (2 * left, rounds)


@pytest.mark.parametrize(("keep_within", "stays"), [(0.29, False), (0.31, True)])
def test_a_kernel_that_left_comes_back_if_the_margin_of_today_would_have_kept_it(keep_within, stays):
    history = {
        cell: [(number, Timing(time_ms=time)) for number in (1, 2)]
        for cell, time in (("a", 2.0), ("b", 2.1), ("c", 2.6))
    }
    ranking = Ranking("abc", RoundOptions(keep_within=keep_within))
    ranking.resume(history, dropped={"c": 2, "never heard of": 1})
    assert ("c" in ranking.active) is stays and ("c" in ranking.dropped) is not stays
