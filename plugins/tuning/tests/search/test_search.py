"""Searches in recorded measurements: what they propose, when they end, and how well they do."""

from dataclasses import replace

import numpy as np
import pytest

from ckprof.errors import PluginError, UsageError
from ckprof.model.outcome import Outcome, Status
from ckprof.model.ranking import kernel_time, ranking
from ckprof.model.ranking import time_of as time_of_outcome
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof.testing.plugins import Registering
from ckprof_plugins.tuning.options import SearchOptions
from ckprof_plugins.tuning.search.acquisition import Posterior, improvement
from ckprof_plugins.tuning.search.loop import TuneLoop, TuneStop
from ckprof_plugins.tuning.search.model_search import best_batch
from ckprof_plugins.tuning.search.observations import Costs, Observations, Pair, SearchKernel, SearchSpace
from ckprof_plugins.tuning.search.result import tune_result
from ckprof_plugins.tuning.search.strategy import StrategySearch
from ckprof_plugins.tuning.strategies import STRATEGIES, SearchStrategy
from ckprof_plugins.tuning.time_model.selector import Selector
from ckprof_plugins.tuning.tune_report import tune_values
from ckprof_plugins.tuning.tuning import ReplayBench, replay_space
from plugins.tuning.tests.search.conftest import counted, exhaustive_s, replay, request_for, table_of, time_of
from plugins.tuning.tests.sizes import forward_sizes
from tests.measured import Made, attempts, problems


def small_space(count=3, kernels=4):
    return SearchSpace(
        problems=tuple(problems(count)),
        counts=(1,) * count,
        kernels=tuple(SearchKernel(key=f"k{i}", name=f"k{i}", traits=None) for i in range(kernels)),
        choices=tuple((i, 1) for i in range(kernels)),
    )


def batch_of(draws, observations, pending=None):
    """Return the next batch where all choices of all problems are promising."""
    _, count, kernels = draws.shape
    posterior = Posterior(
        choices=np.tile(np.arange(kernels), (count, 1)),
        mean=draws.mean(axis=0),
        draws=draws,
        pending=np.zeros((count, kernels), dtype=bool) if pending is None else pending,
        promising=np.ones(count),
        better=np.ones(count),
        gain=np.ones(count),
    )
    return best_batch(posterior, np.ones(count), observations, worth=0.01, least=0.0)


# --- batches ----------------------------------------------------------------------------------------------


def test_a_kernel_that_serves_many_problems_is_built_first():
    space = small_space()
    observations = Observations(space, Costs(start_s=0.0, kernel_s=10.0, visit_s=0.1))
    for problem in range(3):
        observations.note(Pair(problem, 0), time_of(100.0))
    observations.built[0] = True
    draws = np.full((1, 3, 4), np.log(100.0))
    draws[0, :, 1] = np.log(90.0)  # 10 % on every problem
    draws[0, 2, 2] = np.log(85.0)  # more, but on one problem alone
    batch = batch_of(draws, observations)
    assert batch == [Pair(0, 1), Pair(1, 1), Pair(2, 1)]


def test_what_is_built_is_measured_before_anything_is_compiled():
    observations = Observations(small_space(), Costs(start_s=0.0, kernel_s=10.0, visit_s=0.1))
    for problem in range(3):
        observations.note(Pair(problem, 0), time_of(100.0))
    observations.built[[0, 3]] = True
    draws = np.full((1, 3, 4), np.log(100.0))
    draws[0, :, 1] = np.log(90.0)
    draws[0, 1, 3] = np.log(97.0)
    assert batch_of(draws, observations) == [Pair(1, 3)]


def test_compilers_that_are_idle_take_further_kernels_but_not_twins():
    draws = np.full((2, 3, 4), np.log(100.0))
    draws[:, :, 1] = np.log([[90.0], [99.0]])  # two kernels that are alike in every draw ...
    draws[:, :, 2] = draws[:, :, 1]
    draws[:, :, 3] = np.log([[99.0], [92.0]])  # ... and one that is good where they are not
    batches = []
    for jobs in (1, 2):
        costs = Costs(start_s=0.0, kernel_s=10.0, jobs=jobs, visit_s=0.1)
        observations = Observations(small_space(), costs)
        for problem in range(3):
            observations.note(Pair(problem, 0), time_of(100.0))
        observations.built[0] = True
        batches.append({pair.choice for pair in batch_of(draws, observations)})
    assert batches == [{1}, {1, 3}]


