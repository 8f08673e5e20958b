"""What rounds say of times and of their noise: quantiles as numpy has them, and known machines."""

import math
import random
from statistics import NormalDist, fmean, median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.model.noise import PROCESS_SIGMA, Noise, Track, quantile
from ckprof.model.outcome import RoundTime

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30).map(sorted)


@given(NUMBERS, st.floats(0, 1))
def test_quantiles_are_those_of_numpy(ordered, share):
    assert quantile(ordered, share) == pytest.approx(np.quantile(ordered, share), rel=1e-9, abs=1e-6)


def rounds(times, processes=1, session="s"):
    return [
        RoundTime(time_ms=time, place=(session, number), process=f"{session}{number % processes}")
        for number, time in enumerate(times)
    ]


def test_a_track_has_its_trials_without_the_states_of_the_machine():
    states = {("s", 1): math.log(2), ("t", 0): 5.0}
    track = Track(rounds([2.0, 4.0, 8.0, 16.0], 2), states)
    # 2 and 8, 2 and 16
    assert track.logs == pytest.approx([math.log(4), math.log(32) / 2])
    assert (track.rounds, track.processes) == (4, 2)
    assert track.middle == pytest.approx(median(track.logs))
    by_rounds = Track(rounds([2.0, 4.0, 8.0, 16.0], 2), states, whole=False)
    assert by_rounds.logs == pytest.approx([math.log(time) for time in (2, 2, 8, 16)])
    # without processes, sessions are told apart
    bare = [RoundTime(time_ms=1.0, place=(name, 0)) for name in "ab"] + [RoundTime(time_ms=1.0)]
    assert Track(bare, {}).processes == 3


def test_trials_are_compared_with_the_fastest_other_one():
    def differences(times, processes, *, whole):
        return Track(rounds([math.exp(time) for time in times], processes), {}, whole=whole).differences()

    assert differences([1.0], 1, whole=True) == []
    # the least of two others, of the same noise as both: the difference is made as wide as that of one
    single = 1 / math.sqrt(1 + 1 / math.sqrt(2))
    assert differences([0.3, 0.1, 0.6], 1, whole=False) == pytest.approx(
        [single * d for d in (-0.2, 0.2, 0.5)]
    )
    # two processes took turns: 0 and 2, 1 and 3
    pair = 1 / math.sqrt(2)
    assert differences([0.0, 0.4, 0.1, 0.5], 2, whole=True) == pytest.approx([-0.4 * pair, 0.4 * pair])


@pytest.mark.parametrize("sigma", [0.003, 0.03])
def test_bounds_hold_the_truth_about_as_often_as_they_say(sigma):
    """Of 30 kernels in 30 trials whose states vary by 10 %; the truth is the median of what made them."""
    chance, wrong = random.Random(1), {0.05: 0, 0.3: 0}
    for _ in range(8):
        states = [chance.gauss(0, 0.1) for _ in range(30)]
        kernels = [
            rounds([ms * math.exp(state + chance.gauss(0, sigma)) for state in states], 30)
            for ms in range(1, 31)
        ]
        noise = Noise(kernels)
        assert noise.known and noise.several
        assert noise.sigma == pytest.approx(sigma, rel=0.25)
        for ms, track in enumerate(noise.tracks, 1):
            beside = track.middle - (math.log(ms) + fmean(states))
            for probability in wrong:
                wrong[probability] += beside > noise.above(track, probability)
                wrong[probability] += -beside > noise.below(track, probability)
    # of both sides
    assert wrong[0.05] / 240 < 0.2 < 0.5 < wrong[0.3] / 240 < 0.8


def test_what_processes_differ_by_is_seen_by_their_trials_alone():
    chance = random.Random(2)

    def machine(between, *, named):
        kernels = []
        for _ in range(40):
            factors = [chance.gauss(0, between) for _ in range(4)]
            times = [math.exp(factors[number % 4] + chance.gauss(0, 0.005)) for number in range(20)]
            kernels.append(rounds(times, 4 if named else 1))
        return Noise(kernels)

    same, other = machine(0.0, named=True), machine(0.1, named=True)
    # five rounds agree better than one
    assert same.sigma < 0.004 and other.sigma == pytest.approx(0.1, rel=0.3)
    assert {len(track.logs) for track in other.tracks} == {4}
    # nothing is to be allowed for beside
    assert other.of_process(0.05) == 0.0
    alone = machine(0.0, named=False)
    assert {len(track.logs) for track in alone.tracks} == {20}
    assert alone.sigma == pytest.approx(0.005, rel=0.3) and alone.of_process(0.05) > PROCESS_SIGMA


def test_one_process_is_allowed_for_as_was_seen_on_busy_machines():
    still = Noise([rounds([1.0, 1.0, 1.0]), rounds([2.0, 2.0, 2.0])])
    reach = NormalDist().inv_cdf(0.975)
    assert still.sigma == 0.0
    assert still.of_process(0.025) == pytest.approx(PROCESS_SIGMA * reach)
    assert still.of_process(0.025, 0.01) == pytest.approx(0.01 * reach)
    chance = random.Random(3)
    wild = Noise([rounds([math.exp(chance.gauss(0, 2.0)) for _ in range(9)]) for _ in range(9)])
    assert wild.of_process(0.025) > 2 * PROCESS_SIGMA * reach
    # where others ran in several processes, their trials say it
    mixed = Noise([rounds([1.0, 1.2] * 4, 2), rounds([1.2, 1.0] * 4, 2), rounds([3.0] * 8, 1, "t")])
    assert mixed.several and mixed.of_process(0.025) == 0.0
    assert mixed.above(mixed.tracks[2], 0.025) > 0.1


def test_a_kernel_that_varies_more_has_wider_bounds():
    chance = random.Random(4)
    kernels = [
        rounds([math.exp(chance.gauss(0, sigma)) for _ in range(12)], 12, str(number))
        for number, sigma in enumerate([0.01] * 20 + [0.1])
    ]
    noise = Noise(kernels)
    wild, usual = noise.tracks[-1], noise.tracks[0]
    assert wild.scale > 3 > 2 > usual.scale
    assert noise.above(wild, 0.05) > 2 * noise.above(usual, 0.05)


def test_single_rounds_say_nothing_of_noise():
    noise = Noise([rounds([1.0]), rounds([2.0])])
    assert not noise.known and noise.sigma == 0.0 and not noise.several
    assert [track.differences() for track in noise.tracks] == [[], []]
