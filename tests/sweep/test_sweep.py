"""Sweeps over simulated kernels: everything is stored, nothing twice, and the same call goes on."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ckprof.compare.side import side_of
from ckprof.errors import ToolchainError
from ckprof.events import Level
from ckprof.model.device import Reading
from ckprof.model.outcome import Status
from ckprof.store.attempt import MOST_DEVICES_LOST, Mark, Session
from ckprof.store.maintenance import check
from ckprof.store.shard import ShardWriter, merge
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep.plan import describe, given_up_lines
from ckprof.sweep.recording import Recorder
from ckprof.sweep.requests import SweepProgress
from ckprof.sweep.sweep import Stop, Sweep, Watch
from tests.store.samples import make_session

from .bench import SHARED, SimulatedBench, make_kernels, make_problems, noting, plan_for


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


def sweep(path, bench, kernels, problems, *, session=0, watch=None, **changes):
    with StoreWriter(path) as writer:
        plan = plan_for(kernels, problems, writer.reader.past_visits, **changes)
        return plan, Sweep(
            plan, bench, Recorder(writer, make_session(session), SHARED), watch or Watch()
        ).run()


def test_every_cell_gets_an_outcome_and_the_second_call_has_nothing_to_do(path):
    kernels, problems = make_kernels(12), make_problems(4)
    bench = SimulatedBench(failing={"kernel_3": Status.WRONG_RESULT, "kernel_4": Status.UNSUPPORTED})
    plan, summary = sweep(path, bench, kernels, problems)
    assert summary.stop is Stop.DONE
    assert (plan.cells, plan.known, summary.rankings_done) == (48, 0, 4)
    assert bench.opened == [*problems, *problems, *problems], "pass after pass over all problems"
    assert summary.passes == bench.processes == 3
    with Store(path) as store:
        assert len(store) == summary.attempts == len(bench.samples)
        found = Counter((one.key.problem, one.key.kernel.instance) for one in store.measurements())
        assert found == Counter((problem, one.key) for problem in problems for one in kernels)
        best = {one.key.problem: one.key.kernel.instance for one in store.best()}
        for problem in problems:
            alive = [one.key for one in kernels if one.name not in bench.failing]
            times = {one: bench.true_ms(one, 1, problem) for one in alive}
            assert times[best[problem]] < 1.02 * min(times.values())
        assert Counter(one.status for one in store)[Status.WRONG_RESULT] == 4
    again = SimulatedBench()
    plan, summary = sweep(path, again, kernels, problems, session=1)
    assert (summary.attempts, again.opened, plan.known, plan.failed) == (0, [], 48, 8)
    assert plan.open_rankings == []
    assert check(path) == []


def test_a_store_keeps_which_second_problems_a_kernel_was_right_on(path):
    kernels, problems = make_kernels(3), make_problems(3)
    failing = {"kernel_2": Status.WRONG_RESULT}
    for number, (second, kept) in enumerate([("", ""), ("1a2b3c4d", "1a2b3c4d"), ("", "1a2b3c4d")]):
        bench = SimulatedBench(second=second, failing=failing)
        sweep(path, bench, kernels, problems[: number + 1], session=number)
        with Store(path) as store:
            again = plan_for(kernels, problems, store.past_visits)
        assert again.second == {kernel.key: kept for kernel in kernels[:2]}


def test_fresh_adds_attempts_and_deletes_none(path):
    kernels, problems = make_kernels(3), make_problems(1)
    _, first = sweep(path, SimulatedBench(), kernels, problems)
    _, second = sweep(path, SimulatedBench(), kernels, problems, session=1, fresh=True)
    with Store(path) as store:
        assert len(store) == first.attempts + second.attempts
        rounds = [{one.conditions.round for one in store if one.session.seed == seed} for seed in (0, 1)]
        assert max(rounds[0]) < min(rounds[1])


def test_failures_are_tried_again_when_asked_for(path):
    kernels, problems = make_kernels(4), make_problems(1)
    sweep(path, SimulatedBench(failing={"kernel_0": Status.RUN_ERROR}), kernels, problems)
    bench = SimulatedBench()
    sweep(path, bench, kernels, problems, session=1)
    assert bench.samples == []
    plan, _ = sweep(path, bench, kernels, problems, session=1)
    assert plan.has_failures
    plan, _ = sweep(path, bench, kernels, problems, session=2, retry_failed=True)
    assert not plan.has_failures
    assert {visit.cell.instance for _, visit in bench.samples} >= {kernels[0].key}


def test_what_was_never_launched_is_not_measured(path):
    kernels, problems = make_kernels(4), make_problems(2)
    _, summary = sweep(path, SimulatedBench(), kernels, problems[:1])
    warned = []
    watch = Watch(emit=noting(Level.WARNING, warned))
    _, summary = sweep(path, SimulatedBench(lost=True), kernels, problems, session=1, watch=watch)
    assert (summary.attempts, summary.failures) == (4, 4)
    assert warned == ["kernels cannot be launched, lost; the same command measures them again"]
    plan, summary = sweep(path, SimulatedBench(), kernels, problems, session=2)
    assert (plan.known, plan.failed) == (4, 0) and summary.failures == 0
    with Store(path) as store:
        assert [Mark.NOT_LAUNCHED in one.marks for one in store if one.status is Status.RUN_ERROR] == [
            True
        ] * 4
        assert Counter(one.status for one in store.measurements()) == {Status.OK: 8}
    _, summary = sweep(path, SimulatedBench(), kernels, problems, session=3)
    assert summary.attempts == 0


def test_sweeps_that_follow_one_another_warn_together(path):
    kernels, problems, warned = make_kernels(4), make_problems(2), []
    watch = Watch(emit=noting(Level.WARNING, warned))
    for session in (1, 2):
        _, summary = sweep(path, SimulatedBench(lost=True), kernels, problems, session=session, watch=watch)
    assert len(warned) == 1 and summary.warnings["kernels that were not launched"] == 16


def test_a_kernel_that_kills_its_device_stops_two_sweeps_not_more(path):
    kernels, problems = make_kernels(4), make_problems(2)
    bench = SimulatedBench(killing={"kernel_2"})
    for session in range(MOST_DEVICES_LOST):
        with pytest.raises(ToolchainError, match=r"the device is gone \(in use: kernel_2 on "):
            sweep(path, bench, kernels, problems[:1], session=session)
    # the other problem knows nothing of that
    with pytest.raises(ToolchainError, match="in use: kernel_2"):
        sweep(path, bench, kernels, problems, session=3)
    with Store(path) as store:
        lost = [one for one in store if one.lost_device]
        assert len(lost) == 3 and all(Mark.NOT_LAUNCHED in one.marks for one in lost)
        counts = {one.key.problem: one.devices_lost for one in store.measurements() if one.devices_lost}
        assert counts == {problems[0]: 2, problems[1]: 1}
    calm = SimulatedBench()
    plan, summary = sweep(path, calm, kernels, problems, session=4)
    assert plan.given_up == [(0, "kernel_2")] and plan.cells == 8
    assert given_up_lines(plan) == [line for line in describe(plan) if "excluded: " in line]
    assert (
        "excluded: kernel_2 on problem 0: the device failed at least 2 times while it ran"
        in given_up_lines(plan)[0]
    )
    assert summary.rankings_done == 2 and summary.failures == 0
    seen = {(problem, visit.cell.instance) for problem, visit in calm.samples}
    assert (problems[0], kernels[2].key) not in seen and (problems[1], kernels[2].key) in seen
    plan, summary = sweep(path, SimulatedBench(), kernels, problems, session=5)
    assert plan.given_up == [(0, "kernel_2")] and summary.failures == 0


@pytest.mark.parametrize("again", ["retry_failed", "fresh"])
def test_a_kernel_that_killed_devices_is_tried_again_when_asked_for(path, again):
    kernels, problems = make_kernels(3), make_problems(1)
    for session in range(2):
        with pytest.raises(ToolchainError):
            sweep(path, SimulatedBench(killing={"kernel_1"}), kernels, problems, session=session)
    plan, summary = sweep(path, SimulatedBench(), kernels, problems, session=2, **{again: True})
    assert not plan.given_up and summary.attempts
    plan, _ = sweep(path, SimulatedBench(), kernels, problems, session=3)
    assert not plan.given_up and plan.known == 3
    with Store(path) as store:
        assert not any(one.devices_lost for one in store.measurements()), "there is an outcome"


def test_all_splits_of_a_kernel_that_killed_devices_are_left_out(path):
    kernels, problems = make_kernels(2), make_problems(1)
    for session in range(2):
        with pytest.raises(ToolchainError):
            sweep(
                path, SimulatedBench(killing={"kernel_1"}), kernels, problems, session=session, splits=(1, 4)
            )
    plan, summary = sweep(path, SimulatedBench(), kernels, problems, session=2, splits=(1, 4))
    assert plan.given_up == [(0, "kernel_1")] and len(plan.rankings[0].before.given_up) == 2
    assert summary.failures == 0 and plan.rankings[0].finished


def test_what_was_never_launched_takes_no_times_away(path):
    kernels, problems = make_kernels(3), make_problems(1)
    sweep(path, SimulatedBench(), kernels, problems)
    with Store(path) as store:
        before = [(one.status, one.time_ms) for one in store.measurements()]
    sweep(path, SimulatedBench(lost=True), kernels, problems, session=1, fresh=True)
    with Store(path) as store:
        assert [(one.status, one.time_ms) for one in store.measurements()] == before
        side = side_of("x", store)
    assert [row.status for row in side.rows.values()] == [Status.OK] * 3
    assert all(row.ranked for row in side.rows.values())


def test_shards_get_the_same_outcomes(path, tmp_path):
    kernels, problems = make_kernels(8), make_problems(2)
    sweep(path, SimulatedBench(seed=4), kernels, problems)
    plan = plan_for(kernels, problems)
    with ShardWriter(tmp_path / "shards") as shard:
        Sweep(plan, SimulatedBench(seed=4), Recorder(shard, make_session(0), SHARED), Watch()).run()
    with StoreWriter(tmp_path / "merged.db") as writer:
        merge(writer, [tmp_path / "shards"])
        merged = [(one.key, one.sequence, one.marks, one.measurement) for one in writer.reader]
    with Store(path) as store:
        assert merged == [(one.key, one.sequence, one.marks, one.measurement) for one in store]


@pytest.mark.parametrize("seed", range(4))
def test_stopping_at_any_moment_and_going_on_gives_the_same_cells(path, seed):
    kernels, problems = make_kernels(9), make_problems(3)
    chance = random.Random(seed)
    session = 0
    while True:
        limit = chance.randrange(1, 25)
        count = iter(range(1000))
        watch = Watch(should_stop=lambda count=count, limit=limit: next(count) >= limit)
        _, summary = sweep(
            path, SimulatedBench(seed=session), kernels, problems, session=session, watch=watch
        )
        session += 1
        if summary.stop is Stop.DONE:
            break
        assert summary.attempts == limit
    with Store(path) as store:
        visits = Counter((one.key.problem, one.key.kernel.instance, one.conditions.round) for one in store)
        assert set(visits.values()) == {1}
        assert len(list(store.measurements())) == 27


def test_max_time_stops_at_a_boundary(path):
    clock = iter(range(10_000))
    watch = Watch(max_time_s=30, clock=lambda: next(clock))
    _, summary = sweep(path, SimulatedBench(), make_kernels(20), make_problems(2), watch=watch)
    assert summary.stop is Stop.MAX_TIME
    with Store(path) as store:
        assert 0 < len(store) == summary.attempts < 31


def test_progress_and_warnings_are_reported(path):
    seen, warned = [], []
    bench = SimulatedBench(
        failing={"kernel_1": Status.RUN_TIMEOUT},
        reading=Reading(load=9, cores=2, clock_mhz=900, base_clock_mhz=2000, other_processes=2),
    )
    progress, warning = noting(SweepProgress, seen), noting(Level.WARNING, warned)
    watch = Watch(emit=lambda event: (progress(event), warning(event)))
    _, summary = sweep(path, bench, make_kernels(6), make_problems(2), watch=watch)
    assert [one.attempts for one in seen] == list(range(1, summary.attempts + 1))
    assert seen[-1].failures == 2
    assert seen[0].left > seen[-1].left
    assert seen[-1].eta_s >= 0
    for problem in {one.last.key.problem for one in seen}:
        times = [one.best[1] for one in seen if one.best and one.last.key.problem == problem]
        assert len(times) > 3 and times == sorted(times, reverse=True)
    assert len(warned) == 3
    assert "load average is 9.0 on 2 cores" in warned[0]
    assert "900 MHz" in warned[1]
    with Store(path) as store:
        for mark in (Mark.BUSY_HOST, Mark.LOW_CLOCK, Mark.SHARED_DEVICE):
            assert all(mark in one.marks for one in store)
        assert {one.conditions.load for one in store} == {9}


#: sweeps with a slow bench until it is killed
_CHILD = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from ckprof.store.writer import StoreWriter
from ckprof.sweep.recording import Recorder
from ckprof.sweep.sweep import Sweep, Watch
from tests.store.samples import make_session
from tests.sweep.bench import SHARED, SimulatedBench, make_kernels, make_problems, plan_for
with StoreWriter(Path(sys.argv[2])) as writer:
    plan = plan_for(make_kernels(30), make_problems(8), writer.reader.past_visits)
    session = make_session(int(sys.argv[3]))
    said = lambda sample, attempt: os.write(1, b"%d\\n" % attempt.sequence)
    os.write(1, b"-1\\n")
    bench = SimulatedBench(seed=int(sys.argv[3]))
    Sweep(plan, bench, Recorder(writer, session, SHARED), Watch(on_stored=said)).run()
"""


