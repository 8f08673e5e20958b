"""What rounds say of times and of their noise: quantiles as numpy has them, and known machines."""

from __future__ import annotations

import math
import random
from statistics import NormalDist, fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.model.noise import PROCESS_SIGMA, QUARTILE, Noise, Track, quantile, quartile
from ckprof.model.outcome import RoundTime

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30).map(sorted)


@given(NUMBERS, st.floats(0, 1))
def test_quantiles_are_those_of_numpy(ordered: list[float], share: float) -> None:
    assert quantile(ordered, share) == pytest.approx(np.quantile(ordered, share), rel=1e-9, abs=1e-6)
    assert quartile(ordered) == np.quantile(ordered, QUARTILE, method="inverted_cdf")


def rounds(times: list[float], processes: int = 1, session: str = "s") -> list[RoundTime]:
    return [
        RoundTime(time_ms=time, place=(session, number), process=f"{session}{number % processes}")
        for number, time in enumerate(times)
    ]


def test_a_track_has_its_rounds_beside_the_states_of_the_machine() -> None:
    track = Track(rounds([2.0, 4.0, 8.0], 2), {("s", 1): math.log(2), ("t", 0): 5.0})
    assert track.groups == {
        "s0": pytest.approx([math.log(2), math.log(8)]),
        "s1": pytest.approx([math.log(2)]),
    }
    assert track.rounds == 3 and track.middle == pytest.approx(math.log(2))
    assert track.ends == pytest.approx([math.log(2), math.log(2), math.log(2)])
    # without processes, sessions are told apart
    bare = [RoundTime(time_ms=1.0, place=(name, 0)) for name in "ab"] + [RoundTime(time_ms=1.0)]
    assert set(Track(bare, {}).groups) == {"a", "b", ""}


def test_rounds_are_compared_with_the_fastest_other_one() -> None:
    def beside(times: list[float], processes: int) -> list[float]:
        return Track(rounds([math.exp(time) for time in times], processes), {}).beside_others()

    assert beside([1.0], 1) == []
    # the least of two others, of the same noise as both: the difference is made as wide as that of one
    single = 1 / math.sqrt(1 + 1 / math.sqrt(2))
    assert sorted(beside([0.3, 0.1, 0.6], 1)) == pytest.approx([single * d for d in (-0.2, 0.2, 0.5)])
    # two processes took turns: 0 and 2, 1 and 3
    assert beside([0.0, 0.4, 0.1, 0.5], 2) == pytest.approx([single * d for d in (-0.4, -0.3, 0.4, 0.5)])


@pytest.mark.parametrize("sigma", [0.003, 0.03])
def test_bounds_hold_the_truth_about_as_often_as_they_say(sigma: float) -> None:
    """Of 30 kernels in 30 rounds whose states vary by 10 %; the truth is the quartile of what made them."""
    chance, wrong = random.Random(1), {0.05: 0, 0.3: 0}
    quarter = NormalDist(0, sigma).inv_cdf(QUARTILE)
    for _ in range(8):
        states = [chance.gauss(0, 0.1) for _ in range(30)]
        kernels = [
            rounds([ms * math.exp(state + chance.gauss(0, sigma)) for state in states]) for ms in range(1, 31)
        ]
        noise = Noise(kernels)
        assert noise.known and noise.between is None
        assert noise.sigma == pytest.approx(sigma, rel=0.25)
        for ms, track in enumerate(noise.tracks, 1):
            beside = track.middle - (math.log(ms) + fmean(states) + quarter)
            for probability in wrong:
                wrong[probability] += beside > noise.above(track, probability)
                wrong[probability] += -beside > noise.below(track, probability)
    # of both sides
    assert wrong[0.05] / 240 < 0.2 < 0.5 < wrong[0.3] / 240 < 0.8


def test_what_processes_differ_by_is_found_and_makes_rounds_worth_less() -> None:
    chance = random.Random(2)

    def machine(between: float) -> Noise:
        kernels = []
        for _ in range(40):
            factors = [chance.gauss(0, between) for _ in range(4)]
            times = [math.exp(factors[number % 4] + chance.gauss(0, 0.005)) for number in range(20)]
            kernels.append(rounds(times, 4))
        return Noise(kernels)

    same, other = machine(0.0), machine(0.1)
    assert same.between is not None and same.between < 0.003
    assert other.between == pytest.approx(0.1, rel=0.25)
    # twenty rounds of four processes: as many independent ones, or hardly more than four
    assert {track.worth for track in same.tracks} == {20.0}
    assert all(4 <= track.worth < 8 for track in other.tracks)
    # they show it: nothing is to be allowed for
    assert other.of_process(other.tracks[0], 0.05) == 0.0


def test_one_process_is_allowed_for_as_was_seen_on_busy_machines() -> None:
    still = Noise([rounds([1.0, 1.0, 1.0]), rounds([2.0, 2.0, 2.0])])
    reach = NormalDist().inv_cdf(0.975)
    assert still.sigma == 0.0
    assert still.of_process(still.tracks[0], 0.025) == pytest.approx(PROCESS_SIGMA * reach)
    assert still.of_process(still.tracks[0], 0.025, 0.01) == pytest.approx(0.01 * reach)
    chance = random.Random(3)
    wild = Noise([rounds([math.exp(chance.gauss(0, 2.0)) for _ in range(9)]) for _ in range(9)])
    assert wild.of_process(wild.tracks[0], 0.025) > 2 * PROCESS_SIGMA * reach
    # where others ran in several processes, these say it
    mixed = Noise([rounds([1.0, 1.2] * 4, 2), rounds([1.0, 1.2] * 4, 2), rounds([3.0] * 8, 1, "t")])
    assert mixed.between is not None
    assert mixed.of_process(mixed.tracks[2], 0.025) == pytest.approx(mixed.between * reach)


def test_a_kernel_that_varies_more_has_wider_bounds() -> None:
    chance = random.Random(4)
    kernels = [
        rounds([math.exp(chance.gauss(0, sigma)) for _ in range(12)], 1, str(number))
        for number, sigma in enumerate([0.01] * 20 + [0.1])
    ]
    noise = Noise(kernels)
    wild, usual = noise.tracks[-1], noise.tracks[0]
    assert wild.scale > 3 > 2 > usual.scale
    assert noise.above(wild, 0.05) > 2 * noise.above(usual, 0.05)


def test_single_rounds_say_nothing_of_noise() -> None:
    noise = Noise([rounds([1.0]), rounds([2.0])])
    assert not noise.known and noise.sigma == 0.0 and noise.between is None
    assert [track.beside_others() for track in noise.tracks] == [[], []]
