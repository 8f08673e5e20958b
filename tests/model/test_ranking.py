"""A kernel's time, and who shares the first place: measured by how often that is right."""

import math
import random
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.model.outcome import Measurement, Outcome, RoundTime, Status, Verification
from ckprof.model.ranking import (
    Interval,
    Order,
    RankedSet,
    Resolution,
    interval_of,
    is_noisy,
    is_tied,
    kernel_time,
    ranked_set,
    ranking,
    summarise,
    summed_up,
)


def rounds_of(times, session="s", **changes):
    """Return rounds at which three processes took turns."""
    return [
        RoundTime(
            **{"time_ms": time, "place": (session, number), "process": str(number % 3), **changes}  # type: ignore[arg-type]
        )
        for number, time in enumerate(times, 1)
    ]


def time_of(times, session="s", **changes):
    found = kernel_time(rounds_of(times, session, **changes))
    assert found is not None
    return found


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12))
def test_the_time_is_the_median_of_the_trials_and_a_trial_that_of_its_rounds(times):
    found = time_of(times)
    logs = np.log(times)
    trials = [np.median(logs[number::3]) for number in range(min(3, len(times)))]
    assert found.time_ms == pytest.approx(math.exp(np.median(trials)))
    assert len(found.rounds) == len(times)
    low, high = found.interval_ms
    assert low <= found.time_ms <= high


def test_the_number_of_rounds_and_of_trials_does_not_move_the_time():
    """A quartile of four rounds was 3 % below that of five, at 5 % of noise with nothing changed."""
    chance = random.Random(1)

    def mean(rounds, processes):
        found = 0.0
        for _ in range(4000):
            times = [math.exp(chance.gauss(0, 0.05)) for _ in range(rounds)]
            some = [
                RoundTime(time_ms=time, place=("s", number), process=str(number % processes))
                for number, time in enumerate(times)
            ]
            time = kernel_time(some)
            assert time is not None
            found += math.log(time.time_ms) / 4000
        return found

    for rounds, processes in ((4, 1), (5, 1), (5, 3), (4, 4)):
        assert abs(mean(rounds, processes)) < 0.002, (rounds, processes)


def test_one_disturbed_trial_of_three_does_not_decide():
    assert time_of([1.0, 1.02, 3.0]).time_ms == 1.02
    # nor one disturbed round in each of them
    assert time_of([1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0]).time_ms == 1.0


@pytest.mark.parametrize("trials", [2, 3, 5, 10])
def test_the_interval_of_a_time_holds_the_truth_at_least_as_often_as_it_says(trials):
    chance = random.Random(trials)
    limits = [interval_of([math.exp(chance.gauss(0, 0.03)) for _ in range(trials)]) for _ in range(2000)]
    assert sum(low <= 1 <= high for low, high in limits) / 2000 > 0.94


def test_the_interval_of_a_time_is_students():
    """The variance of a median is pi / 2 times that of a mean; of one, what its process did is assumed."""
    for trials in ([1.0, 1.1], [2.0, 2.2, 1.9, 2.1, 2.05]):
        count, deviation = len(trials), np.std(np.log(trials), ddof=1)
        reach = scipy.stats.t.ppf(0.975, count - 1) * deviation * math.sqrt(math.pi / 2 / (count + 0.5))
        middle = math.exp(np.median(np.log(trials)))
        expected = middle * math.exp(-reach), middle * math.exp(reach)
        assert interval_of(trials) == pytest.approx(expected)
        assert time_of(trials[:3], process="").statistic == "median of 1 trial"
    reach = 0.15 * scipy.stats.norm.ppf(0.975)
    assert interval_of([2.0]) == pytest.approx((2 * math.exp(-reach), 2 * math.exp(reach)))


