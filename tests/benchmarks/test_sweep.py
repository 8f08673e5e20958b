"""Planning a sweep, going on with one, and what it adds to each outcome.

Goals: 100 problems x 300 kernels plan and resume in at most 1 s each; at most 1 ms of overhead per outcome,
storing included; dropping slow kernels saves two thirds of exhaustive rounds, with the same best.
"""

from dataclasses import replace

import pytest

from ckprof.measure.rounds import Ranking, RoundOptions
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep.recording import Recorder
from ckprof.sweep.sweep import Sweep, Watch
from tests.measure.device import SimulatedDevice, run, spread_times
from tests.store.samples import make_session
from tests.sweep.bench import SHARED, SimulatedBench, make_kernels, make_problems, plan_for

PROBLEMS = 100
KERNELS = 300


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Return the store of a finished sweep, and the milliseconds per outcome that it took."""
    path = tmp_path_factory.mktemp("swept") / "results.db"
    with StoreWriter(path) as writer:
        plan = plan_for(make_kernels(KERNELS), make_problems(PROBLEMS), writer.reader.past_visits)
        summary = Sweep(plan, SimulatedBench(), Recorder(writer, make_session(), SHARED), Watch()).run()
    return path, 1e3 * summary.wall_s / summary.attempts


def test_planning_a_new_sweep(benchmark):
    kernels, problems = make_kernels(KERNELS), make_problems(PROBLEMS)
    plan = benchmark(plan_for, kernels, problems)
    assert plan.cells == PROBLEMS * KERNELS


@pytest.mark.parametrize("built", [True, False])
def test_going_on_with_a_sweep(benchmark, swept, built):
    kernels, problems = make_kernels(KERNELS), make_problems(PROBLEMS)
    if not built:
        kernels = [replace(one, object_digest=None) for one in kernels]
    benchmark.extra_info["ms per outcome of the sweep"] = swept[1]
    with Store(swept[0]) as store:
        benchmark.extra_info["attempts"] = len(store)
        plan = benchmark.pedantic(
            plan_for, args=(kernels, problems, store.past_visits), rounds=5, warmup_rounds=1
        )
    assert not plan.open_rankings


def test_deciding_after_each_outcome(benchmark):
    """The rounds of one problem without a store; the time is that of all outcomes."""
    times = spread_times(KERNELS, 1)

    def play():
        device = SimulatedDevice(times)
        run(Ranking(list(times), RoundOptions()), device)
        return len(device.samples)

    benchmark.extra_info["outcomes"] = benchmark(play)


def test_time_saved_by_dropping_slow_kernels(benchmark):
    def savings():
        found = []
        for seed in range(20):
            times = spread_times(KERNELS, seed)
            costs = []
            for exhaustive in (False, True):
                device = SimulatedDevice(times, noise=0.02, bursts=0.02, seed=seed)
                ranking = Ranking(list(times), RoundOptions(seed=seed, exhaustive=exhaustive))
                run(ranking, device)
                assert times[ranking.best()] <= 1.02 * min(times.values())
                costs.append(device.cost_ms)
            found.append(costs[1] / costs[0])
        return found

    found = benchmark.pedantic(savings, rounds=1)
    benchmark.extra_info["least saving"] = min(found)
    assert min(found) >= 3
