"""What a search has measured when it ends, and whether what it says of that is true."""

from dataclasses import replace

import numpy as np
import pytest

from ckprof_plugins.tuning.options import SearchOptions
from ckprof_plugins.tuning.search.acquisition import RISK
from ckprof_plugins.tuning.search.guarantee import GuaranteedSearch
from ckprof_plugins.tuning.search.loop import TuneLoop, TuneStop
from ckprof_plugins.tuning.search.observations import Pair
from ckprof_plugins.tuning.search.result import tune_result
from ckprof_plugins.tuning.search.surrogate import Surrogate
from ckprof_plugins.tuning.tuning import ReplayBench
from plugins.tuning.tests.search.conftest import counted, replay, request_for, table_of
from plugins.tuning.tests.time_model.conftest import fitted

TIE = 0.02


@pytest.fixture(scope="module")
def dozen(few):
    """12 problems x 30 kernels."""
    return few.subset(tuple(range(0, 24, 2)))


def noisy(table, seed):
    chance = np.random.default_rng(seed)
    return replace(table, times={key: us * np.exp(chance.normal(0, 0.03)) for key, us in table.times.items()})


def three_times_as_slow(table, seed):
    del seed
    return replace(table, times={key: 3 * us for key, us in table.times.items()})


def scrambled(table, seed):
    """Give each kernel the times of another one, so that no prediction of it is worth anything."""
    names = sorted(table.kernels)
    other = dict(zip(names, np.random.default_rng(seed).permutation(names).tolist(), strict=True))
    return replace(
        table,
        times={
            (index, name, splits): table.times[index, other[name], splits]
            for index, name, splits in table.times
        },
    )


def reversed_order(table, seed):
    """Make the fastest kernel of each problem the slowest."""
    del seed
    times = {}
    for index in range(len(table.problems)):
        row = table.rows[index]
        middle = np.exp(2 * np.mean(np.log(list(row.values()))))
        times.update({(index, *choice): float(middle / us) for choice, us in row.items()})
    return replace(table, times=times)


#: these searches take several times as long
LONGER = [pytest.param(change, marks=pytest.mark.thorough) for change in (noisy, scrambled)]


def shares(found):
    """Return on which share of the problems something is better by more than the tie: as said, and truly."""
    posterior = found.request.forecaster.posterior(found.loop.observations, thoroughly=True)
    said = np.mean(posterior.better)
    return float(said), float((found.efficiency < 1 / (1 + found.request.tie)).mean())


@pytest.fixture(scope="module")
def untrained(strategies, dozen):
    return replay(strategies, dozen, tie=TIE, seed=1, kept=4)


@pytest.mark.parametrize("change", [None, three_times_as_slow, reversed_order, *LONGER])
def test_settled_is_within_the_tie_on_95_percent_of_the_problems(strategies, dozen, untrained, change):
    """The promise, where the model knows nothing, or what it says is wrong."""
    found = replay(strategies, change(dozen, 1), tie=TIE, seed=1, kept=4) if change else untrained
    assert found.stop is TuneStop.SETTLED
    said, real = shares(found)
    assert said <= RISK
    # one of the 12 problems; in the mean over many searches it is 5 %
    assert real <= 1 / 12


@pytest.mark.thorough
@pytest.mark.parametrize("change", [None, *LONGER])
def test_a_trained_model_is_believed_as_far_as_it_is_right(strategies, dozen, untrained, trained, change):
    """One that is right saves measurements; others need not, but something is left out."""
    table = change(dozen, 1) if change else dozen
    found = replay(strategies, table, tie=TIE, seed=1, model=trained, kept=4)
    assert found.stop is TuneStop.SETTLED
    said, real = shares(found)
    assert said <= RISK and real <= 1 / 12
    others = len(dozen.times) if change else untrained.loop.observations.measured.sum()
    assert found.loop.observations.measured.sum() < others


@pytest.mark.slow
def test_a_trained_model_that_is_wrong_does_not_break_the_promise(strategies, dozen, trained):
    """Of 96 problems 5 % may miss it in the mean; more than 9 of them do by chance once in 50 times."""
    missed = 0
    for seed in range(1, 9):
        found = replay(strategies, scrambled(dozen, seed), tie=TIE, seed=seed, model=trained, kept=4)
        assert found.stop is TuneStop.SETTLED
        missed += int((found.efficiency < 1 / (1 + TIE)).sum())
    assert missed <= 9