@pytest.mark.parametrize("samples", [[3.0], [4.0, 1.0], [5.0, 1.0, 2.5], [1.0, 9.0, 2.0, 4.0, 8.0, 3.0]])
def test_a_visit_is_the_quartiles_of_its_samples(samples):
    first, middle, third = np.percentile(samples, [25, 50, 75])
    reach, centre = 0.15 * scipy.stats.norm.ppf(0.975), math.exp(np.median(np.log(samples)))
    for keep in (True, False):
        found = summarise(samples, "stdrel", keep_samples=keep)
        seen = (found.time_ms, found.spread_ms, found.min_ms, found.mean_ms, found.low_ms, found.high_ms)
        expected = (middle, (third - first) / 2, min(samples), np.mean(samples))
        assert seen == pytest.approx((*expected, centre * math.exp(-reach), centre * math.exp(reach)))
        assert (found.samples, found.stopped_by) == (len(samples), "stdrel")
        assert found.samples_ms == (tuple(samples) if keep else ())


def test_visits_are_summed_up_without_those_in_doubt():
    visits = [
        (
            RoundTime(time_ms=ms, place=("s", number), doubtful=number == 1, process=str(number)),
            replace(
                summarise([ms, ms + 2], "x", keep_samples=True),
                launches=4 - number,
                units=(f"u{number % 2}", "u"),
            ),
        )
        for number, ms in enumerate((1.0, 7.0, 1.2, 1.1))
    ]
    last = outcome("k", 99.0)
    found = summed_up(last, visits, lambda counted, samples: f"{len(counted)} {samples}")
    assert found.measurement is not None and found.rounds == tuple(one for one, _ in visits)
    assert found.measurement == replace(
        summarise([1.0, 3.0, 1.2, 3.2, 1.1, 3.1], "3 [1.0, 3.0, 1.2, 3.2, 1.1, 3.1]", keep_samples=True),
        **dict(zip(("low_ms", "high_ms"), interval_of([1.0, 1.2, 1.1]), strict=True)),
        time_ms=1.1,
        spread_ms=pytest.approx(0.05),
        launches=4,
        units=("u0", "u", "u1"),
    )
    assert summed_up(last, [(RoundTime(time_ms=0.0), visits[0][1])], lambda *_: "") is last


def test_doubtful_rounds_count_where_there_are_no_others():
    doubtful = rounds_of([0.5, 0.5], "t", doubtful=True)
    assert kernel_time([*doubtful, *rounds_of([1.0])]) == time_of([1.0])
    parted = rounds_of([0.9], "p", doubtful=1)
    assert kernel_time([*parted, *rounds_of([0.5], "t", doubtful=2)]) == kernel_time(parted)
    only = kernel_time(doubtful)
    assert only is not None and only.time_ms == 0.5
    assert kernel_time([]) is None and kernel_time([RoundTime(time_ms=0.0)]) is None


def test_the_spread_is_that_of_samples_or_of_rounds():
    assert time_of([1.0, 1.0, 1.0], spread_ms=0.2).spread_ms == 0.2
    assert time_of([1.0, 1.04, 1.08], spread_ms=0.001).spread_ms == pytest.approx(0.02)
    assert time_of([1.0, 1.0, 1.0, 2.0, 3.0]).spread_ms == 0.5
    noisy = [replace(time_of([2.0]), spread_ms=spread) for spread in (0.102, 0.1)]
    assert [is_noisy(one) for one in (*noisy, replace(noisy[0], time_ms=0.0))] == [True, False, False]


def leads(kernels):
    return RankedSet(kernels).intervals()


def machine(chance, ratios, rounds, noise, *, shared=0.03, session="s"):
    """Measure kernels in rounds that share a state, and return them fastest first."""
    states = [chance.gauss(0, shared) for _ in range(rounds)]
    times = [[ratio * math.exp(state + chance.gauss(0, noise)) for state in states] for ratio in ratios]
    return sorted((time_of(some, session) for some in times), key=lambda one: one.time_ms)


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.03])
@pytest.mark.parametrize("rounds", [3, 5, 10])
def test_kernels_that_are_equal_are_hardly_ever_told_apart(noise, rounds):
    chance = random.Random(rounds)
    shares = [
        fmean(is_tied(one) for one in leads(machine(chance, [1.0] * 8, rounds, noise))) for _ in range(200)
    ]
    # the best was lucky: it is compared with the others because of that
    assert fmean(shares) > 0.92


