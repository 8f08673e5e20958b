"""Workers of this machine: each in a process, replaced when it is lost; kill -9 loses and doubles nothing."""

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from ckprof.errors import ExitCode, ToolchainError
from ckprof.store.attempt import Mark
from ckprof.store.maintenance import check
from ckprof.store.store import Store
from ckprof.sweep.requests import SweepOptions
from ckprof_plugins.cluster.engine_sweep import _probe
from ckprof_plugins.cluster.engines import EngineRequest, Pool, WorkerLost
from ckprof_plugins.cluster.folder import SweepFolder
from ckprof_plugins.cluster.local import LocalEngine, cpus_per_worker
from ckprof_plugins.cluster.messages import Task
from ckprof_plugins.cluster.units import ClusterWatch, last_line
from plugins.cluster.tests.simulated import HANDLER, VISIT_VARIABLE, TimedBench, make_setup, pids
from tests.faults import failing_with
from tests.test_python_child import run_isolated, trap  # noqa: F401 - a fixture

ECHO = "plugins.cluster.tests.echo:echo"
ROOT = Path(__file__).parents[3]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@contextmanager
def local(handler=ECHO, **options):
    """Open a session, and close it: no worker is left."""
    session = LocalEngine().open(EngineRequest(handler=handler, **options))
    try:
        yield session
    finally:
        session.close(now=True)
    assert pids(session) == []


def test_workers_answer_fail_and_are_replaced():
    with local(devices=(3,)) as session:
        assert session.submit(Pool.RUN, b"abc").result(60) == b"cba"
        assert session.submit(Pool.RUN, b"print").result(60) == b"tnirp"
        with pytest.raises(WorkerLost, match="ValueError: as told"):
            session.submit(Pool.RUN, b"fail").result(60)
        with pytest.raises(WorkerLost, match="device 3 ended with status 7"):
            session.submit(Pool.RUN, b"end").result(60)
        assert session.submit(Pool.RUN, b"who").result(60).startswith(b"3 3 [")
        with pytest.raises(ValueError, match="no pool for build"):
            session.submit(Pool.BUILD, b"")


def starting(code):
    """What starts a worker that runs some Python instead."""
    return lambda *_: [sys.executable, "-I", "-S", "-c", code]


#: how a worker is broken -> what patches do so, and what is said
FAULTS = {
    "no process": (
        {"subprocess.Popen": failing_with(errno.EAGAIN)},
        "device 0: no worker process can be started: Resource temporarily unavailable; end other processes",
    ),
    "no descriptor": (
        {"subprocess.Popen": failing_with(errno.EMFILE)},
        "Too many open files; raise 'ulimit -n'",
    ),
    "no space": ({"tempfile.TemporaryFile": failing_with(errno.ENOSPC)}, "No space left.*set TMPDIR"),
    "no interpreter": ({"python_command": lambda *_: ["/nowhere/python"]}, "No such file.*is still there"),
    "no module": (
        {"python_command": starting("raise ImportError('numpy is broken')")},
        "device 0 ended with status 1; last output: ImportError: numpy is broken$",
    ),
    "killed": (
        {"python_command": starting("import os; os.kill(os.getpid(), 9)")},
        "device 0 was killed by signal 9$",
    ),
    "closed pipe": (
        {"python_command": starting("import os, time; os.close(1); time.sleep(60)"), "_GRACE_S": 0.2},
        "device 0 has closed its connection$",
    ),
    "no frame": (
        {
            "python_command": starting("import os, time; os.write(1, b'\\xff' * 9); time.sleep(60)"),
            "_GRACE_S": 0.2,
        },
        "the worker of device 0: .",
    ),
}


def broken(monkeypatch, fault):
    patches, said = FAULTS[fault]
    for name, value in patches.items():
        monkeypatch.setattr(f"ckprof_plugins.cluster.local.{name}", value)
    return said