def test_nothing_to_gain_is_nothing_to_do():
    observations = Observations(small_space())
    for problem in range(3):
        observations.note(Pair(problem, 0), time_of(50.0))
    assert batch_of(np.full((4, 3, 4), np.log(60.0)), observations) == []


def test_improvements_are_counted_in_draws():
    draws = np.log(np.array([[[90.0, 99.0]], [[99.0, 97.0]], [[101.0, 99.0]], [[110.0, 120.0]]]))
    better, gain = improvement(draws, np.log([100.0]), 0.02)
    assert better == [0.5]
    assert gain == pytest.approx((0.10 + 0.03 + 0.01 + 0.0) / 4)
    assert improvement(draws, np.array([np.inf]), 0.02) == ([1.0], [1.0])
    assert improvement(np.full((4, 1, 2), np.inf), np.log([100.0]), 0.02) == ([0.0], [0.0])


# --- searches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["random", "exhaustive"])
def test_plain_strategies_find_everything(strategies, few, name):
    found = replay(strategies, few, name, seed=3)
    assert found.stop is TuneStop.SETTLED
    assert found.loop.observations.measured.sum() == len(few.times)
    assert found.bench.seconds() == pytest.approx(exhaustive_s(found.bench))
    assert found.efficiency.min() == pytest.approx(1.0)


def test_the_model_needs_a_fraction(strategies, few):
    costs = counted(build_s=1.0, visit_s=1.0)
    found = replay(strategies, few, costs=costs, tie=0.01)
    assert found.stop is TuneStop.SETTLED
    assert found.efficiency.mean() >= 0.97
    assert found.bench.seconds() < 0.5 * exhaustive_s(found.bench)
    again = replay(strategies, few, costs=costs, tie=0.01)
    assert [one.best_us for one in again.loop.progress] == [one.best_us for one in found.loop.progress]


def test_three_measurements_of_thirty_after_training_on_other_problems(strategies, trained):
    """The goal: 99 % of the best on the published timings, trained on the other file alone."""
    table = table_of("gfx950_fwd_bf16_30kernels_even")
    limits = {"most_measurements": 3 * len(table.problems)}
    found = replay(
        strategies, table, model=trained, limits=limits, costs=counted(build_s=0, visit_s=1), tie=0.005
    )
    assert found.loop.observations.measured.sum() <= 3 * len(table.problems)
    assert found.efficiency.mean() >= 0.99


@pytest.mark.thorough
def test_few_measurements_find_no_less_than_the_first_choices_of_the_model(strategies, trained):
    table = table_of("gfx950_fwd_bf16_30kernels_even")
    selector = Selector(trained, table.kernels, forward_sizes)
    rows = table.rows
    ranked = [
        selector.rank(problem, supported=lambda name, splits, row=row: (name, splits) in row, distinct=True)
        for problem, row in zip(table.problems, rows, strict=True)
    ]
    for count in (1, 2, 3, 4):
        limits = {"most_measurements": count * len(table.problems)}
        costs = counted(build_s=0, visit_s=1)
        found = replay(strategies, table, model=trained, limits=limits, costs=costs, tie=0.02)
        first = [
            min(row.values()) / min(row[one.kernel, one.splits] for one in best[:count])
            for row, best in zip(rows, ranked, strict=True)
        ]
        # where an order of kernels is as good as another, a search ends with either
        assert found.efficiency.mean() >= np.mean(first) - 1e-4


def test_the_budget_ends_a_search(strategies, few):
    costs = counted(build_s=5.0, visit_s=0.5)
    found = replay(strategies, few, "random", costs=costs, limits={"budget_s": 60.0})
    assert found.stop is TuneStop.BUDGET
    # the last build may end after it, nothing is measured after it
    assert found.bench.seconds() < 60 + 5 * len(few.kernels)


def test_a_stop_is_heeded_between_batches(strategies, few):
    asked = iter([False, False, False, True, True, True])
    found = replay(strategies, few, limits={"should_stop": lambda: next(asked)})
    assert found.stop is TuneStop.REQUESTED
    assert len(found.loop.progress) == 1