def test_ties_widen_with_noise_and_narrow_with_rounds():
    chance = random.Random(1)
    ratios = [1 + 0.01 * number for number in range(20)]

    def ties(rounds, noise):
        return fmean(
            sum(is_tied(one) for one in leads(machine(chance, ratios, rounds, noise))) for _ in range(50)
        )

    assert ties(5, 0.002) < 4 < 1.5 * ties(5, 0.01) < ties(5, 0.03)
    # one process measured, which more rounds do not make up for
    assert ties(20, 0.03) < 0.9 * ties(5, 0.03)


def test_what_rounds_share_does_not_count_as_noise():
    states = [1.0, 1.06, 1.02, 1.08, 1.01]
    kernels = [time_of([ratio * state for state in states]) for ratio in (1.0, 1.04, 1.06)]
    assert not any(is_tied(one) for one in leads(kernels)[1:])
    # in rounds of their own, they cannot be told apart
    noisy = [1.0, 1.06, 1.02, 1.12, 1.16]
    apart = [time_of([ratio * state for state in noisy], str(ratio)) for ratio in (1.0, 1.04, 1.06)]
    assert all(is_tied(one) for one in leads(apart))


def test_a_kernel_that_missed_the_fast_rounds_is_not_slower_for_that():
    states = [1.2, 1.2, 1.0, 1.0, 1.0]
    fast = [time_of([ratio * state for state in states]) for ratio in (1.0, 1.1, 1.3)]
    early = time_of([1.01 * state for state in states[:2]])
    kernels = sorted([*fast, early], key=lambda one: one.time_ms)
    lead = leads(kernels)[kernels.index(early)]
    assert lead.ratio == pytest.approx(1.01) and is_tied(lead)


@pytest.mark.parametrize("near", [0, 1, 3, 4])
@pytest.mark.parametrize("processes", [1, 3])
def test_limits_are_those_of_the_noise(near, processes):
    """Bonferroni's correction is for as many lucky ones as there may be, in powers of two."""
    chance = random.Random(near)
    ratios = [1.0, *(1.0 + number / 1000 for number in range(1, near + 1)), *(2.0 + n for n in range(9))]
    times = measured(chance, ratios, 9, 0.01)
    kernels = [time_of(one, **({} if processes == 3 else {"process": "p"})) for one in times]
    ranked = RankedSet(sorted(kernels, key=lambda one: one.time_ms))
    noise, (best, *others) = ranked.noise, ranked.noise.tracks
    lucky = 0.025 / {0: 1, 1: 2, 3: 4, 4: 8}[near]
    sigma = noise.of_process(0.025, 0.2) if processes == 1 else 0.0
    assert (sigma > 0) == (processes == 1)
    assert sum(map(is_tied, ranked.intervals(process_sigma=0.2))) == near + 1
    below, above = noise.below(best, lucky), noise.above(best, 0.025)
    for track, lead in zip(others, ranked.intervals(process_sigma=0.2)[1:], strict=True):
        low = math.sqrt(noise.above(track, 0.025) ** 2 + below**2 + 2 * sigma**2)
        high = math.sqrt(noise.below(track, 0.025) ** 2 + above**2 + 2 * sigma**2)
        ratio = track.middle - best.middle
        assert (lead.estimate, lead.low, lead.high) == pytest.approx((ratio, ratio - low, ratio + high))