def check_killed_sweeps(path, kills):
    """Kill the same sweep again and again, start it anew on a new store whenever it is done."""
    chance = random.Random(kills)
    said = {}
    store = path
    for number in range(kills):
        command = [sys.executable, "-c", _CHILD, str(Path(__file__).parents[2]), str(store), str(number)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout.readline() == b"-1\n"
            # however slow the machine is
            before = [child.stdout.readline() for _ in range(chance.randrange(20))]
            time.sleep(chance.uniform(0, 0.01))
            child.send_signal(signal.SIGKILL)
            output = b"".join([*before, child.stdout.read()])
            lines = [int(line) for line in output.splitlines(keepends=True) if line.endswith(b"\n")]
        said[store, make_session(number).uid] = lines[-1] if lines else -1
        if child.returncode == 0:
            store = path.with_name(f"results{number}.db")
    found = {key: [] for key in said}
    for database in {database for database, _ in said}:
        assert check(database) == []
        visits = Counter()
        with Store(database) as reader:
            for one in reader:
                found[database, one.session.uid].append(one.sequence)
                visits[one.key.problem, one.key.kernel.instance, one.conditions.round] += 1
        assert set(visits.values()) <= {1}, "an outcome was measured twice in a round"
    for key, last in said.items():
        assert found[key] == list(range(len(found[key])))
        assert last + 1 <= len(found[key]) <= last + 2
    assert sum(map(len, found.values())) > kills


def test_killed_sweeps_go_on_without_loss(path):
    check_killed_sweeps(path, 2)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_hundred_killed_sweeps_go_on_without_loss(path):
    check_killed_sweeps(path, 200)


def test_sessions_are_told_apart(path):
    kernels = make_kernels(2)
    sweep(path, SimulatedBench(), kernels, make_problems(1))
    sweep(path, SimulatedBench(), kernels, make_problems(2), session=5)
    with Store(path) as store:
        assert [one.uid for one in store.sessions()] == [make_session(0).uid, make_session(5).uid]
        assert isinstance(store.sessions()[0], Session)


def test_dropped_kernels_say_so_in_their_row(path):
    _, summary = sweep(path, SimulatedBench(), make_kernels(20), make_problems(1))
    with Store(path) as store:
        dropped = [one for one in store if Mark.DROPPED in one.marks]
        assert len(dropped) == summary.dropped > 5
        assert max(one.conditions.round for one in dropped) <= 3
        last = {one.key.kernel: one for one in store}
        assert all(last[one.key.kernel] == one for one in dropped)
