"""Signals during a run: what was measured is reported, and nothing is left behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from ckprof.cli.main import main
from ckprof.cli.outputs import Delivery
from ckprof.errors import ExitCode, Interrupted
from ckprof.measure.executor import Executor

from ..interrupts import heed_signals

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

PROBLEM = "2 1 2 16 16 3 3 {0} {0} 1 1 1 1 1 1 1 1"
#: every kernel takes a fifth of a second, whatever the machine does: a run takes half a minute
ENDLESS = ("--cache", "warm", "--max-time", "0.2", "--criterion", "sample-count:count=1000000000")
CODES = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGHUP: ExitCode.HANGUP,
}
#: seconds that anything may take on a machine that has other work
PATIENCE_S = 120


def started(*words, folder, temporary, **variables):
    """Start ckprof in a folder; the lock of the device is among the temporary files."""
    environment = os.environ | {"TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1", **variables}
    environment.pop("XDG_RUNTIME_DIR", None)
    return subprocess.Popen(
        [sys.executable, "-m", "ckprof", *map(str, words)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=heed_signals,
    )


@pytest.fixture
def start(short_list, tmp_path):
    """Start a run that takes long, in folders of its own."""
    (tmp_path / "tmp").mkdir()
    children = []

    def go(*options, **variables):
        lines = [part for size in range(8, 40) for part in ("--problem", PROBLEM.format(size))]
        run = ("run", "fwd", "--conf", short_list, *lines, *ENDLESS, "-v", *options)
        child = started(*run, folder=tmp_path, temporary=tmp_path / "tmp", **variables)
        children.append(child)
        return child

    yield go
    for child in children:
        if child.poll() is None:
            child.kill()
        child.communicate()


def wait_for_line(child, text, count=1):
    said = ""
    while said.count(text) < count:
        line = child.stderr.readline()
        assert line, said
        said += line
    return said


def wait_for_process(folder, name):
    """Wait until a process of this name works for the run."""
    end = time.monotonic() + PATIENCE_S
    while not any(process.startswith(name) for process in names_of(folder)):
        assert time.monotonic() < end, f"no {name} was started"
        time.sleep(0.05)


def names_of(folder):
    """Return the names of these processes, without those that have ended by now."""
    names = []
    for process in processes_of(folder):
        with contextlib.suppress(psutil.NoSuchProcess):
            names.append(process.name())
    return names


def processes_of(folder):
    """Return the processes that work for a run whose temporary files are below a folder.

    Those of a build have a folder of their own there.
    """
    found = []
    for process in psutil.process_iter():
        try:
            own = Path(process.environ().get("TMPDIR", "/")).is_relative_to(folder)
            if own and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def wait_until_gone(folder):
    end = time.monotonic() + PATIENCE_S
    while (left := processes_of(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    return left


#: one of them is a part of every run of the tests
SIGNALS = [
    pytest.param(number, marks=() if number is signal.SIGTERM else pytest.mark.slow) for number in CODES
]


@pytest.mark.parametrize("rounds", ["1", "5"])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_run_with_what_was_measured(start, tmp_path, number, rounds):
    child = start("--json", "out.json", "--rounds", rounds)
    said = wait_for_line(child, "ok: ", 2)
    child.send_signal(number)
    out, err = child.communicate(timeout=PATIENCE_S)
    said += err
    assert child.returncode == CODES[number] == 128 + number, said
    assert f"interrupted by {signal.Signals(number).name}" in said
    assert "Traceback" not in said
    assert "Partial: the run was ended before its last outcome." in out
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["partial"] is True
    outcomes = [one for problem in report["problems"] for one in problem["outcomes"]]
    measured = [one for one in outcomes if one["measurement"]]
    assert len(measured) >= max(2, said.count("ok: "))
    assert all(f"{one['measurement']['time_ms']:.4f}" in out for one in measured)
    assert not wait_until_gone(tmp_path / "tmp")
    assert not list((tmp_path / "tmp").glob("ckprof-run-*"))


@pytest.mark.parametrize("timed", [True, False], ids=["timed", "on second problems"])
def test_a_signal_whose_exception_is_swallowed_ends_a_run(short_list, tmp_path, monkeypatch, capsys, timed):
    """Python drops what is raised while it collects memory."""
    measure, measured = Executor.measure, []

    def interrupted(self, *arguments, **options):
        outcome = measure(self, *arguments, **options)
        measured.append(outcome.measurement is not None)
        if measured.count(timed) == 2 and measured[-1] is timed:
            with suppress(Interrupted):
                os.kill(os.getpid(), signal.SIGTERM)
        return outcome

    monkeypatch.setattr(Executor, "measure", interrupted)
    lines = [part for size in range(8, 12) for part in ("--problem", PROBLEM.format(size))]
    path = tmp_path / "out.json"
    limits = ("--max-time", "0.01", "--json", str(path))
    assert main(["run", "fwd", "--conf", str(short_list), *lines, *limits]) == ExitCode.TERMINATED
    assert "ckprof: interrupted by SIGTERM" in capsys.readouterr().err
    # nothing was measured after it, but for what the problem was opened for
    assert measured.count(timed) == 2 and (timed or measured.count(True) <= 1)
    assert json.loads(path.read_text())["partial"] is True


@pytest.mark.parametrize("tree", [False, True], ids=["run", "tree"])
def test_a_signal_behind_the_last_sample_costs_no_report(short_list, tmp_path, monkeypatch, tree):
    path = tmp_path / "out.json"

    def ended(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return Delivery(*arguments)

    monkeypatch.setattr("ckprof.cli.cmd_run.Delivery", ended)
    instances = ["--tree", str(short_list.parent)] if tree else ["--conf", str(short_list)]
    words = ["run", "fwd", *instances, "--problem", PROBLEM.format(8), "--max-time", "0.01"]
    assert main([*words, "--json", str(path)]) == ExitCode.TERMINATED
    assert ("lists" if tree else "problems") in json.loads(path.read_text())


def test_kernels_whose_rounds_are_not_over_are_reported(start, tmp_path):
    child = start("--json", "out.json", "--rounds", "1000")
    said = wait_for_line(child, "round 2: ", 2)
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == ExitCode.TERMINATED, said + err
    problems = json.loads((tmp_path / "out.json").read_text())["problems"]
    measured = [one for problem in problems for one in problem["outcomes"] if one["measurement"]]
    assert len(measured) >= 3
    assert all(one["standing"]["taken"] >= 1 for one in measured)
    assert all(f"{one['measurement']['time_ms']:.4f}" in out for one in measured)
    # all that were taken, of whichever problem was visited again
    assert sum(one["standing"]["taken"] for one in measured) >= len(measured) + 2


@pytest.mark.slow
@pytest.mark.parametrize("number", CODES)
def test_a_signal_ends_a_build_with_its_compilers(start, tmp_path, number):
    child = start(CKPROF_CACHE_DIR=str(tmp_path / "cache"))
    wait_for_process(tmp_path / "tmp", "ninja")
    child.send_signal(number)
    _, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == CODES[number], err
    assert not wait_until_gone(tmp_path / "tmp")
    assert not list((tmp_path / "cache" / "objects" / "staging").iterdir())


@pytest.mark.slow
def test_nothing_outlives_a_killed_build(start, tmp_path):
    child = start(CKPROF_CACHE_DIR=str(tmp_path / "cache"))
    wait_for_process(tmp_path / "tmp", "ninja")
    assert len(processes_of(tmp_path / "tmp")) > 1
    child.kill()
    child.communicate()
    assert not wait_until_gone(tmp_path / "tmp")


def test_a_killed_build_system_leaves_no_compiler(start, tmp_path):
    child = start(CKPROF_CACHE_DIR=str(tmp_path / "cache"))
    wait_for_process(tmp_path / "tmp", "ninja")
    wait_for_process(tmp_path / "tmp", "cc1plus")
    for process in processes_of(tmp_path / "tmp"):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.name() == "ninja":
                process.kill()
    _, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == ExitCode.TOOLCHAIN, err
    assert "ninja" in err and "Traceback" not in err
    assert not wait_until_gone(tmp_path / "tmp")


@pytest.mark.slow
def test_the_next_run_sweeps_what_a_killed_one_left(start, tmp_path):
    child = start()
    wait_for_line(child, "ok: ")
    child.kill()
    child.communicate()
    assert not wait_until_gone(tmp_path / "tmp")
    (left,) = (tmp_path / "tmp").glob("ckprof-run-*")
    other = start("--json", "out.json")
    wait_for_line(other, "ok: ")
    other.send_signal(signal.SIGINT)
    other.communicate(timeout=PATIENCE_S)
    assert not left.exists()


@pytest.mark.slow
def test_closing_the_terminal_twice_loses_nothing(start, tmp_path):
    child = start("--json", "out.json")
    wait_for_line(child, "ok: ")
    child.send_signal(signal.SIGHUP)
    child.stdout.close()
    child.send_signal(signal.SIGHUP)
    child.stderr.close()
    child.wait(PATIENCE_S)
    assert json.loads((tmp_path / "out.json").read_text())["partial"] is True