@pytest.mark.parametrize("fault", FAULTS)
def test_workers_that_break_are_lost_with_a_reason_and_replaced(monkeypatch, fault):
    with local() as session:
        with monkeypatch.context() as patched:
            said = broken(patched, fault)
            for _ in range(2):
                with pytest.raises(WorkerLost, match=said) as raised:
                    session.submit(Pool.RUN, b"abc").result(60)
                assert "Traceback" not in str(raised.value) and "\n" not in str(raised.value)
        assert session.submit(Pool.RUN, b"abc").result(60) == b"cba"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_sweep_whose_workers_break_ends_with_one_message(monkeypatch, tmp_path, fault):
    said = broken(monkeypatch, fault)
    task = Task(id="a", run="probe", job="none", folder="")
    with local() as session:
        with pytest.raises(ToolchainError, match=rf"no worker can measure: .*{said}") as raised:
            _probe(task, session, SweepFolder(tmp_path), SweepOptions(store="r.db"))
    assert raised.value.exit_code is ExitCode.TOOLCHAIN and "\n" not in str(raised.value)


def test_a_handler_that_cannot_be_imported_is_a_reason(capfd):
    with local("plugins.cluster.tests.nowhere:handle") as session:
        with pytest.raises(WorkerLost) as raised:
            session.submit(Pool.RUN, b"abc").result(60)
    assert (
        last_line(str(raised.value)) == "ModuleNotFoundError: No module named 'plugins.cluster.tests.nowhere'"
    )
    assert capfd.readouterr().err == ""


def test_without_threads_there_is_a_message(monkeypatch):
    start, started = threading.Thread.start, []

    def limited(thread):
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(ToolchainError, match="engine local: can't start new thread; end other processes"):
        LocalEngine().open(EngineRequest(handler=ECHO, devices=(0, 1, 2)))
    for thread in started:
        thread.join(10)
        assert not thread.is_alive()


def test_workers_that_compute_on_the_host_share_its_cpus():
    cpus = sorted(os.sched_getaffinity(0))
    with local(devices=(0, 1), embedded=True) as session:
        said = session.submit(Pool.RUN, b"who").result(60).decode()
    assert len(said.partition("[")[2].split(",")) == cpus_per_worker(len(cpus), 2)
    # the host is one device, whatever its shares are called
    with local(devices=(1,), embedded=True) as session:
        assert session.submit(Pool.RUN, b"who").result(60).startswith(b"0 1 [")
    assert [cpus_per_worker(*given) for given in ((64, 8), (7, 2), (2, 4), (1, 1))] == [8, 3, 1, 1]


