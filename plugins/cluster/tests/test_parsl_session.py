"""A running Parsl on this machine: who may talk to it, and what ends it."""

import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        importlib.util.find_spec("parsl") is None,
        reason="Parsl is not installed: pip install 'ckprof[cluster]'",
    ),
]

#: opens Parsl, answers a line for each one that it reads, and ends in one of several ways
_SWEEP = """
import sys
from pathlib import Path
from ckprof_plugins.cluster.engines import EngineRequest, Pool
from ckprof_plugins.cluster.settings import read_settings
from ckprof_plugins.cluster.parsl_engine import ParslEngine

handler = "plugins.cluster.tests.echo:echo"
here = Path.cwd()
settings = read_settings(here / "c.toml")
session = ParslEngine().open(EngineRequest(handler=handler, settings=settings, folder=here))
for line in sys.stdin:
    print(session.submit(Pool.RUN, line.strip().encode()).result(120).decode(), flush=True)
session.close(now=True)
print("closed", flush=True)
"""


class Sweep:
    """A process with a running Parsl."""

    def __init__(self, folder):
        (folder / "c.toml").write_text("[pools.run]\nprovider = 'local'\ngpus = 1\n")
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SWEEP],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # so that all of it gets a signal, as from a scheduler
            start_new_session=True,
        )
        #: processes that belong to it, wherever they have gone
        self.others = []
        self._folder = folder

    def ask(self, text):
        """Have a worker answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            pytest.fail(self.process.communicate()[1])
        self.others = [
            one for one in psutil.process_iter() if one.pid != self.process.pid and self._is_ours(one)
        ]
        return answer

    def _is_ours(self, process):
        try:
            words = (process.cwd(), *process.cmdline(), *process.environ().values())
            return str(self._folder) in " ".join(words)
        except psutil.Error:
            return False

    def wait_until_all_are_gone(self):
        """Wait for the end of everything; the test's own time limit says how long."""
        self.process.communicate()
        psutil.wait_procs(self.others, timeout=120)
        assert [one for one in self.others if one.is_running() and one.status() != psutil.STATUS_ZOMBIE] == []


@pytest.fixture
def sweep(tmp_path):
    running = Sweep(tmp_path)
    yield running
    for process in (running.process, *running.others):
        try:
            process.kill()
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    running.process.communicate()


class Bomb:
    """Leaves a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def listening(processes):
    ports = set()
    for process in processes:
        try:
            found = process.net_connections("tcp")
        except psutil.Error:
            continue
        ports |= {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}
    return ports


def greeted(context, kind, address, message):
    """Connect without keys and send a message; return what became of it until the other side refuses."""
    import zmq

    seen = set()
    with context.socket(kind) as stranger:
        stranger.linger = 0
        with stranger.get_monitor_socket() as events:
            stranger.connect(address)
            if kind != zmq.REP:
                stranger.send(message)
            ends = {
                zmq.EVENT_HANDSHAKE_SUCCEEDED,
                zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL,
                zmq.EVENT_DISCONNECTED,
            }
            while not seen & ends:
                assert events.poll(60_000), f"{address} neither lets a stranger in nor refuses it"
                seen.add(int.from_bytes(events.recv_multipart()[0][:2], "little"))
            stranger.disable_monitor()
    return seen


def test_strangers_are_refused_and_the_sweep_goes_on(sweep, tmp_path):
    zmq = pytest.importorskip("zmq")
    assert sweep.ask("abc") == "cba"
    mine = psutil.Process(sweep.process.pid)
    ports = listening([mine, *sweep.others])
    # tasks, results and commands at the coordinator, and workers at the interchange
    assert len(ports) >= 4
    marker = tmp_path / "ran"
    bomb = pickle.dumps(Bomb(marker))
    with zmq.Context() as context:
        for port in sorted(ports):
            for kind in (zmq.DEALER, zmq.REQ, zmq.REP):
                said = greeted(context, kind, f"tcp://127.0.0.1:{port}", bomb)
                assert zmq.EVENT_HANDSHAKE_SUCCEEDED not in said
    assert sweep.ask("def") == "fed"
    assert not marker.exists()


def test_nothing_is_left_when_the_coordinator_is_killed(sweep):
    assert sweep.ask("abc") == "cba"
    # the interchange, which hides its words; shells, a pool and its workers
    assert len(sweep.others) >= 5 and any(
        one.cmdline()[0] == "parsl: HTEX interchange" for one in sweep.others
    )
    sweep.process.kill()
    sweep.wait_until_all_are_gone()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_group_reaches_the_coordinator_alone(sweep, number):
    """It decides what ends when; Parsl's own processes would leave it waiting for them."""
    assert sweep.ask("abc") == "cba"
    os.killpg(sweep.process.pid, 0)
    members = [one for one in sweep.others if os.getpgid(one.pid) == sweep.process.pid]
    assert members == []
    os.killpg(sweep.process.pid, number)
    sweep.wait_until_all_are_gone()


@pytest.mark.slow
def test_it_closes_without_its_interchange(sweep):
    assert sweep.ask("abc") == "cba"
    [interchange] = [one for one in sweep.others if one.cmdline()[:1] == ["parsl: HTEX interchange"]]
    interchange.kill()
    started = time.monotonic()
    sweep.process.stdin.close()
    assert sweep.process.stdout.readline() == "closed\n"
    sweep.process.stdin = None
    sweep.wait_until_all_are_gone()
    print(f"closed within {time.monotonic() - started:.1f} s")


def test_nothing_is_imported_from_the_current_folder(sweep, tmp_path):
    for name in ("msgspec", "random", "zmq", "parsl", "tests"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    assert sweep.ask("abc") == "cba"
    assert not (tmp_path / "ran").exists()


def test_it_needs_no_programs_on_the_path(sweep, tmp_path, monkeypatch):
    """Parsl's programs are found as modules, whatever the path says."""
    sweep.process.kill()
    sweep.process.communicate()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    again = Sweep(tmp_path)
    try:
        assert again.ask("abc") == "cba"
    finally:
        again.process.communicate()
