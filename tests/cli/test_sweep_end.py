"""What ``ckprof sweep`` says in the end of kernels that it left out, and its exit code."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ckprof.cli.cmd_sweep import report
from ckprof.errors import ExitCode, ToolchainError
from ckprof.model.problem_case import as_case
from ckprof.store.writer import StoreWriter
from ckprof.sweep.recording import Recorder
from ckprof.sweep.sweep import Sweep, SweepResult, Watch
from tests.store.samples import make_session
from tests.sweep.bench import SHARED, SimulatedBench, make_kernels, make_problems, plan_for

KERNELS, PROBLEMS = make_kernels(3), make_problems(1)


def swept(path, number, **bench):
    with StoreWriter(path) as writer:
        plan = plan_for(KERNELS, PROBLEMS, writer.reader.past_visits)
        recorder = Recorder(writer, make_session(number), SHARED)
        return SweepResult(
            plan=plan, summary=Sweep(plan, SimulatedBench(**bench), recorder, Watch()).run(), path=path
        )


def reported(result):
    """Return the exit code and what is printed."""
    lines = []
    progress = SimpleNamespace(clear=lambda: None)
    console = SimpleNamespace(progress=progress, result=lines.append)
    session = SimpleNamespace(console=console, signals=SimpleNamespace(requested=False))
    return report(result, [as_case(problem) for problem in PROBLEMS], session), lines


def test_kernels_that_were_left_out_for_lost_devices_are_named_on_every_call(tmp_path):
    path = tmp_path / "results.db"
    for number in range(2):
        with pytest.raises(ToolchainError):
            swept(path, number, killing={"kernel_0"})
    code, lines = reported(swept(path, 2))
    named = (
        "excluded: kernel_0 on problem 0: the device failed at least 2 times while it ran, which may have "
        "other reasons; --retry-failed tries it again"
    )
    assert code is ExitCode.FAILED and lines[-1] == named
    for number in range(3, 9):
        result = swept(path, number)
        if not result.summary.attempts:
            break
    code, lines = reported(result)
    assert code is ExitCode.FAILED
    assert lines == [f"nothing is left to do: {path} has 2 of 3 outcomes", named]


def test_without_lost_devices_nothing_is_left_out(tmp_path):
    code, lines = reported(swept(tmp_path / "results.db", 0))
    assert code is ExitCode.OK and not any("excluded" in line for line in lines)


def test_a_problem_that_ended_every_worker_is_no_outcome(tmp_path):
    result = swept(tmp_path / "results.db", 0)
    code, lines = reported(replace(result, details=("given up: killed",), unfinished=True))
    assert code is ExitCode.TOOLCHAIN and "given up: killed" in lines