def test_occurrences_decide_which_problem_is_improved(strategies, few):
    rare, common = few.problems[0], few.problems[1]
    table = few.subset((0, 1))
    space = replay_space(table, {common: 1000})
    assert space.counts == (1, 1000) and space.weighted
    request = replace(request_for(table), space=space)
    bench = ReplayBench(table, space, counted(build_s=0.0, visit_s=1.0))
    observations = bench.observations()
    for problem in range(2):
        observations.note(Pair(problem, 0), time_of(1e6))
    batch = StrategySearch(strategies, "model", request).propose(observations)
    assert batch[0].problem == 1
    assert rare != common


class Stubborn:
    """A bench whose kernels support nothing but what is said, and of which one does not compile."""

    overlaps = False
    visits = 1

    def __init__(self, space):
        self.space, self.now = space, 0.0

    def confirm(self, pairs, most_s):
        assert not pairs, "one visit is enough here"
        return ()

    def seconds(self):
        return self.now

    def unsupported(self, pairs):
        return [pair for pair in pairs if pair.choice == 1]

    def begin_build(self, kernels):
        self.building = kernels

    def build_is_over(self):
        return True

    def abandon_build(self):
        pass

    def end_build(self, costs):
        kernels = self.building
        self.now += len(kernels)
        costs.saw_build(len(kernels), len(kernels))
        return {2: "it cannot be built: no such instruction"} if 2 in kernels else {}

    def measure(self, pairs, most_s):
        assert not {pair.choice for pair in pairs} & {1, 2}
        for pair in pairs:
            yield pair, None if pair == Pair(0, 3) else time_of(10.0 + pair.choice)


def test_what_is_unsupported_or_broken_leaves_and_is_reported(strategies):
    request = replace(request_for(table_of("gfx950_fwd_bf16_30kernels_even")), space=small_space())
    loop = TuneLoop(Observations(request.space), Stubborn(request.space), SearchOptions())
    stop = loop.run(StrategySearch(strategies, "exhaustive", request))
    result = tune_result(loop, request.forecaster, stop)
    assert stop is TuneStop.SETTLED
    assert [one.kernel for one in result.best] == ["k0"] * 3
    assert [one.measured for one in result.best] == [1, 2, 2]
    assert result.unbuilt == {
        "k1": "it supports none of the problems",
        "k2": "it cannot be built: no such instruction",
    }
    assert result.chosen == ("k0",)


class Recorded(Stubborn):
    """A bench that has measured everything in several rounds."""

    def __init__(self, space, times):
        super().__init__(space)
        self.times = times

    def unsupported(self, pairs):
        return ()

    def end_build(self, costs):
        costs.saw_build(len(self.building), 1.0)
        return {}

    def measure(self, pairs, most_s):
        for pair in pairs:
            yield pair, self.times[pair]


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
def test_the_best_its_time_and_its_ties_are_those_of_every_report(strategies, noise):
    """What a search says of rounds is what the ranking of the core says, which tables and reports show."""
    made = list(attempts(Made(problems=3, instances=4, rounds=6, processes=2, noise=noise)))
    space = small_space()
    keys = sorted({one.key.kernel.instance for one in made})
    measured = {}
    for one in made:
        pair = Pair(space.problems.index(one.key.problem), keys.index(one.key.kernel.instance))
        measured.setdefault(pair, []).append(one)
    rounds = {pair: tuple(filter(None, (one.round_time for one in of))) for pair, of in measured.items()}
    request = replace(request_for(table_of("gfx950_fwd_bf16_30kernels_even")), space=space)
    bench = Recorded(space, {pair: kernel_time(of) for pair, of in rounds.items()})
    loop = TuneLoop(Observations(space), bench, SearchOptions())
    stop = loop.run(StrategySearch(strategies, "exhaustive", request))
    result = tune_result(loop, request.forecaster, stop)
    for number, said in enumerate(tune_values(result)["problems"]):
        outcomes = [
            Outcome(
                key=f"k{pair.choice}",
                problem_index=number,
                status=Status.OK,
                split_k=1,
                measurement=of[-1].measurement,
                verification=of[-1].verification,
                rounds=rounds[pair],
            )
            for pair, of in measured.items()
            if pair.problem == number
        ]
        ranked = ranking(outcomes, {f"k{choice}": choice for choice in range(4)})
        best = time_of_outcome(ranked[0].outcome)
        assert best is not None
        assert said["kernel"] == ranked[0].outcome.key
        assert said["time_us"] == pytest.approx(1000 * best.time_ms)
        assert said["tied"] == sum(one.tied for one in ranked)