def test_limits_without_rounds_are_those_of_samples_and_processes():
    kernels = [time_of([ms], "", spread_ms=spread) for ms, spread in ((1.0, 0.02), (1.5, 0.06), (4.0, 0.0))]
    for confidence in (0.95, 0.998):
        process = math.sqrt(2) * scipy.stats.norm.ppf((1 + confidence) / 2) * 0.1
        found = RankedSet([*kernels[:2], replace(kernels[2], pruned=True)]).intervals(
            confidence, process_sigma=0.1
        )
        assert found[0] == Interval(estimate=0.0, low=0.0, high=0.0)
        for lead, ratio, spread in zip(found[1:], (1.5, 4.0), (0.06, 0.02), strict=True):
            reach = math.sqrt(spread**2 + process**2)
            limits = math.log(ratio), math.log(ratio) - reach, math.log(ratio) + reach
            assert (lead.estimate, lead.low, lead.high) == pytest.approx(limits)
            assert lead.pruned == (ratio == 4.0)
    assert RankedSet([]).intervals() == []


@pytest.mark.parametrize(
    ("low", "tie", "pruned", "shares"),
    [
        (math.log1p(0.02), 0.02, False, True),
        (math.log1p(0.02) + 1e-9, 0.02, False, False),
        (-0.5, 0.02, True, False),
        (math.log1p(0.1), 0.1, False, True),
        (-0.5, 0.0, False, True),
    ],
)
def test_a_tie_is_a_lower_limit_within_it(low, tie, pruned, shares):
    lead = Interval(estimate=0.1, low=low, high=0.3, pruned=pruned)
    assert is_tied(lead, tie) is shares
    assert tie != 0.02 or is_tied(lead) is shares
    assert not Interval(estimate=0.1, low=low, high=0.3).pruned


def test_what_is_slower_by_the_margin_is_pruned():
    times = measured(random.Random(1), [1.0, 1.01, 1.05, 1.2, 2.0, 2.5], 6, 0.002)
    kernels = [*map(time_of, times), time_of([3.0])]
    assert not any(kernel.pruned for kernel in kernels)
    ranked = RankedSet(kernels)
    lows = [lead.low for lead in ranked.intervals(0.998)]
    for margin in (0.0, 0.019, 0.03, 0.1, 0.5, 1.2):
        limit = math.log(1 + max(margin, 0.02))
        assert ranked.slower(margin) == [*(low > limit for low in lows[:-1]), False]
    assert lows[-1] > math.log(2.2)
    pruned = RankedSet([replace(kernel, pruned=number > 2) for number, kernel in enumerate(kernels)])
    assert pruned.slower(0.03) == ranked.slower(0.03)
    few = RankedSet([*map(time_of, ([1.0] * 6, [9.0, 9.01], [9.0]))])
    assert few.slower(0.03) == [False, True, False], "two rounds are enough, one is not"


def outcome(key, time_ms, *, verified=True, split_k=1):
    return Outcome(
        key=key,
        problem_index=0,
        status=Status.OK,
        split_k=split_k,
        measurement=Measurement(
            time_ms=time_ms, spread_ms=0, min_ms=time_ms, mean_ms=time_ms, samples=9, stopped_by="x"
        ),
        verification=Verification(max_error=0, wrong_elements=0, elements=1, rtol=0, atol=0)
        if verified
        else None,
    )


def test_the_order_does_not_depend_on_that_of_the_input():
    outcomes = [outcome("b", 1.0), outcome("a", 1.0, split_k=2), outcome("a", 1.0), outcome("c", 2.0)]
    outcomes += [
        outcome("d", 0.1, verified=False),
        Outcome(key="e", problem_index=0, status=Status.RUN_ERROR),
    ]
    positions = {one.key: number for number, one in enumerate(outcomes)}
    for some in (outcomes, outcomes[::-1]):
        found = ranking(some, positions)
        assert [(one.outcome.key, one.outcome.split_k, one.rank) for one in found] == [
            *(("a", 1, 1), ("a", 2, 1), ("b", 1, 1), ("c", 1, 4), ("d", 1, None), ("e", 1, None))
        ]
        assert [one.tied for one in found] == [False, True, True, False, False, False]
        assert [one.ratio for one in found] == [1, 1, 1, 2, None, None]


