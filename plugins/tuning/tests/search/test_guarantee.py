"""Blind measurements: what nobody foresees is found, or reported as often as it is to be expected."""

from dataclasses import replace

import numpy as np
import pytest

from ckprof_plugins.tuning.options import SearchOptions
from ckprof_plugins.tuning.search.guarantee import GuaranteedSearch
from ckprof_plugins.tuning.search.loop import TuneLoop, TuneStop
from ckprof_plugins.tuning.search.observations import Observations, Pair
from ckprof_plugins.tuning.search.result import tune_result
from ckprof_plugins.tuning.search.strategy import StrategySearch
from ckprof_plugins.tuning.tune_report import tune_document, tune_values
from ckprof_plugins.tuning.tuning import ReplayBench
from plugins.tuning.tests.search.conftest import best_us, counted, request_for, time_of
from plugins.tuning.tests.search.test_search import small_space

TIE = 0.02


def test_only_what_was_drawn_and_beats_the_best_of_that_moment_is_a_surprise():
    observations = Observations(small_space())
    observations.note(Pair(0, 0), time_of(10.0))
    observations.blind = {Pair(0, 1): np.log(10.0), Pair(0, 2): np.log(10.0), Pair(1, 1): np.inf}
    assert observations.surprises(TIE) == (0, 0)
    observations.note(Pair(0, 1), time_of(9.9))
    observations.note(Pair(0, 2), time_of(5.0))
    observations.note(Pair(0, 3), time_of(1.0))
    assert observations.surprises(TIE) == (2, 1)


def test_blind_measurements_without_a_surprise_lower_what_is_to_be_expected():
    observations = Observations(small_space(count=3, kernels=40))
    before = observations.unforeseen(TIE)
    # half a surprise on each problem
    assert before == pytest.approx([1 - np.exp(-0.5)] * 3)
    for choice in range(20):
        observations.blind[Pair(0, choice)] = np.log(10.0)
        observations.note(Pair(0, choice), time_of(20.0))
    after = observations.unforeseen(TIE)
    assert after[0] < after[1] == after[2] < before[1]
    observations.note(Pair(0, 3), time_of(5.0))
    assert observations.unforeseen(TIE)[1] > before[1]
    # where nothing is left, nothing can be missed
    observations.possible[2] = False
    assert observations.unforeseen(TIE)[2] == 0.0


@pytest.mark.parametrize("everywhere", [True, False])
def test_what_is_faster_than_its_kind_is_found(strategies, few, everywhere):
    """On every problem the same kernel, or on each problem others, which nothing else tells of."""
    few = few.subset(tuple(range(0, 24, 3)))
    chance, names = np.random.default_rng(1), sorted(few.kernels)
    one, times = str(chance.choice(names)), dict(few.times)
    for index in range(len(few.problems)):
        faster = [one] if everywhere else chance.choice(names, 6, replace=False).tolist()
        for kernel in faster:
            if (index, kernel, 1) in times:
                times[index, kernel, 1] /= 2.0 if everywhere else float(chance.uniform(1.4, 2.5))
    table = replace(few, times=times)
    request = request_for(table)
    bench = ReplayBench(table, request.space, counted(build_s=0.0, visit_s=1.0))
    loop = TuneLoop(bench.observations(), bench, SearchOptions())
    search = GuaranteedSearch(
        StrategySearch(strategies, "model", request), request.forecaster, SearchOptions()
    )
    result = tune_result(loop, request.forecaster, loop.run(search))
    efficiency = best_us(bench) / np.exp(loop.observations.best_log_us)
    assert result.stop is TuneStop.SETTLED
    assert (efficiency < 1 / (1 + TIE)).mean() <= 0.05
    assert sum(one.better for one in result.best) / len(result.best) <= 0.05
    # only where kinds tell nothing a search looks nearly everywhere
    assert (loop.observations.measured.sum() < 0.7 * bench.possible.sum()) == everywhere
    assert result.blind > 0
    assert tune_values(result)["blind"] == {"measured": result.blind, "surprises": result.surprises}
    line = f"{result.surprises} of {result.blind} blind measurements beat the best by more than 2 %"
    assert line in tune_document(result).text()
