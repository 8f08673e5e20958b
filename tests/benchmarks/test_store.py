"""The result store: an outcome appended, and a million of them.

Goals: at most 1 ms per outcome, on the disk; with 1,000,000 outcomes the best per problem in at most 1 s, and
at most 400 bytes per outcome without raw samples.
"""

from dataclasses import replace

import pytest

from ckprof.store.shard import ShardWriter
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.store.samples import make_attempt, make_problem

OUTCOMES = 1_000_000
KERNELS = 300


@pytest.mark.parametrize("writer", [StoreWriter, ShardWriter])
def test_appending_an_outcome(benchmark, tmp_path, writer):
    numbers = iter(range(10**9))

    def following():
        number = next(numbers)
        return (make_attempt(number % KERNELS, number, problem=make_problem(1 + number // KERNELS)),), {}

    with writer(tmp_path / "results") as out:
        benchmark.pedantic(out.append, setup=following, rounds=2_000)


def outcomes(rounds):
    """Yield a million outcomes of 300 kernels, each measured in that many rounds on a problem."""
    kernels = [make_attempt(number) for number in range(KERNELS)]
    number = 0
    while True:
        problem = make_problem(1 + number // (KERNELS * rounds))
        keys = [replace(one.key, problem=problem) for one in kernels]
        for turn in range(1, rounds + 1):
            for order, one in enumerate(kernels):
                if number == OUTCOMES:
                    return
                time_ms = 1 + (number * 7919 % 1000) / 100
                timing = replace(one.measurement, time_ms=time_ms, min_ms=time_ms, samples_ms=())
                seen = replace(one.conditions, round=turn, order=order, wall_s=0.1, load=1.5)
                yield replace(one, key=keys[order], sequence=number, measurement=timing, conditions=seen)
                number += 1


@pytest.mark.parametrize("rounds", [1, 5])
def test_the_best_of_a_million(benchmark, tmp_path, rounds):
    path = tmp_path / "results.db"
    with StoreWriter(path) as writer:
        assert writer.append_many(outcomes(rounds)) == OUTCOMES
    benchmark.extra_info["bytes per outcome"] = path.stat().st_size / OUTCOMES
    with Store(path) as store:
        best = benchmark.pedantic(store.best, rounds=5)
    assert len(best) == -(-OUTCOMES // (KERNELS * rounds))
    assert path.stat().st_size / OUTCOMES <= 400
