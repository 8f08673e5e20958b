"""Intervals, noise and verdicts on data whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ckprof.errors import UsageError
from ckprof.statistics.change import Change, ChangePolicy, RoundPair, estimate_changes
from ckprof.statistics.false_discovery import benjamini_hochberg
from ckprof.statistics.verdict import Judgement, Verdict, judge, rounds_needed

POLICY = ChangePolicy()


def pairs(rows: int, rounds: int, noise: float, shift: float = 0.0, seed: int = 1) -> list[RoundPair]:
    generator = np.random.default_rng(seed)
    old = generator.normal(0, noise, (rows, rounds))
    new = generator.normal(shift, noise, (rows, rounds))
    return [RoundPair(old=tuple(a), new=tuple(b)) for a, b in zip(old.tolist(), new.tolist(), strict=True)]


def judged(some: list[RoundPair]) -> list[Judgement]:
    return judge(estimate_changes(some, POLICY), POLICY)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.01, 0.3))
def test_false_discovery_control_agrees_with_scipy(p_values: list[float], rate: float) -> None:
    adjusted = stats.false_discovery_control(p_values, method="bh")
    ours = benjamini_hochberg(p_values, rate)
    for rejected, p_value in zip(ours, adjusted, strict=True):
        if abs(p_value - rate) > 1e-9:
            assert rejected == (p_value <= rate)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    changes = estimate_changes(pairs(2000, 8, 0.03, shift=0.1), POLICY)
    covered = np.mean([change.low < 0.1 < change.high for change in changes])
    assert 0.93 < covered < 0.975


def test_the_p_value_is_welchs() -> None:
    some = pairs(20, 9, 0.01, shift=0.2)
    for pair, change in zip(some, estimate_changes(some, POLICY), strict=True):
        shifted = np.asarray(pair.new) - change.margin
        expected = stats.ttest_ind(shifted, pair.old, equal_var=False, alternative="greater").pvalue
        assert change.p_value == pytest.approx(expected, rel=1e-6)


def test_a_change_of_nothing_is_the_same() -> None:
    assert {one.verdict for one in judged(pairs(200, 10, 0.005))} == {Verdict.SAME}


@pytest.mark.parametrize(("shift", "verdict"), [(0.05, Verdict.SLOWER), (-0.05, Verdict.FASTER)])
def test_one_changed_row_among_many_is_found_with_ten_rounds(shift: float, verdict: Verdict) -> None:
    some = pairs(999, 10, 0.005) + pairs(1, 10, 0.005, shift=shift, seed=9)
    verdicts = [one.verdict for one in judged(some)]
    assert verdicts[-1] is verdict
    assert {Verdict.SLOWER, Verdict.FASTER}.isdisjoint(verdicts[:-1])


def test_a_busy_machine_gives_no_false_verdict() -> None:
    generator = np.random.default_rng(7)
    shape = (2000, 6)

    def side() -> list[tuple[float, ...]]:
        disturbed = (generator.random(shape) < 0.3) * generator.exponential(0.3, shape)
        return [tuple(row) for row in (generator.normal(0, 0.03, shape) + disturbed).tolist()]

    verdicts = [
        one.verdict for one in judged([RoundPair(old=a, new=b) for a, b in zip(side(), side(), strict=True)])
    ]
    assert {Verdict.SLOWER, Verdict.FASTER}.isdisjoint(verdicts)


def test_few_rounds_are_not_relied_on() -> None:
    """Two rounds that agree by chance make no verdict about 8 %, but a factor of two is one."""
    small, large = (RoundPair(old=(0.0, 0.0001), new=(size, size)) for size in (0.08, math.log(2)))
    first, second = judged([small, large])
    assert first.verdict is Verdict.UNCLEAR
    assert second.verdict is Verdict.SLOWER


def test_rows_with_few_rounds_have_the_scatter_of_the_others() -> None:
    few = RoundPair(old=(0.0, 0.0001), new=(0.06, 0.06))
    alone, *_ = judged([few])
    among, *_ = judged([few, *pairs(40, 10, 0.004)])
    assert alone.change.scatter == pytest.approx(POLICY.assumed_noise)
    assert 0.004 < among.change.scatter < 0.008
    assert (alone.verdict, among.verdict) == (Verdict.UNCLEAR, Verdict.SLOWER)


def test_single_rounds_on_a_busy_machine_give_no_verdict() -> None:
    """What the rows differ by shows how busy the machine was."""
    generator = np.random.default_rng(2)
    noise = generator.normal(0, 0.05, (80, 2)) + generator.exponential(0.5, (80, 2))
    rows = [RoundPair(old=(a,), new=(b,)) for a, b in noise.tolist()]
    assert {one.verdict for one in judged(rows)}.isdisjoint({Verdict.SLOWER, Verdict.FASTER})


def test_a_change_of_most_rows_alike_is_no_noise() -> None:
    generator = np.random.default_rng(2)
    rows = [RoundPair(old=(a,), new=(b + 0.5,)) for a, b in generator.normal(0, 0.02, (80, 2)).tolist()]
    assert {one.verdict for one in judged(rows)} == {Verdict.SLOWER}


def test_one_round_is_enough_for_an_estimate() -> None:
    (change,) = estimate_changes([RoundPair(old=(0.0,), new=(0.1,))], POLICY)
    assert change.ratio == pytest.approx(math.exp(0.1))
    assert change.low < 0.1 - 0.13 < 0.1 + 0.13 < change.high


def test_interleaved_rounds_are_free_of_drift() -> None:
    drift = np.random.default_rng(3).normal(0, 0.3, 8)
    fine = np.random.default_rng(4).normal(0, 0.002, 8)
    old, new = tuple(drift.tolist()), tuple((drift + 0.05 + fine).tolist())
    (apart,) = judged([RoundPair(old=old, new=new)])
    (beside,) = judged([RoundPair(old=old, new=new, interleaved=True)])
    assert beside.verdict is Verdict.SLOWER
    assert apart.verdict is not Verdict.SLOWER
    assert beside.change.log_ratio == pytest.approx(apart.change.log_ratio)


def test_identical_rounds_are_the_same() -> None:
    (one,) = judged([RoundPair(old=(1.0,) * 5, new=(1.0,) * 5)])
    assert one.verdict is Verdict.SAME


def test_the_rounds_asked_for_settle_most_rows() -> None:
    unclear = [one for one in judged(pairs(300, 5, 0.012, shift=0.05)) if one.verdict is Verdict.UNCLEAR]
    needed = [one.rounds_needed for one in unclear if one.rounds_needed]
    assert unclear
    assert np.median(needed) < 30
    verdicts = [one.verdict for one in judged(pairs(300, 2 * int(np.median(needed)), 0.012, shift=0.05))]
    assert verdicts.count(Verdict.SLOWER) > 270


def test_a_change_at_the_limit_is_never_settled() -> None:
    change = Change(
        log_ratio=math.log1p(0.02),
        low=0.0,
        high=0.04,
        noise=0.0,
        margin=0.02,
        p_value=1,
        scatter=0.02,
        rounds=5,
    )
    assert rounds_needed(change, POLICY, 0.001) is None


def test_the_same_input_gives_the_same_numbers() -> None:
    assert estimate_changes(pairs(5, 6, 0.01), POLICY) == estimate_changes(pairs(5, 6, 0.01), POLICY)


@pytest.mark.parametrize("wrong", [{"min_change": 0}, {"confidence": 1}, {"resamples": 10}])
def test_wrong_policies(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        ChangePolicy(**wrong)  # type: ignore[arg-type]
