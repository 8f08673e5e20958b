"""Each pass is a worker process that goes once over all problems, and the store knows which measured what."""

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
    rounds = RoundOptions(passes=4, max_rounds=12, exhaustive=True)
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


class UnsteadyBench(SimulatedBench):
    """A machine that takes half as long again for some visits, counted from 1."""

    def __init__(self, *visits):
        super().__init__(noise=1e-3)
        self.off = visits

    @property
    def _factor(self):
        return 1.5 if len(self.opened) in self.off else 1.0

    def observe(self):
        return replace(self.reading, canaries={"arithmetic": self._factor, "bandwidth": 2 * self._factor})

    def measure(self, planned, sample):
        outcome = super().measure(planned, sample)
        timing = outcome.measurement
        changed = {name: self._factor * getattr(timing, name) for name in ("time_ms", "min_ms", "mean_ms")}
        samples = tuple(self._factor * one for one in timing.samples_ms)
        return replace(outcome, measurement=replace(timing, **changed, samples_ms=samples))


# four visits say what is usual, six problems are a pass
@pytest.mark.parametrize(
    ("off", "opened", "disturbed"),
    [
        ((5,), [*range(6), 4, *range(6), *range(6)], 1),
        # the repeat is off as well
        ((5, 7), [*range(6), 4, *range(6), *range(6)], 2),
        ((9, 11), [*range(6), *range(6), 2, 4, *range(6)], 2),
    ],
)
def test_a_disturbed_visit_is_repeated_at_the_end_of_its_pass(tmp_path, off, opened, disturbed):
    path, kernels, problems = tmp_path / "results.db", make_kernels(4), make_problems(6)
    rounds = RoundOptions(min_rounds=3, max_rounds=3, exhaustive=True)
    bench = UnsteadyBench(*off)
    _, summary = sweep(path, bench, kernels, problems, rounds=rounds)
    assert [problems.index(one) for one in bench.opened] == opened
    assert (summary.passes, summary.disturbed, summary.rounds) == (3, disturbed, len(opened))
    with Store(path) as store:
        marked = [one for one in store if Mark.DISTURBED in one.marks]
        assert len(marked) == disturbed * len(kernels)
        for one in store.best():
            true_ms = bench.true_ms(one.key.kernel.instance, 1, one.key.problem)
            assert one.time_ms == pytest.approx(true_ms, rel=0.01), "what was disturbed does not count"
    _, summary = sweep(path, SimulatedBench(), kernels, problems, session=1, rounds=rounds)
    assert summary.attempts == 0, "all passes that were asked for have measured"


def processes_of_leaders(path):
    """Return problem -> processes of its best kernel, in rounds that count."""
    with Store(path) as store:
        best = {one.key.problem: one.key.kernel.instance for one in store.best()}
        found = defaultdict(set)
        for one in store:
            if best[one.key.problem] == one.key.kernel.instance and Mark.DISTURBED not in one.marks:
                found[one.key.problem].add((one.session.uid, one.conditions.extra[PROCESS]))
    return found


@pytest.mark.parametrize("rounds", [{}, {"max_rounds": 3}, {"max_rounds": 4, "exhaustive": True}])
def test_what_one_pass_measured_is_measured_in_others(tmp_path, rounds):
    path, kernels, problems = tmp_path / "results.db", make_kernels(6), make_problems(2)
    sweep(path, SimulatedBench(), kernels, problems, rounds=RoundOptions(**rounds, passes=1))
    assert all(len(taken) == 1 for taken in rounds_of_processes(path).values())
    spread = RoundOptions(**rounds, passes=3)
    _, summary = sweep(path, SimulatedBench(), kernels, problems, session=1, rounds=spread)
    assert summary.rounds == 4, "two more passes over both problems, a round each"
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


def test_a_sweep_has_no_more_passes_than_rounds():
    assert chosen(Namespace(passes=8, max_rounds=12), RoundOptions).least_passes == 8
    assert chosen(Namespace(passes=20), RoundOptions).least_passes == 10
    chosen(Namespace(passes=8, max_rounds=12), RoundRunOptions)
    with pytest.raises(UsageError, match="passes is 0, expected at least 1"):
        chosen(Namespace(passes=0), RoundOptions)
