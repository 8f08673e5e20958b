"""Verdicts: of simulated sides, whose truth is known, and of pairs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from ckprof.compare.change import MOST_PASSES, Change, Verdict, judge_pairs, judge_visits
from ckprof.compare.change import _kept_by_rate as kept_by_rate
from ckprof.compare.change import _splits as splits
from ckprof.compare.options import ChangePolicy
from ckprof.compare.visits import Visits, contrasts
from ckprof.model.student import quick_t_quantile
from tests.compare.noise import (
    MACHINES,
    PARTLY,
    SMALL_KERNELS,
    THREE_ROUNDS,
    Machine,
    Shape,
    figures,
    first_rows,
    judged,
    kinds,
    one_problem,
    simulate,
    tenth,
)

POLICY = ChangePolicy()
#: kernels of which a share has two states keep a higher rate before they are settled
TWO_STATES = 0.05


def test_nothing_changed_and_nothing_is_called_changed():
    wrong = [name for name, one in MACHINES.items() if figures(one, Shape(), 2).false]
    assert not wrong


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_rates_of_false_verdicts_are_small(part):
    wrong = []
    for name, (machine, shape) in list(kinds().items())[part::4]:
        found = figures(machine, shape, 60)
        if found.false > 0.001 or found.with_false > (1 / 60 if "two states" in name else 0.0):
            wrong.append(f"{name}: {found}")
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", kinds())
def test_rates_of_false_verdicts(name):
    machine, shape = kinds()[name]
    found = figures(machine, shape, 1000, seed=9)
    assert found.false <= 0.001
    assert found.with_false <= (TWO_STATES if "two states" in name else 0.01)


def test_kernels_with_two_states_are_settled():
    machine = Machine(of_rows=MACHINES["2 % of the rows in two states"].of_rows)
    assert figures(machine, Shape(), 15, settle=True).with_false == 0.0


@pytest.mark.parametrize(
    ("shape", "changed", "factor", "least"),
    [
        (Shape(), tenth, 1.05, 0.8),
        (Shape(), tenth, 1.10, 1.0),
        (Shape(), first_rows(26), 1.10, 1.0),
        (Shape(), first_rows(30), 1.15, 1.0),
        (Shape(), one_problem, 1.10, 1.0),
        (Shape(problems=1), first_rows(30), 1.30, 1.0),
        (Shape(problems=1, kernels=3), first_rows(3), 1.30, 1.0),
    ],
)
def test_what_changed_is_found(shape, changed, factor, least):
    """With 1 % of noise and three passes of three rounds; no unchanged row is touched."""
    found = figures(Machine(sigma=THREE_ROUNDS), shape, 4, factor=factor, changed=changed)
    assert found.found >= least
    assert found.false == found.shifted == 0.0


@pytest.mark.parametrize(("machine", "most"), [*zip(SMALL_KERNELS.values(), (0.3, 0.45), strict=True)])
def test_small_kernels_that_did_not_change_are_settled(machine, most):
    """Those that changed by as much as is of interest are called the same in one case of twenty at most."""
    shape = Shape(problems=32, kernels=18)
    assert figures(machine, shape, 8).unclear <= most
    same = 0
    for seed in range(4):
        times = simulate(np.random.default_rng(seed), shape, machine, np.full(shape.rows, math.log(1.02)))
        same += sum(one.verdict is Verdict.SAME for one in judged(times)[0].values())
    assert same / (4 * 32 * 18) <= 0.05


def test_a_restless_problem_settles_no_fewer_rows_of_others():
    """Its visits go on for seven passes after all others have ended, and scatter by a twentieth."""
    generator = np.random.default_rng(5)
    usual = simulate(generator, Shape(), Machine())
    times = np.full((20, 30, 20), np.nan)
    canaries = np.full((2, 20, 20), np.nan)
    for side, first in zip(usual.sides, (0, 10), strict=True):
        columns = first + np.arange(len(side))
        times[..., columns], canaries[..., columns] = usual.times[..., side], usual.canaries[..., side]
    times[0, :, :] = generator.normal(0, 0.05, 20) + generator.normal(0, 0.01, (30, 20))
    canaries[:, 0, :] = generator.normal(0, 0.003, (2, 20))
    some = {
        name: [change.verdict for (problem, _), change in judged(one)[0].items() if problem]
        for name, one in {
            "without it": replace(usual, times=usual.times[1:], canaries=usual.canaries[:, 1:]),
            "with it": Visits(times=times, canaries=canaries, old=10),
        }.items()
    }
    same = {name: found.count(Verdict.SAME) / len(found) for name, found in some.items()}
    assert 0.5 < same["without it"] < same["with it"] + 0.05, same


def test_without_canaries_a_shift_of_all_rows_is_a_verdict_of_its_own():
    for factor, shifted in ((1.15, 1.0), (1 / 1.15, 1.0), (1.01, 0.0)):
        found = figures(Machine(canaries=()), Shape(), 4, factor=factor, changed=first_rows(30))
        assert (found.shifted, found.found) == (shifted, 0.0)
    # what changed by more than the others is found beside it
    generator = np.random.default_rng(1)
    change = np.full((20, 30), math.log(1.15))
    change[3, 4] = math.log(1.6)
    verdicts, shift = judged(simulate(generator, Shape(), Machine(canaries=()), change))
    assert shift.unexplained and shift.ratio == pytest.approx(1.15, rel=0.01)
    assert [row for row, one in verdicts.items() if one.verdict is Verdict.SLOWER] == [(3, 4)]


def test_another_clock_explains_nothing():
    visits = simulate(np.random.default_rng(2), Shape(), Machine(), np.full((20, 30), math.log(1.15)))
    for same_clock in (True, False):
        changes, shift = judge_visits(visits, POLICY, same_clock=same_clock)
        assert shift.unexplained is not same_clock
        # beyond what the canaries moved by, it is the code's
        assert {one.verdict for one in changes} == {Verdict.SLOWER}


def row_by_row(visits, policy):
    """Every row as the documentation has it, one after the other."""
    visits, least = visits.undisturbed(), math.log(1 + policy.min_change)
    found, changes, sizes = contrasts(visits, visits.sides), {}, {}
    counts = [np.isfinite(visits.times[..., side]).sum(axis=-1) for side in visits.sides]
    for row in np.ndindex(found.change.shape):
        few, low, high = (
            min(int(one[row]) for one in counts),
            *(float((found.change - one)[row]) for one in (found.high, found.low)),
        )
        if few == 1:
            changes[row] = Change(log_ratio=float(found.change[row]), visits=1)
        elif few:
            sizes[row] = max(0, low - least, -high - least) / float(found.strict_sigma[row])
            p_value = min(1.0, 2 * scipy.stats.t.sf(sizes[row], float(found.strict_freedom[row])))
            sigma, freedom = float(found.sigma[row]), round(float(found.freedom[row]), 1)
            reach, inner = (
                scipy.stats.t.ppf(share, freedom) * sigma
                for share in ((1 + policy.confidence) / 2, policy.confidence)
            )
            same = -least < low - inner and high + inner < least
            changes[row] = Change(
                log_ratio=float(found.change[row]),
                interval=(low - reach, high + reach),
                p_value=p_value,
                error=sigma,
                visits=few,
                verdict=Verdict.SAME if same else Verdict.UNCLEAR,
                passes_needed=None
                if same
                else passes_needed(max(low, -high), max(high, -low), sigma, few, policy),
            )
    tested = scipy.stats.false_discovery_control([one.p_value for one in changes.values()])
    candidates = [
        row for row, p_value in zip(changes, tested, strict=True) if p_value <= policy.false_discovery_rate
    ]
    candidates.sort(key=lambda row: -sizes[row])
    ways = splits(visits.times.shape[-1], visits.old, policy.seed)
    chance = [abs(size) for way in ways for size in contrasts(visits, way).beyond(least).ravel()]
    kept = 0
    for count, row in enumerate(candidates, 1):
        if sum(size >= 0.6 * sizes[row] for size in chance) / len(ways) <= 0.01 * count:
            kept = count
    for row in candidates[:kept]:
        verdict = Verdict.SLOWER if changes[row].log_ratio > 0 else Verdict.FASTER
        changes[row] = replace(changes[row], verdict=verdict, passes_needed=None)
    return changes


def passes_needed(nearest, farthest, sigma, visits, policy):
    """Passes until the nearest end is surely beyond the least change of interest, or the farthest within."""
    least, needed = math.log(1 + policy.min_change), []
    for room, share in (
        (nearest - least, 1 - policy.false_discovery_rate / 2),
        (least - farthest, policy.confidence),
    ):
        if room > 0:
            needed.append(math.ceil((quick_t_quantile(share, 2 * visits) * sigma / room) ** 2 * visits))
    fewest = max(visits + 1, min(needed, default=1000))
    return fewest if fewest <= 100 else None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("seed", "old", "new", "machine"),
    [
        (1, 4, 3, Machine(sigma=0.02)),
        (2, 4, 2, Machine(sigma=THREE_ROUNDS, missing=0.3, canaries=())),
        (
            3,
            2,
            5,
            Machine(of_rows=MACHINES["5 % of the rows in two states"].of_rows, slower=0.03, follow=PARTLY),
        ),
        (4, 3, 3, Machine(sigma=0.003, of_side=0.02, canaries=(1.0, 0.3))),
        (5, 3, 3, Machine(sigma=1e-4, canaries=())),
    ],
)
def test_verdicts_are_those_of_each_row_by_itself(seed, old, new, machine):
    chance = np.random.default_rng(seed)
    shape = Shape(problems=6, kernels=12, old=old, new=new)
    sizes = chance.choice([0.0, 0.0, 0.018, 0.03, 0.06, -0.06, 0.1, -0.4], shape.rows)
    visits = simulate(chance, shape, machine, sizes)
    for policy in (POLICY, ChangePolicy(min_change=0.04, confidence=0.9, false_discovery_rate=0.05, seed=3)):
        changes, _ = judged(visits, policy)
        expected = row_by_row(visits, policy)
        assert list(changes) == list(expected)
        for row, one in expected.items():
            seen = changes[row]
            assert (seen.verdict, seen.visits, seen.passes_needed) == (
                one.verdict,
                one.visits,
                one.passes_needed,
            )
            found = (seen.log_ratio, seen.p_value, seen.error, *(seen.interval or ()))
            wanted = (one.log_ratio, one.p_value, one.error, *(one.interval or ()))
            assert seen == one or found == pytest.approx(wanted, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_a_shift_of_all_rows_is_beyond_what_chance_shows(count):
    """One row: the means of both sides, and what remains of the visits with two degrees of freedom less."""
    for size in np.linspace(-0.2, 0.2, 41):
        times = (
            size * (np.arange(2 * count) >= count)
            + 0.01 * np.array([-1.0, 0, 1, 0.5, -0.5, 0] * 2)[: 2 * count]
        )
        visits = Visits(times=times[None, None], canaries=np.zeros((0, 1, 2 * count)), old=count)
        old, new = times[:count], times[count:]
        found, expected = judge_visits(visits, POLICY, same_clock=True)[1], new.mean() - old.mean()
        freedom = 2 * count - 2
        variance = (count * old.var() + count * new.var()) / max(freedom, 1)
        reach = scipy.stats.t.ppf(0.99, freedom) * math.sqrt(2 * variance / count) if freedom else math.inf
        assert found.log_ratio == pytest.approx(expected)
        assert found.ratio == pytest.approx(math.exp(expected))
        assert found.unexplained == (abs(expected) - reach > math.log(1.02))


@pytest.mark.parametrize("name", ["1 % of independent noise", "noise by row, 0.3 to 3 %"])
def test_intervals_hold_the_truth(name):
    held = total = 0
    for seed in range(5):
        generator = np.random.default_rng(seed)
        truth = generator.normal(0, 0.05, (20, 30))
        changes, _ = judged(simulate(generator, Shape(), MACHINES[name], truth))
        intervals = {row: one.interval for row, one in changes.items() if one.interval}
        held += sum(low <= truth[row] <= high for row, (low, high) in intervals.items())
        total += len(changes)
    assert 0.95 <= held / total <= 0.995


def test_one_visit_of_a_side_gives_no_verdict():
    times = np.array([[[0.0, 0.01, 1.0], [0.0, np.nan, 1.0]]])
    some = Visits(times=times, canaries=np.zeros((0, 1, 3)), old=2)
    changes, _ = judge_visits(some, POLICY, same_clock=True)
    expected = [(Verdict.UNCLEAR, 1, 0.995), (Verdict.UNCLEAR, 1, 1.0)]
    assert [(one.verdict, one.visits, one.log_ratio) for one in changes] == expected
    assert all(one.interval is None for one in changes)
    assert changes[0].ratio == pytest.approx(math.exp(0.995))
    nothing = Visits(times=np.zeros((0, 0, 0)), canaries=np.zeros((0, 0, 0)), old=0)
    assert judge_visits(nothing, POLICY, same_clock=True)[0] == []


def test_rows_keep_their_order_where_visits_are_disturbed():
    visits = simulate(np.random.default_rng(5), Shape(problems=4, kernels=3), Machine())
    visits.canaries[0, 1, 0] += 1.0
    visits.times[1, 1, 1:3] = np.nan  # this row has only the disturbed visit
    changes, _ = judged(visits)
    assert list(changes) == [(problem, kernel) for problem in range(4) for kernel in range(3)]
    assert changes[1, 1].visits == 1
    assert changes[1, 0].visits == 2


def test_exact_times_have_verdicts():
    """An emulated device takes the same cycles in every pass."""
    times = np.zeros((2, 3, 4))
    times[0, 0, 2:] = math.log(1.05)
    changes, shift = judge_visits(
        Visits(times=times, canaries=np.zeros((0, 2, 4)), old=2), POLICY, same_clock=True
    )
    assert [one.verdict for one in changes] == [Verdict.SLOWER, *[Verdict.SAME] * 5]
    assert shift.log_ratio == 0.0 and not shift.unexplained


def test_more_passes_settle_what_is_unclear():
    shape = Shape(problems=10, kernels=10)
    size = np.full(shape.rows, math.log(1.045))
    before, _ = judged(simulate(np.random.default_rng(6), shape, Machine(), size))
    needed = [one.passes_needed for one in before.values() if one.verdict is Verdict.UNCLEAR]
    assert needed and all(one is None or 3 < one <= MOST_PASSES for one in needed)
    middle = int(np.median([one or MOST_PASSES for one in needed]))
    after, _ = judged(
        simulate(np.random.default_rng(7), replace(shape, old=middle, new=middle), Machine(), size)
    )
    settled = sum(one.verdict is not Verdict.UNCLEAR for one in after.values())
    assert settled >= len(after) / 2


def test_pairs_have_verdicts():
    slower, same, unclear, faster, one = judge_pairs(
        [
            [0.10, 0.11, 0.09, 0.10, 0.105],
            [0.001, -0.001, 0.002, 0.0],
            [0.5, -0.4, 0.3, 0.0],
            [-0.20, -0.19, -0.20, -0.21],
            [0.4],
        ],
        POLICY,
    )
    assert [row.verdict for row in (slower, same, unclear, faster, one)] == [
        Verdict.SLOWER,
        Verdict.SAME,
        Verdict.UNCLEAR,
        Verdict.FASTER,
        Verdict.UNCLEAR,
    ]
    assert (one.visits, one.interval, one.error) == (1, None, None)
    assert slower.visits == 5
    assert slower.ratio == pytest.approx(math.exp(0.101))
    expected = scipy.stats.t.interval(0.95, 4, 0.101, scipy.stats.sem([0.10, 0.11, 0.09, 0.10, 0.105]))
    assert slower.interval == pytest.approx(expected, abs=1e-5)
    test = scipy.stats.ttest_1samp([0.10, 0.11, 0.09, 0.10, 0.105], math.log(1.02), alternative="greater")
    assert slower.p_value == pytest.approx(2 * test.pvalue, rel=1e-2)


def test_a_single_pair_is_no_evidence_for_another_row():
    pairs = [0.03, 0.019]
    p_value = 2 * scipy.stats.ttest_1samp(pairs, math.log(1.02), alternative="greater").pvalue
    assert 0.45 < p_value < 0.9, "at this rate one of two tests does not pass, and both would"
    _, row = judge_pairs([[0.4], pairs], ChangePolicy(false_discovery_rate=0.9))
    assert row.verdict is Verdict.UNCLEAR


@pytest.mark.parametrize(("needed", "said"), [(99, 99), (100, 100), (101, None)])
def test_no_more_than_a_hundred_passes_are_asked_for(needed, said):
    scatter = np.array([-0.004, 0.0, 0.004])
    (still,) = judge_pairs([scatter], POLICY)
    room = quick_t_quantile(POLICY.confidence, 2 * 3) * still.error * math.sqrt(3 / (needed - 0.5))
    (row,) = judge_pairs([scatter + math.log(1.02) - room], POLICY)
    assert (row.verdict, row.passes_needed) == (Verdict.UNCLEAR, said)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from([0.001, 0.02, 0.2]))
def test_the_rate_of_false_discoveries_is_scipys(p_values, rate):
    kept = kept_by_rate(np.array(p_values), np.ones(len(p_values), bool), rate)
    adjusted = scipy.stats.false_discovery_control(p_values, method="bh")
    for one, p_value in zip(kept, adjusted, strict=True):
        if not math.isclose(p_value, rate, rel_tol=1e-9):
            assert one == (p_value <= rate)


def test_what_is_not_tested_counts_for_nothing():
    tested = np.array([True, False, False])
    assert kept_by_rate(np.array([0.02, 0.0, 1.0]), tested, 0.02).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("count", "old", "number"), [(4, 2, 2), (6, 3, 9), (7, 2, 20), (10, 5, 40), (24, 11, 40)]
)
def test_other_splits(count, old, number):
    found = splits(count, old, seed=0)
    assert len(found) == number
    ways = {frozenset((frozenset(one.tolist()), frozenset(other.tolist()))) for one, other in found}
    assert len(ways) == number, "each way once"
    for one, other in found:
        assert (len(one), sorted([*one, *other])) == (old, list(range(count)))
        assert one.tolist() != list(range(old))
