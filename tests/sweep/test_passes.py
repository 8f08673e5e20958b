"""Each pass is a worker process that goes once over all problems, and the store knows which measured what."""

from __future__ import annotations

import random
from argparse import Namespace
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from ckprof.cli.fields import chosen
from ckprof.errors import UsageError
from ckprof.measure.rounds import RoundOptions
from ckprof.model.outcome import Status
from ckprof.store.attempt import PROCESS, Mark
from ckprof.store.store import Store
from ckprof.sweep.requests import RoundRunOptions
from ckprof.sweep.sweep import Stop, Watch

from .bench import SimulatedBench, make_kernels, make_problems
from .test_sweep import sweep


def rounds_of_processes(path):
    """Return problem -> worker process -> rounds that it took."""
    found = defaultdict(lambda: defaultdict(set))
    with Store(path) as store:
        for one in store:
            process = (one.session.uid, one.conditions.extra[PROCESS])
            assert one.round_time is None or one.round_time.process == "{}/{}".format(*process)
            found[one.key.problem][process].add(one.conditions.round)
    return found


def test_every_pass_goes_once_over_all_problems(tmp_path):
    path = tmp_path / "results.db"
    rounds = RoundOptions(passes=4, max_rounds=12, exhaustive=True, max_repeats=0)
    bench = SimulatedBench()
    problems = make_problems(2)
    _, summary = sweep(path, bench, make_kernels(5), problems, rounds=rounds)
    assert bench.opened == problems * 4
    for taken in rounds_of_processes(path).values():
        assert [len(rounds) for rounds in taken.values()] == [3, 3, 3, 3]
    assert summary.passes == bench.processes == 4
    with Store(path) as store:
        assert {one.conditions.extra[PROCESS] for one in store} == set(range(4))


def test_leaders_have_enough_passes_however_soon_their_order_is_known(tmp_path):
    path = tmp_path / "results.db"
    sweep(path, SimulatedBench(noise=1e-4), make_kernels(8), make_problems(3), rounds=RoundOptions(passes=5))
    assert all(len(taken) >= 5 for taken in rounds_of_processes(path).values())


class DriftingBench(SimulatedBench):
    """A machine that becomes slower by half in the middle of some rounds."""

    def __init__(self, *rounds):
        super().__init__(noise=1e-3)
        self.rounds = rounds

    def measure(self, planned, visit):
        outcome = super().measure(planned, visit)
        if visit.round not in self.rounds or visit.order == 0:
            return outcome
        timing = outcome.measurement
        changed = {name: 1.5 * getattr(timing, name) for name in ("time_ms", "min_ms", "mean_ms")}
        samples = tuple(1.5 * sample for sample in timing.samples_ms)
        return replace(outcome, measurement=replace(timing, **changed, samples_ms=samples))


@pytest.mark.parametrize("drifting", [(2,), (2, 3), (2, 4)])
def test_a_round_that_drifted_is_repeated_in_its_own_visit(tmp_path, drifting):
    path, kernels, problems = tmp_path / "results.db", make_kernels(4), make_problems(1)
    rounds = RoundOptions(passes=3, min_rounds=3, max_rounds=3, exhaustive=True)
    _, summary = sweep(path, DriftingBench(*drifting), kernels, problems, rounds=rounds)
    assert summary.drifted_rounds == len(drifting) and summary.rounds == 3 + len(drifting)
    assert all(len(processes) == 3 for processes in processes_of_leaders(path).values())
    _, summary = sweep(path, SimulatedBench(), kernels, problems, session=1, rounds=rounds)
    assert summary.attempts == 0, "all processes that were asked for have measured"


def processes_of_leaders(path):
    """Return problem -> processes of its best kernel, in rounds that count."""
    with Store(path) as store:
        best = {one.key.problem: one.key.kernel.instance for one in store.best()}
        found = defaultdict(set)
        for one in store:
            if best[one.key.problem] == one.key.kernel.instance and Mark.DRIFT not in one.marks:
                found[one.key.problem].add((one.session.uid, one.conditions.extra[PROCESS]))
    return found


@pytest.mark.parametrize("rounds", [{}, {"max_rounds": 3}, {"max_rounds": 4, "exhaustive": True}])
def test_what_one_pass_measured_is_measured_in_others(tmp_path, rounds):
    path, kernels, problems = tmp_path / "results.db", make_kernels(6), make_problems(2)
    sweep(path, SimulatedBench(), kernels, problems, rounds=RoundOptions(**rounds, passes=1))
    assert all(len(taken) == 1 for taken in rounds_of_processes(path).values())
    spread = RoundOptions(**rounds, passes=3)
    _, summary = sweep(path, SimulatedBench(), kernels, problems, session=1, rounds=spread)
    assert summary.rounds - summary.drifted_rounds == 4, "two more passes over both problems, a round each"
    assert all(len(processes) >= 3 for processes in processes_of_leaders(path).values())
    _, summary = sweep(path, SimulatedBench(), kernels, problems, session=2, rounds=spread)
    assert summary.attempts == 0


@pytest.mark.parametrize("seed", range(4))
def test_stopped_sweeps_go_on_in_new_passes(tmp_path, seed):
    path, kernels, problems = tmp_path / "results.db", make_kernels(6), make_problems(2)
    chance, rounds = random.Random(seed), RoundOptions(passes=4)
    for session in range(200):
        limit, count = chance.randrange(1, 25), iter(range(1000))
        watch = Watch(should_stop=lambda count=count, limit=limit: next(count) >= limit)
        bench = SimulatedBench(seed=session)
        _, summary = sweep(path, bench, kernels, problems, session=session, watch=watch, rounds=rounds)
        if summary.stop is Stop.DONE:
            break
    assert summary.stop is Stop.DONE
    assert all(len(processes) >= 4 for processes in processes_of_leaders(path).values())


def test_what_cannot_be_ranked_takes_no_further_pass(tmp_path):
    path, kernels = tmp_path / "results.db", make_kernels(2)
    failing = {one.name: Status.RUN_ERROR for one in kernels}
    bench = SimulatedBench(failing=failing)
    sweep(path, bench, kernels, make_problems(1), rounds=RoundOptions(passes=3))
    _, summary = sweep(path, bench, kernels, make_problems(1), session=1, rounds=RoundOptions(passes=3))
    assert bench.processes == 1 and summary.attempts == 0
    with Store(tmp_path / "results.db") as store:
        assert Counter(one.status for one in store) == {Status.RUN_ERROR: 2}


def test_a_sweep_has_no_more_passes_than_rounds() -> None:
    assert chosen(Namespace(passes=8, max_rounds=12), RoundOptions).least_passes == 8
    assert chosen(Namespace(passes=20), RoundOptions).least_passes == 10
    chosen(Namespace(passes=8, max_rounds=12), RoundRunOptions)
    with pytest.raises(UsageError, match="passes is 0, expected at least 1"):
        chosen(Namespace(passes=0), RoundOptions)