# --- intervals against simulations --------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.005, 0.05])
@pytest.mark.parametrize("rounds", [2, 3, 5, 10])
def test_intervals_hold_the_truth_at_least_as_often_as_they_say(rounds, noise):
    """95 of 100 are asked for."""
    chance = random.Random(rounds)
    trials = 150
    ratios = [1.0, 1.1, *(1.5,) * 18]
    held = 0
    for _ in range(trials):
        kernels = [time_of(one) for one in measured(chance, ratios, rounds, noise)]
        lead = RankedSet(kernels).intervals()[1]
        held += lead.low <= math.log(1.1) <= lead.high
    # so few trials do not tell 92 from 95
    assert held / trials > 0.92


def measured(chance, ratios, rounds, noise):
    states = [chance.gauss(0, 0.01) for _ in range(rounds)]
    return [[ratio * math.exp(state + chance.gauss(0, noise)) for state in states] for ratio in ratios]


def test_processes_that_disagree_widen_intervals():
    chance = random.Random(1)
    ratios = [1.0, 1.15, *(1.5,) * 10]
    offsets = [[chance.gauss(0, 0.1) for _ in range(3)] for _ in ratios]

    def kernels(*, named, offset):
        found = []
        for ratio, own in zip(ratios, offsets, strict=True):
            rounds = [
                RoundTime(
                    time_ms=ratio * math.exp(offset * own[number % 3] + chance.gauss(0, 0.003)),
                    place=("s", number),
                    process=str(number % 3) if named else "0",
                )
                for number in range(9)
            ]
            time = kernel_time(rounds)
            assert time is not None
            found.append(time)
        return found

    def reach(**how):
        lead = RankedSet(kernels(**how)).intervals()[1]
        return lead.high - lead.low

    # those of one process were measured in one: what it may give a kernel is allowed for
    assert reach(named=True, offset=False) < 0.05
    assert 0.2 < reach(named=True, offset=True) < reach(named=False, offset=False) < 1


def test_the_resolution_says_what_it_would_take():
    def resolution(second, noise, rounds=5):
        chance = random.Random(1)
        times = measured(chance, [1.0, second, 3.0, 3.1, 3.2, 3.3], rounds, noise)
        return RankedSet(sorted(map(time_of, times), key=lambda one: one.time_ms)).resolution()

    assert (resolution(1.1, 0.002).order, resolution(1.1, 0.002).first) == (Order.CLEAR, 1)
    assert (resolution(1.005, 0.002).order, resolution(1.005, 0.002).first) == (Order.TIE, 2)
    unsure = resolution(1.01, 0.04)
    assert (unsure.order, unsure.first, unsure.resolved) == (Order.OPEN, 2, False)
    alone = Resolution(order=Order.ALONE, first=1, processes=1)
    assert RankedSet([time_of([1.0])]).resolution() == alone
    assert RankedSet([]).resolution() == replace(alone, first=0, processes=0)
    # what one process may do to kernels, no rounds settle; nor is a ratio of a tie ever clear
    pair = [time_of([1.0, 1.01, 1.02], process="p"), time_of([1.3, 1.32, 1.31, 1.3], process="p")]
    assert RankedSet(pair).resolution() == Resolution(order=Order.OPEN, first=2, processes=1, rounds=None)


