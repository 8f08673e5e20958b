"""Engines that misbehave, and plugins that do in the workers of one: what was measured before is not lost."""

import dataclasses
import os
from concurrent.futures import Future

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof.store.maintenance import check
from ckprof_plugins.cluster.engines import ENGINES, Pool
from tests.plugin import hostile
from tests.plugin.hostile_kind import *  # noqa: F403 - tests, and the fixture "command"
from tests.plugin.test_hostile_commands import ACTS, Acting, Odd
from tests.plugin.test_hostile_measurements import SWEEP, measured, outcomes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]


class Nowhere:
    id, label = "mine", "mine"

    def pools(self, request):
        return {Pool.RUN: 1}

    def open(self, request): ...


#: an engine, and a command that asks it for its workers
CASE = hostile.Case(
    kind="engine",
    make=Nowhere,
    member="pools",
    command=("sweep", *hostile.RUN[1:], "--store", "new.db", "--engine", "mine", "--dry-run"),
)


@pytest.fixture
def case():
    return CASE


class Engine:
    """The engine for several devices of one machine, with a session that misbehaves."""

    id, label = "mine", "mine"

    def __init__(self, *acting):
        manager = PluginManager()
        manager.load_all()
        self._engine = Registry(manager).entries(ENGINES).find("local")
        self._acting = acting

    def pools(self, request):
        return self._engine.pools(request)

    def open(self, request):
        self.session = self._engine.open(request)
        return Acting(self.session, *self._acting) if self._acting else self.session


@pytest.mark.parametrize("act", ACTS)
def test_an_engine_that_cannot_be_opened(act, measured):  # noqa: F811
    function, said = ACTS[act]
    engine = Acting(Engine(), "open", function)
    done = measured("engine", engine, *SWEEP, "--engine", "mine")
    assert done.code == ExitCode.PLUGIN
    assert "hostile.py: engine 'mine': open" in done.err
    assert said in done.err or "open(): lacks outlives_coordinator, shares_files, slots(pool)" in done.err


@pytest.mark.parametrize("act", ACTS)
def test_an_engine_that_takes_no_payloads(act, measured):  # noqa: F811
    function, said = ACTS[act]
    done = measured("engine", Engine("submit", function), *SWEEP, "--engine", "mine")
    assert done.code == ExitCode.PLUGIN
    assert "hostile.py: engine 'mine': open(): submit " in done.err and said in done.err


def test_an_engine_that_cannot_be_closed_loses_nothing(measured, tmp_path):  # noqa: F811
    def close():
        engine.session.close(now=True)
        raise ValueError("boom")

    engine = Engine("close", close)
    done = measured("engine", engine, *SWEEP, "--engine", "mine")
    assert done.code == ExitCode.PLUGIN
    assert "engine 'mine': open(): close raised ValueError: boom" in done.err
    done = measured("engine", Engine(), *SWEEP, "--engine", "mine")
    assert done.code == ExitCode.OK and outcomes(tmp_path) == 4


@pytest.mark.parametrize("answer", [None, b"", b"text", Odd()], ids=type)
def test_an_engine_whose_answers_are_none(answer, measured):  # noqa: F811
    answered = Future()
    answered.set_result(answer)
    engine = Engine("submit", lambda: answered)
    done = measured("engine", engine, *SWEEP, "--engine", "mine")
    assert done.code == ExitCode.TOOLCHAIN
    assert "no worker can measure: the engine returned an object of type " in done.err


ENDS = """
import os
from ckprof import hookimpl

class Observer:
    id = "mine"

    def observe(self, target, device):
        if os.getpid() != {parent}:
            {act}

@hookimpl
def ckprof_register(registry):
    registry.add(Observer())
"""


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("os._exit(3)", "the worker of device 0 ended with status 3"),
        ("raise ValueError('boom')", "ends.py: observer 'mine': observe raised ValueError: boom"),
        ("raise SystemExit(0)", "ends.py: observer 'mine': observe called sys.exit(0)"),
    ],
)
def test_an_observer_that_misbehaves_in_the_workers_of_an_engine(act, said, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ends.py").write_text(ENDS.format(parent=os.getpid(), act=act))
    assert main(["--plugin", "ends.py", *SWEEP, "--devices", "0"]) == ExitCode.TOOLCHAIN
    shown = capfd.readouterr().err
    assert "ckprof: no worker can measure: " in shown and said in shown and "Traceback" not in shown
    assert check(tmp_path / "new.db") == []


@pytest.mark.parametrize("number", [-1, 0, 10**15, 2**63, -(10**400)], ids=lambda number: str(number)[:5])
def test_an_engine_with_an_odd_number_of_workers(number, command):
    engine = Acting(Nowhere(), "pools", lambda: {Pool.RUN: number})
    done = command(dataclasses.replace(CASE, code=None), engine)
    assert done.code in (0, 4), done.err
