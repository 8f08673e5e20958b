"""Searches in recorded measurements, shared by the tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from ckprof.model.outcome import RoundTime
from ckprof.model.ranking import kernel_time
from ckprof.model.types import DataType
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.options import ReplayOptions, SearchOptions
from ckprof_plugins.tuning.search.guarantee import GuaranteedSearch
from ckprof_plugins.tuning.search.loop import TuneLoop
from ckprof_plugins.tuning.search.strategy import SearchRequest, StrategySearch
from ckprof_plugins.tuning.strategies import STRATEGIES
from ckprof_plugins.tuning.tuning import ReplayBench, replay_space
from plugins.tuning.tests.sizes import forward_sizes
from plugins.tuning.tests.time_model.conftest import fitted
from tests.places import TESTS

MEASURED = TESTS / "data" / "measured"


def time_of(time_us):
    """Return the time of a kernel that was measured once."""
    return kernel_time([RoundTime(time_ms=time_us / 1000, spread_ms=0.0)])


def counted(**seconds):
    """Return what is counted for builds and measurements."""
    return ReplayOptions(files=(), direction="fwd", dtype=DataType.BF16, **seconds)


def table_of(name):
    return read_csv(MEASURED / f"{name}.csv", traits_of_name, (ConvProblem,)).without_glitches()


@pytest.fixture(scope="session")
def few():
    """24 problems x 30 kernels."""
    return table_of("gfx950_fwd_bf16_30kernels_even").subset(tuple(range(0, 72, 3)))


@pytest.fixture(scope="session")
def trained():
    """A model of times of other problems."""
    return fitted(table_of("gfx950_fwd_bf16_20kernels"))


def all_strategies():
    manager = PluginManager()
    manager.load_all()
    return Registry(manager).entries(STRATEGIES)


@pytest.fixture(scope="session")
def strategies():
    return all_strategies()


def best_us(bench):
    """Return the least time of each problem."""
    return np.where(bench.possible, bench._times, np.inf).min(axis=1)


def exhaustive_s(bench):
    """Return the seconds of building everything in one build, and measuring it once afterwards."""
    costs = bench._costs
    return costs.build_s(len(bench._space.kernels)) + costs.visit_s * int(bench.possible.sum())


@dataclass
class Replayed:
    loop: TuneLoop
    bench: ReplayBench
    stop: object
    request: SearchRequest

    @property
    def efficiency(self):
        return best_us(self.bench) / np.exp(self.loop.observations.best_log_us)


def request_for(table, **changes):
    values = {"gemm_sizes": forward_sizes, "element_bytes": 2, "compute_units": 256}
    return SearchRequest(space=replay_space(table), **{**values, **changes})


def replay(strategies, table, name="model", *, costs=None, limits=None, kept=None, **changes):
    """Search a table; with ``kept`` kernels in the library, as a whole command does."""
    request = request_for(table, **changes)
    bench = ReplayBench(table, request.space, costs or counted())
    options = SearchOptions(kernels=kept, tie=request.tie, **(limits or {}))
    loop = TuneLoop(bench.observations(), bench, options)
    search = StrategySearch(strategies, name, request)
    if kept is not None:
        search = GuaranteedSearch(search, request.forecaster, options)
    return Replayed(loop, bench, loop.run(search), request)