@pytest.mark.parametrize(
    ("seed", "ratios", "noise", "process", "tie"),
    [
        (1, [1.0, 1.02, 1.03, 2.0, 2.1, 2.2], 0.05, {}, 0.02),
        (5, [1.0, 1.03, 1.04, 2.0, 2.1, 2.2], 0.08, {}, 0.01),
        (0, [1.0, 1.5, 5.0, 5.1, 5.2, 5.3], 0.35, {"process": "p"}, 0.02),
        (2, [1.0, 1.5, 5.0, 5.1, 5.2, 5.3], 0.35, {"process": "p"}, 0.02),
        (4, [1.0, 1.6, 1.1, 3.1, 3.2, 3.3], 0.35, {"process": "p"}, 0.02),
    ],
)
def test_rounds_that_are_needed_shrink_limits_by_their_square_root(seed, ratios, noise, process, tie):
    """As many as the one needs that needs most; what a process does to kernels, no rounds shrink."""
    times = measured(random.Random(seed), ratios, 8, noise)
    times = [one[:rounds] for one, rounds in zip(times, (8, 7, 8, 7, 8, 4), strict=True)]
    ranked = RankedSet(sorted((time_of(one, **process) for one in times), key=lambda one: one.time_ms))
    of_process, needed = 2 * ranked.noise.of_process(0.025) ** 2, []
    for lead, kernel in zip(ranked.intervals(), ranked.kernels, strict=True):
        if lead.low < -math.log(1 + tie):
            wanted = (lead.estimate + math.log(1 + tie)) ** 2 - of_process
            share = ((lead.estimate - lead.low) ** 2 - of_process) / wanted
            rounds = min(len(kernel.rounds), len(ranked.kernels[0].rounds))
            needed.append(math.ceil(rounds * share) if wanted > 0 else math.inf)
    assert ranked.resolution(tie).rounds == (None if math.inf in needed else max(needed))
    # what is faster than the best, no rounds make slower
    assert RankedSet([ranked.kernels[4], ranked.kernels[0]]).resolution(tie).rounds is None


def test_a_pruned_kernel_leaves_the_winner_resolved():
    best, other = time_of([1.0]), time_of([1.1])
    assert RankedSet([best, replace(other, pruned=True)]).resolution().order is Order.CLEAR
    # measured in one process: without being pruned, the other may be faster
    assert RankedSet([best, other]).resolution().order is Order.OPEN
    # what the best one was pruned for has failed since
    assert not any(
        one.pruned for one in RankedSet([replace(one, pruned=True) for one in (best, other)]).kernels
    )


TIMES = st.lists(st.floats(0.5, 5.0), min_size=1, max_size=9)


@settings(max_examples=100)
@given(st.lists(st.tuples(TIMES, st.booleans()), min_size=1, max_size=6), st.floats(0, 1))
def test_pruned_kernels_are_never_tied(kernels, margin):
    found, ranked = ranked_set(
        (time_of(times, pruned=pruned), str(number), 1, pruned)
        for number, (times, pruned) in enumerate(kernels)
    )
    # one rule: what may be pruned now is not tied with the best, whatever was pruned before
    assert not ranked.slower(margin)[0]
    for lead, slower in zip(ranked.intervals(), ranked.slower(margin), strict=True):
        assert not (slower and is_tied(lead))
    assert found == sorted(found)
    if not all(found):
        for pruned, lead in zip(found, ranked.intervals(), strict=True):
            assert not (pruned and is_tied(lead))


def test_a_pruned_kernel_stands_behind_others_though_the_machine_has_become_slower():
    slow = outcome("slow", 0.9)
    early = RoundTime(time_ms=0.9, place=("s", 1), process="0", pruned=True)
    slow = replace(slow, rounds=(early, replace(early, place=("s", 2), process="1")))
    best = replace(outcome("best", 1.4), rounds=tuple(rounds_of([0.5, 0.5, 1.4, 1.4, 1.4, 1.4])))
    found = ranking([slow, best], {"slow": 0, "best": 1})
    assert [(one.outcome.key, one.rank, one.tied) for one in found] == [
        ("best", 1, False),
        ("slow", 2, False),
    ]
    # what it was slower than has failed since
    assert [one.rank for one in ranking([slow], {"slow": 0})] == [1]


def test_rounds_as_many_as_the_standing_asks_for_decide_every_second_time():
    """It is what is expected: half of the time more are needed."""
    chance = random.Random(3)
    decided = asked = 0
    for _ in range(40):
        times = measured(chance, [1.0, 1.02, *(2.0,) * 20], 40, 0.02)
        few = RankedSet(sorted((time_of(one[:4]) for one in times), key=lambda one: one.time_ms)).resolution()
        if few.rounds is not None and few.rounds <= 40:
            enough = [time_of(one[: few.rounds]) for one in times]
            asked += 1
            decided += RankedSet(sorted(enough, key=lambda one: one.time_ms)).resolution().resolved
    assert asked >= 10 and decided >= 0.4 * asked