def test_what_an_earlier_session_left_unconfirmed_is_built_and_confirmed(strategies):
    space = small_space()
    request = replace(request_for(table_of("gfx950_fwd_bf16_30kernels_even")), space=space)
    observations = Observations(space)
    for problem in range(3):
        for choice, time_us in enumerate((10.0, 10.5, 20.0, 9.0 if problem else 30.0)):
            observations.note(Pair(problem, choice), time_of(time_us))
    again = {pair: time_of(8.0) for pair in map(Pair._make, np.ndindex(3, 4))}
    bench = Recorded(space, again)
    bench.visits, confirmed = 3, []
    bench.confirm = lambda pairs, most_s: [
        (pair, again[pair]) for pair in pairs if confirmed.append(pair) is None
    ]
    TuneLoop(observations, bench, SearchOptions()).run(StrategySearch(strategies, "exhaustive", request))
    # within 10 % of the best of each problem
    assert set(confirmed) == {(0, 0), (0, 1), (1, 3), (2, 3)}
    assert observations.built.tolist() == [True, True, False, True]
    assert np.exp(observations.log_us[1, 3]) == pytest.approx(8.0)


@pytest.mark.thorough
def test_going_on_measures_nothing_twice(strategies, few):
    request = request_for(few)
    bench = ReplayBench(few, request.space, counted())
    observations = bench.observations()
    TuneLoop(observations, bench, SearchOptions(most_measurements=40)).run(
        StrategySearch(strategies, "model", request)
    )
    known = observations.measured.copy()
    asked = []
    measure = bench.measure
    bench.measure = lambda pairs, most_s: (asked.extend(pairs), measure(pairs, most_s))[1]
    TuneLoop(observations, bench, SearchOptions()).run(StrategySearch(strategies, "model", request))
    assert asked and not any(known[pair] for pair in asked)


# --- the plugin point -------------------------------------------------------------------------------------


def strategies_of(*plugins):
    """What plugins provide that register these lists."""
    manager = PluginManager()
    manager.register(Registering(STRATEGIES), "kinds")
    for number, registered in enumerate(plugins):
        manager.register(Registering(*registered), f"plugin{number}")
    return Registry(manager).entries(STRATEGIES)


class _Fixed:
    def __init__(self, batch):
        self._batch = batch

    def propose(self, observations):
        return self._batch(observations)


def fixed(name, batch):
    return SearchStrategy(id=name, label="", start=lambda request: _Fixed(batch))


def test_a_strategy_of_a_plugin_searches(few):
    found = strategies_of([fixed("first", lambda observations: [])])
    assert found.ids == ("first",)
    assert replay(found, few, "first").stop is TuneStop.SETTLED


def test_bad_strategies_are_reported(few):
    def fails(observations):
        raise ZeroDivisionError("oh")

    strategies = strategies_of([fixed("a", fails), fixed("b", lambda k: [Pair(99, 0)])])
    with pytest.raises(
        PluginError, match=r"plugin0: strategy 'a': start\(\): propose raised ZeroDivisionError: oh"
    ):
        replay(strategies, few, "a")
    with pytest.raises(PluginError, match="plugin0: strategy 'b' proposes problem 99"):
        replay(strategies, few, "b")
    with pytest.raises(UsageError, match="unknown strategy 'c'"):
        replay(strategies, few, "c")
    with pytest.raises(PluginError, match="plugin0: ckprof_register: added an object of type int"):
        strategies_of([3])
    with pytest.raises(PluginError, match="plugin0 and plugin1"):
        strategies_of([fixed("a", fails)], [fixed("a", fails)])


def test_optuna_is_a_strategy_or_says_what_is_missing(strategies, few):
    table = few.subset((0, 1))
    try:
        import optuna  # noqa: F401
    except ImportError:
        with pytest.raises(UsageError, match=r"pip install 'ckprof\[tune\]'"):
            replay(strategies, table, "optuna")
        return
    found = replay(strategies, table, "optuna", limits={"most_measurements": 20})
    assert found.loop.observations.measured.sum() == 20