def test_a_kernel_that_was_built_for_one_problem_is_measured_where_it_may_be_the_best(strategies, dozen):
    """The strategy gives up after one kernel for each problem, each the best of that one."""
    request = request_for(dozen, tie=TIE)
    bench = ReplayBench(dozen, request.space, counted())
    observations = bench.observations()
    times = np.where(bench.possible, bench._times, np.inf)

    class BestOfItsOwn:
        def propose(self, observations):
            return [
                Pair(problem, int((times[(problem + 1) % len(times)]).argmin()))
                for problem in range(len(times))
                if not observations.measured[problem].any()
            ]

    loop = TuneLoop(observations, bench, SearchOptions())
    assert (
        loop.run(GuaranteedSearch(BestOfItsOwn(), request.forecaster, SearchOptions(kernels=3, tie=TIE)))
        is TuneStop.SETTLED
    )
    tried = observations.tried[request.space.kernel_of]
    missed = np.where(tried[None] & ~observations.measured, times, np.inf).min(axis=1)
    best = np.exp(observations.best_log_us)
    assert (missed < best).sum() <= 1
    assert (missed > 0.98 * best).all()
    # it was not everything
    assert observations.measured.sum() < (np.isfinite(times) & tried[None]).sum()


@pytest.mark.thorough
def test_the_best_is_never_worse_than_the_library_that_is_kept(strategies, dozen):
    for kept in (1, 3):
        found = replay(strategies, dozen, tie=0.05, kept=kept)
        result = tune_result(found.loop, found.request.forecaster, found.stop)
        space, names = found.request.space, set(result.chosen)
        of_library = np.array([space.kernels[kernel].name in names for kernel, _ in space.choices])
        times = np.where(of_library[None] & found.bench.possible, found.bench._times, np.inf).min(axis=1)
        assert len(names) == kept
        assert (np.array([one.time_us for one in result.best]) <= times * 1.0001).all()
        assert {one.kept for one in result.best} <= names


def test_a_strategy_that_gives_up_is_not_called_settled(strategies, dozen):
    request = request_for(dozen, tie=TIE)
    bench = ReplayBench(dozen, request.space, counted())
    loop = TuneLoop(bench.observations(), bench, SearchOptions(tie=TIE))

    class GivesUp:
        def propose(self, observations):
            return []

    stop = loop.run(GuaranteedSearch(GivesUp(), request.forecaster, SearchOptions(tie=TIE)))
    result = tune_result(loop, request.forecaster, stop)
    assert result.stop is TuneStop.ENDED
    assert all(one.better == 1.0 for one in result.best)


@pytest.mark.thorough
def test_a_model_that_measurements_contradict_goes_aside_with_its_lessons(strategies, dozen, monkeypatch):
    """What was measured of other problems may be of the same mistake; nobody learns what is not believed."""
    table = table_of("gfx950_fwd_bf16_20kernels")
    transfer_data = table.subset(tuple(range(0, len(table.problems), 40)))
    learned = []
    learn = Surrogate.learn

    def noted(self, seen, *, thoroughly=False):
        learned.append((self, len(seen), thoroughly))
        learn(self, seen, thoroughly=thoroughly)

    monkeypatch.setattr(Surrogate, "learn", noted)
    model = fitted(table)
    found = replay(strategies, scrambled(dozen, 3), tie=TIE, model=model, transfer_data=transfer_data, kept=4)
    informed, of_lessons, _ = learned[0]
    believed = found.request.forecaster.surrogate
    measured = int(found.loop.observations.measured.sum())
    assert believed is not informed and of_lessons > 0
    assert max(count for one, count, _ in learned if one is believed) == measured
    assert max(count for one, count, _ in learned if one is informed) > measured
    # judged now and then, by both; in between one of them learns
    judged = [one for one, _, thoroughly in learned[1:] if thoroughly]
    assert judged.count(informed) == judged.count(believed) < len(learned) / 3
    aside = next(
        place for place, (one, _, thoroughly) in enumerate(learned) if one is believed and not thoroughly
    )
    assert all(thoroughly for one, _, thoroughly in learned[aside:] if one is informed)
