"""Searches in recorded measurements, shared by the tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ckprof.plugin.manager import PluginManager
from ckprof.selection.csv_tables import read_csv
from ckprof.selection.measurements import Measurements
from ckprof.tune.loop import TuneLimits, TuneLoop
from ckprof.tune.replay import ReplayBench, replay_space
from ckprof.tune.replay_costs import ReplayCosts
from ckprof.tune.strategies import SearchStrategies
from ckprof.tune.strategy import SearchRequest
from ckprof_plugins.directions.gemm_sizes import forward_sizes
from ckprof_plugins.pipelines._gemm.traits import traits_of_name

MEASURED = Path(__file__).parent.parent / "data" / "measured"


def table_of(name: str) -> Measurements:
    return read_csv(MEASURED / f"{name}.csv", traits_of_name).without_glitches()


@pytest.fixture(scope="session")
def few() -> Measurements:
    """24 problems x 30 kernels."""
    return table_of("gfx950_fwd_bf16_30kernels_even").subset(tuple(range(0, 72, 3)))


def all_strategies() -> SearchStrategies:
    manager = PluginManager()
    manager.load_all()
    return SearchStrategies(manager)


@pytest.fixture(scope="session")
def strategies() -> SearchStrategies:
    return all_strategies()


@dataclass
class Replayed:
    loop: TuneLoop
    bench: ReplayBench
    stop: object

    @property
    def efficiency(self) -> np.ndarray:
        return self.bench.best_us / np.exp(self.loop.knowledge.best_log_us)


def request_for(table: Measurements, **changes) -> SearchRequest:
    values = {"gemm_sizes": forward_sizes, "element_bytes": 2, "units": 256}
    return SearchRequest(space=replay_space(table), **{**values, **changes})


def replay(strategies, table, name="model", *, costs=None, limits=None, **changes) -> Replayed:
    request = request_for(table, **changes)
    bench = ReplayBench(table, request.space, costs or ReplayCosts())
    loop = TuneLoop(bench.knowledge(request.space), bench, limits or TuneLimits())
    return Replayed(loop, bench, loop.run(strategies.start(name, request)))
