"""Units are handed out until nothing is left, whatever happens to those who have them."""

import re
import threading
import time
from collections import Counter

import pytest

from ckprof.errors import ToolchainError
from ckprof.events import Level
from ckprof.measure.rounds import RoundOptions
from ckprof.store.attempt import Mark
from ckprof.store.key import DeviceKey
from ckprof.store.store import Store
from ckprof.sweep.sweep import Stop
from ckprof_plugins.cluster.devices import EngineProgress
from ckprof_plugins.cluster.folder import LeasePolicy, LeaseTable
from ckprof_plugins.cluster.messages import End, ReferencePolicy, Reply, decode_unit
from ckprof_plugins.cluster.units import ClusterWatch
from plugins.cluster.tests.simulated import ThreadSession, TimedBench, lose, make_runner, make_setup
from tests.sweep.bench import noting


@pytest.fixture
def setup(tmp_path):
    opened = []

    def make(name="r.db", **options):
        opened.append(make_setup(tmp_path / name, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.writer.close()


def runners_for(setup, labels="ab", **benches):
    return [make_runner(setup.job, label, setup.folder.root, bench=benches.get(label)) for label in labels]


def check_complete(path, problems, kernels):
    """Every kernel on every problem, each attempt once, and each ranking finished by one device."""
    with Store(path) as store:
        attempts = list(store)
    assert len({(one.session.uid, one.sequence) for one in attempts}) == len(attempts)
    cells = {(one.key.problem, one.key.kernel.instance) for one in attempts}
    assert len(cells) == problems * kernels
    return attempts


def test_each_worker_spreads_its_rounds_over_processes(setup, tmp_path):
    one = setup(problems=4, kernels=3, rounds=RoundOptions(passes=3, max_rounds=5))
    one.sweep(runners_for(one))
    processes = {}
    for attempt in check_complete(tmp_path / "r.db", 4, 3):
        processes.setdefault(attempt.key.problem, set()).add(attempt.round_time.process)
    assert all(len(of_problem) >= 3 for of_problem in processes.values())
    one.writer.close()
    assert not setup(problems=4, kernels=3, rounds=RoundOptions(passes=3, max_rounds=5)).units.open()


def test_every_problem_is_measured_once_and_by_one_device(setup, tmp_path):
    one = setup(problems=8, kernels=5)
    messages = []
    summary = one.sweep(runners_for(one), ClusterWatch(poll_s=0.02, emit=noting(Level.WARNING, messages)))
    assert (summary.stop, summary.rankings_done, summary.lost) == (Stop.DONE, 8, 0)
    assert [index for index, _ in summary.resolutions] == list(range(8))
    attempts = check_complete(tmp_path / "r.db", 8, 5)
    assert summary.attempts == len(attempts) == sum(device.attempts for device in summary.devices)
    devices = {}
    for attempt in attempts:
        devices.setdefault(attempt.key.problem, set()).add(attempt.session.device_id)
    assert all(len(found) == 1 for found in devices.values())
    assert messages == []


def test_a_second_coordinator_finds_nothing_left(setup, tmp_path):
    one = setup()
    session = ThreadSession(runners_for(one))
    one.coordinate(session)
    one.writer.close()
    two = setup()
    assert two.units.open() == []
    assert two.merger.merge().added == []
    summary = two.coordinate(session)
    session.close(now=True)
    assert (summary.attempts, summary.rankings_done) == (0, 6)
    assert len(summary.resolutions) == 6, "also what was finished before is decided or not"


def test_a_lost_worker_costs_no_outcome(setup, tmp_path):
    one = setup(problems=4)
    lost = Counter()

    def lose_some(worker, task):
        unit = decode_unit(task.unit)
        if not lost[unit.id] and worker == 0:
            lost[unit.id] += 1
            # half of the work
            lose(one_runners[0], task, attempts=5)

    one_runners = runners_for(one)
    summary = one.sweep(one_runners, interfere=lose_some)
    assert summary.lost == sum(lost.values()) > 0
    assert summary.rankings_done == 4
    attempts = check_complete(tmp_path / "r.db", 4, 4)
    checks = one.job.reference.samples * sum(bool(runner.bench.samples) for runner in one_runners)
    # what the lost workers had measured is there as well
    assert len(attempts) == sum(len(runner.bench.samples) for runner in one_runners) - checks


def test_a_silent_worker_loses_its_problem_to_another_one(setup, tmp_path):
    one = setup(problems=3)
    awake = threading.Event()

    def hang(worker, task):
        if worker == 0:
            awake.wait(60)
            raise ConnectionResetError("at last")
        return None

    session = ThreadSession(runners_for(one), hang)
    warnings = []
    summary = one.coordinate(
        session,
        ClusterWatch(poll_s=0.02, emit=noting(Level.WARNING, warnings)),
        leases=LeasePolicy(silence_s=0.3),
    )
    awake.set()
    session.close(now=True)
    assert summary.rankings_done == 3
    assert any("silent" in text for text in warnings)
    check_complete(tmp_path / "r.db", 3, 4)


def test_a_problem_that_ends_every_worker_is_given_up(setup):
    one = setup(problems=3)
    bad = one.units.open()[0].unit.id

    def end(worker, task):
        if decode_unit(task.unit).id == bad:
            raise MemoryError("killed")
        return None

    summary = one.sweep(runners_for(one), interfere=end, leases=LeasePolicy(attempts=3))
    assert (summary.rankings_done, summary.lost) == (2, 3)
    assert dict(summary.given_up) == {bad: "killed"}


def test_a_problem_is_finished_without_a_kernel_that_kills_the_devices_of_workers(setup, tmp_path):
    rounds = RoundOptions(min_rounds=2, max_rounds=3, passes=1)
    one = setup(problems=2, rounds=rounds)
    summary = one.sweep(
        runners_for(one, a=TimedBench(killing={"kernel_3"}), b=TimedBench(killing={"kernel_3"})),
        leases=LeasePolicy(attempts=3),
    )
    assert (summary.rankings_done, dict(summary.given_up)) == (2, {})
    # two for each problem
    assert summary.lost == 4
    with Store(tmp_path / "r.db") as store:
        seen = {(one.kernel.name, one.devices_lost) for one in store.measurements()}
    assert seen == {("kernel_0", 0), ("kernel_1", 0), ("kernel_2", 0), ("kernel_3", 2)}
    one.writer.close()
    again = setup(problems=2, rounds=rounds)
    assert sorted(again.units.plan.given_up) == [(0, "kernel_3"), (1, "kernel_3")]
    assert all(len(ranking.ranking.cells) == 3 for ranking in again.units.plan.rankings)


def test_a_sweep_without_a_worker_that_works_is_an_error(setup):
    one = setup(problems=6)

    def fail(worker, task):
        return Reply(task=task.id, end=End.ERROR, message="host: no such library")

    with pytest.raises(ToolchainError, match="no such library"):
        one.sweep(runners_for(one), interfere=fail, leases=LeasePolicy(attempts=1))


def test_a_stop_leaves_everything_in_the_store(setup, tmp_path):
    one = setup(problems=20)
    session = ThreadSession(runners_for(one, a=TimedBench(visit_s=0.002), b=TimedBench(visit_s=0.002)))
    stored = []
    watch = ClusterWatch(poll_s=0.02, on_attempt=stored.append, should_stop=lambda: len(stored) > 10)
    summary = one.coordinate(session, watch)
    session.close(now=True)
    measured = sum(len(runner.bench.samples) for runner in session.runners)
    checks = 2 * one.job.reference.samples
    assert summary.stop is Stop.REQUESTED
    assert summary.attempts == len(stored) == measured - checks
    one.writer.close()
    two = setup(problems=20)
    assert two.sweep(runners_for(two)).rankings_done == 20
    check_complete(tmp_path / "r.db", 20, 4)


def test_the_time_is_over_for_workers_too(setup):
    one = setup(problems=50)
    summary = one.sweep(
        runners_for(one, a=TimedBench(visit_s=0.01), b=TimedBench(visit_s=0.01)),
        ClusterWatch(poll_s=0.02, max_time_s=0.3),
    )
    assert summary.stop is Stop.MAX_TIME
    assert 0 < summary.attempts


class SlowingBench(TimedBench):
    """What follows on twelve attempts takes so long that it is stopped before the last one on any machine."""

    def measure(self, planned, visit):
        self.visit_s = 0.3 if len(self.samples) > 12 else 0.0
        return super().measure(planned, visit)


def test_a_half_measured_problem_goes_on_with_its_device_and_begins_anew_with_another(setup, tmp_path):
    for same in (True, False):
        name = f"{same}.db"
        whole = RoundOptions(min_rounds=3, max_rounds=3, exhaustive=True)
        one = setup(name, problems=1, kernels=6, rounds=whole)
        bench = SlowingBench()
        stored = []
        watch = ClusterWatch(
            poll_s=0.01, on_attempt=stored.append, should_stop=lambda bench=bench: len(bench.samples) > 12
        )
        one.sweep(runners_for(one, "a", a=bench), watch)
        one.writer.close()
        two = setup(name, problems=1, kernels=6, rounds=whole)
        (left,) = two.units.open()
        assert left.unit.device == "host:a" and len(left.unit.past) > 0
        two.sweep(runners_for(two, "a" if same else "b"))
        with Store(tmp_path / name) as store:
            attempts = list(store)
        rounds = {}
        for attempt in attempts:
            rounds.setdefault(attempt.session.device_id, set()).add(attempt.conditions.round)
        if same:
            assert rounds["host:a"] == {1, 2, 3}
            cells = Counter((one.key.kernel.instance, one.conditions.round) for one in attempts)
            # only the reference kernel runs twice in a round
            assert max(cells.values()) <= 3
        else:
            assert len(rounds["host:b"]) == 3
            assert min(rounds["host:b"]) > max(rounds["host:a"])


def test_a_slow_device_is_quarantined_and_its_work_done_again(setup, tmp_path):
    one = setup(problems=12, reference=ReferencePolicy(every=2, samples=3, park_s=0.05))
    slow = TimedBench(noise=0.002)
    benches = {"a": TimedBench(noise=0.002), "b": TimedBench(noise=0.002), "c": slow}
    session = ThreadSession(runners_for(one, "abc", **benches))
    slow_now, begun, enough = [], set(), threading.Event()

    def slow_down(worker, task):
        if worker == 2:
            slow_now.append(task)
            slow.factor = 1.3 if len(slow_now) > 2 else 1.0
            if len(slow_now) > 6:
                enough.set()
        elif worker in begun:
            # the slow device shall get its share, however busy the machine that simulates it
            enough.wait(20)
        begun.add(worker)

    session.interfere = slow_down
    warnings = []
    summary = one.coordinate(session, ClusterWatch(poll_s=0.02, emit=noting(Level.WARNING, warnings)))
    session.close(now=True)
    (text,) = [text for text in warnings if "quarantined" in text]
    assert text.startswith("device host:c is quarantined: ") and "% slower than its peers" in text
    devices = {device.device.id: device for device in summary.devices}
    assert devices["host:c"].quarantine and not devices["host:a"].quarantine
    assert summary.rankings_done == 12
    attempts = check_complete(tmp_path / "r.db", 12, 4)
    marked = [one for one in attempts if Mark.SLOW_DEVICE in one.marks]
    assert marked and {one.session.device_id for one in marked} == {"host:c"}
    sound = {one.key.problem for one in attempts if Mark.SLOW_DEVICE not in one.marks}
    assert {one.key.problem for one in marked} <= sound
    assert any("reference_ms" in one.conditions.extra for one in attempts)


def test_another_device_is_set_aside(setup):
    one = setup(problems=4)
    other = DeviceKey(target="simulated", model="none", partition="CPX")
    runners = [
        make_runner(one.job, "a", one.folder.root),
        make_runner(one.job, "b", one.folder.root, device=other),
    ]
    warnings = []
    summary = one.sweep(runners, ClusterWatch(poll_s=0.02, emit=noting(Level.WARNING, warnings)))
    assert summary.rankings_done == 4
    assert warnings == ["device host:b is set aside: another device: partition CPX instead of unknown"]
    assert runners[1].session.uid not in {found.uid for found in one.writer.reader.sessions()}


def test_objects_and_shards_travel_through_the_engine(setup, tmp_path):
    one = setup(problems=3)
    runner = make_runner(one.job, "a", tmp_path / "elsewhere")

    def lack(worker, task):
        assert task.folder == ""
        if one.digest not in task.objects:
            return Reply(task=task.id, end=End.MISSING, missing=(one.digest,))
        return None

    summary = one.sweep([runner], interfere=lack, sends=True)
    assert summary.rankings_done == 3
    attempts = check_complete(tmp_path / "r.db", 3, 4)
    assert summary.attempts == len(attempts)
    assert list((tmp_path / "elsewhere").glob("*.ndjson"))


def test_leases_of_a_killed_coordinator_are_respected(setup, tmp_path):
    one = setup(problems=2)
    first, second = (item.unit for item in one.units.open())
    table = LeaseTable(LeasePolicy(silence_s=0.4), one.folder.leases)
    table.give(first.id, "old-task")
    table.renew("old-task", 0.0, time.time())
    session = ThreadSession(runners_for(one, "a"))
    session.outlives_coordinator = True
    messages = []
    summary = one.coordinate(session, ClusterWatch(poll_s=0.02, emit=noting(Level.INFO, messages)))
    session.close(now=True)
    assert [decode_unit(task.unit).id for _, task in session.tasks] == [second.id, first.id]
    assert "1 problem may still be measured" in messages[0]
    assert summary.rankings_done == 2


def test_progress_counts_all_workers(setup):
    one = setup(problems=5)
    seen = []
    one.sweep(runners_for(one), ClusterWatch(poll_s=0.01, emit=seen.append))
    seen = [event for event in seen if isinstance(event, EngineProgress)]
    outcomes = [
        re.match(r"sweep: \d/5 rankings, (\d+) outcomes?; \d+ running on", one.text)[1] for one in seen
    ]
    assert [*map(int, outcomes)] == sorted(map(int, outcomes))
    last = (
        rf"sweep: 5/5 rankings, {outcomes[-1]} outcomes; 0 running on 2 devices; 0 s left; \S+ s per outcome"
    )
    assert re.fullmatch(last, seen[-1].text)


def test_a_unit_that_nobody_has_touched_is_planned_alike(setup):
    one = setup()
    first = one.units.open()[0].unit
    again = one.units.again(first)
    assert again is not None and again.unit == first