def test_workers_end_with_their_coordinator(tmp_path):
    code = (
        "import sys, time\n"
        "from ckprof_plugins.cluster.engines import EngineRequest, Pool\n"
        "from ckprof_plugins.cluster.local import LocalEngine\n"
        "from plugins.cluster.tests.simulated import pids\n"
        f"session = LocalEngine().open(EngineRequest(handler={ECHO!r}, devices=(0,)))\n"
        "session.submit(Pool.RUN, b'x').result(60)\n"
        "print(*pids(session), flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT
    ) as parent:
        worker = int(parent.stdout.readline())
        parent.kill()
    end = time.monotonic() + 60
    while Path(f"/proc/{worker}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists()


#: a coordinator with two workers, until it is killed or done
_COORDINATOR = """
import sys
from plugins.cluster.tests.simulated import make_setup, pids, HANDLER
from ckprof_plugins.cluster.units import ClusterWatch
from ckprof_plugins.cluster.engines import EngineRequest
from ckprof_plugins.cluster.local import LocalEngine
setup = make_setup(sys.argv[1], problems=int(sys.argv[2]), kernels=int(sys.argv[3]))
setup.devices = 2
session = LocalEngine().open(EngineRequest(handler=HANDLER, devices=(0, 1)))
print("ready", flush=True)
watch = ClusterWatch(poll_s=0.02, on_attempt=lambda attempt: print(*pids(session), flush=True))
summary = setup.coordinate(session, watch)
session.close(now=True)
print("done", flush=True)
"""


def run_until_killed(store, problems, kernels, chance):
    """Run a coordinator; kill a worker at some moment and it at another; say whether it ended by itself."""
    environment = {**ENVIRONMENT, VISIT_VARIABLE: "0.004"}
    with subprocess.Popen(
        [sys.executable, "-c", _COORDINATOR, str(store), str(problems), str(kernels)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
    ) as child:
        assert child.stdout.readline() == b"ready\n"
        end_at = chance.randrange(15, min(150, 4 * problems * kernels // 5))
        worker_at = chance.randrange(1, end_at)
        for number, line in enumerate(child.stdout):
            if line == b"done\n":
                return True
            pids = [int(pid) for pid in line.split()]
            if number == worker_at and pids:
                try:
                    os.kill(chance.choice(pids), signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it ended by itself meanwhile
            if number >= end_at:
                child.kill()
                return False
    return False


def check_kills(tmp_path, kills, problems, kernels=5):
    store = tmp_path / "r.db"
    chance = random.Random(kills)
    stored = 0
    for _ in range(kills):
        assert not run_until_killed(store, problems, kernels, chance), "nothing was left to be killed"
        # what was there stays, whoever was killed
        with Store(store) as reader:
            assert len(reader) >= stored
            stored = len(reader)
    left = make_setup(store, problems=problems, kernels=kernels)
    left.devices = 2
    with local(HANDLER, devices=(0, 1)) as session:
        left.coordinate(session, ClusterWatch(poll_s=0.02))
    left.writer.close()
    assert check(store) == []
    lines = {}
    for shard in (tmp_path / "r.db.sweep" / "shards").glob("*.ndjson"):
        for line in shard.read_bytes().splitlines(keepends=True)[1:]:
            if line.startswith(b'{"attempt"') and line.endswith(b"\n"):
                lines[line] = lines.get(line, 0) + 1
    with Store(store) as reader:
        attempts = list(reader)
    places = {(one.session.uid, one.sequence) for one in attempts}
    assert len(places) == len(attempts) == len(lines), "an outcome is missing, or stored twice"
    assert set(lines.values()) == {1}
    assert len({(one.key.problem, one.key.kernel.instance) for one in attempts}) == kernels * problems
    for uid in {uid for uid, _ in places}:
        numbers = sorted(sequence for one, sequence in places if one == uid)
        assert numbers == list(range(len(numbers)))


@pytest.mark.thorough
def test_killed_workers_and_coordinators_lose_and_double_nothing(tmp_path):
    check_kills(tmp_path, 1, 12)


@pytest.mark.thorough
def test_kills_while_devices_share_a_problem_lose_and_double_nothing(tmp_path):
    check_kills(tmp_path, 2, 1, kernels=200)
    with Store(tmp_path / "r.db") as reader:
        attempts = list(reader)
        (best,) = reader.best()
    assert any(Mark.PART in one.marks for one in attempts)
    times = {
        one.key.kernel.instance: TimedBench().true_ms(one.key.kernel.instance, 1, one.key.problem)
        for one in attempts
    }
    assert times[best.key.kernel.instance] <= 1.05 * min(times.values())


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fifty_kills_lose_and_double_nothing(tmp_path):
    check_kills(tmp_path, 50, 700)


def test_a_worker_imports_nothing_from_the_current_folder(trap):  # noqa: F811
    with local() as session:
        assert session.submit(Pool.RUN, b"abc").result(60) == b"cba"


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.skipif(sys.version_info < (3, 11), reason="the command itself is started with -P")
def test_a_sweep_on_workers_imports_nothing_from_the_current_folder(trap, tmp_path, short_list):  # noqa: F811
    run_isolated(
        tmp_path,
        *("sweep", "fwd", "--conf", str(short_list), "--problem", "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"),
        *("--store", str(tmp_path / "r.db"), "--devices", "0,1"),
        *("--round-time", "0.02", "--min-rounds", "1", "--max-rounds", "1"),
    )
