"""Objects that misbehave while kernels are measured: what was measured before is not lost."""

from types import SimpleNamespace

import pytest

from ckprof.errors import ExitCode
from ckprof.plugin.manager import DISABLE_VARIABLE
from ckprof.plugin.protocols import ReportFormat
from ckprof.store.maintenance import check
from ckprof.store.store import Store
from ckprof_plugins.directions.fwd import Forward

from . import hostile
from .test_boundary import raising
from .test_hostile_commands import ACTS, Acting, command  # noqa: F401 - a fixture

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

PROBLEMS = [
    part
    for size in (4, 6)
    for part in ("--problem", f"conv -n 1 -c 16 -H {size} -W {size} -k 16 -y 1 -x 1 -F 1")
]
QUICK = ("--round-time", "0.02", "--min-rounds", "2", "--max-rounds", "2")
RUN = ("run", "fwd", *hostile.RUN[2:], *PROBLEMS, "--max-time", "0.02")
SWEEP = ("sweep", "fwd", *hostile.RUN[2:], *PROBLEMS, *QUICK, "--store", "new.db")

#: what an observer may not do; to return nothing is right
ACTIONS = [name for name in ACTS if name not in {"returns nothing"}]


@pytest.fixture
def measured(command, tmp_path):  # noqa: F811 - a fixture
    """Calls ckprof as the fixture of commands does; what stays behind is complete."""

    def call(kind, item, *arguments):
        done = command(SimpleNamespace(kind=kind, command=arguments, code=None), item)
        store = tmp_path / "new.db"
        if store.exists():
            assert check(store) == []
        return done

    return call


def outcomes(folder):
    with Store(folder / "new.db") as store:
        return len(store)


def late(act, calls=2):
    """An action that works at first."""
    left = iter(range(calls))

    def acting():
        return None if next(left, None) is not None else act()

    return acting


@pytest.mark.parametrize("act", ACTIONS)
def test_an_observer_that_misbehaves(act, measured):
    function, said = ACTS[act]
    done = measured("observer", Acting(hostile.MyObserver(), "observe", function), *RUN)
    assert done.code == ExitCode.PLUGIN
    assert "hostile.py: observer 'mine': observe " in done.err and said in done.err


@pytest.mark.parametrize("act", ACTS)
def test_a_direction_whose_reference_misbehaves(act, measured, monkeypatch):
    monkeypatch.setenv(DISABLE_VARIABLE, "ckprof_plugins.directions")
    function, said = ACTS[act]
    done = measured("operation", Acting(Forward(), "reference", function), *RUN)
    assert done.code == ExitCode.PLUGIN
    assert "hostile.py: operation 'fwd': reference " in done.err and said in done.err


def test_what_was_measured_before_an_observer_misbehaves_is_kept(measured, tmp_path):
    observer = Acting(hostile.MyObserver(), "observe", late(raising(ValueError("boom"))))
    done = measured("observer", observer, *SWEEP)
    assert done.code == ExitCode.PLUGIN and "observer 'mine': observe raised ValueError: boom" in done.err
    assert 0 < outcomes(tmp_path) < 4
    done = measured("observer", hostile.MyObserver(), *SWEEP)
    assert done.code == ExitCode.OK and outcomes(tmp_path) == 4


def test_a_format_that_fails_costs_the_report_alone(measured):
    run_format = ReportFormat(id="mine", label="mine", render=lambda results: results.no_such_thing)
    done = measured("format", run_format, *RUN, "--format", "mine")
    assert done.code == ExitCode.PLUGIN and not done.out
    assert "hostile.py: format 'mine': render raised AttributeError: " in done.err
    assert "the results follow as a table" in done.err and "1 ok" in done.err


BASELINES = """
import os

def raises(device, on_host):
    raise ValueError("boom")

def exits(device, on_host):
    raise SystemExit(0)

def closes(device, on_host):
    raise GeneratorExit

def ends(device, on_host):
    os._exit(3)

def nothing(device, on_host):
    return None
"""


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("raises", "ValueError: boom"),
        ("exits", "the worker exited with status 0"),
        ("closes", "GeneratorExit"),
        ("ends", "the worker exited with status 3"),
        ("nothing", "'NoneType' object has no attribute"),
        ("missing", "has no attribute 'missing'"),
    ],
)
def test_a_baseline_that_cannot_be_opened_is_named(entry, said, measured, tmp_path):
    (tmp_path / "engine.py").write_text(BASELINES)
    baseline = SimpleNamespace(id="mine", label="", entry=f"{tmp_path}/engine.py:{entry}", missing=lambda: "")
    done = measured("baseline", baseline, *RUN, "--baseline", "mine")
    # a library that is not usable here and a mistake look alike
    assert done.code == ExitCode.TOOLCHAIN
    assert "ckprof: baseline mine cannot be used: " in done.err and said in done.err
