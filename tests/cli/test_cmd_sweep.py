"""What ``ckprof sweep`` says in the end of kernels that it left out, and its exit code."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ckprof.cli.cmd_sweep import report, unresolved_lines
from ckprof.errors import ExitCode, ToolchainError
from ckprof.model.outcome import Status
from ckprof.model.problem import brief
from ckprof.model.problem_case import ProblemCase, as_case
from ckprof.model.ranking import Order, Resolution
from ckprof.store.writer import StoreWriter
from ckprof.sweep.recording import Recorder
from ckprof.sweep.sweep import Sweep, SweepResult, Watch
from ckprof_plugins.operations.gemm.problem import GemmProblem
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


def reported(result, name=""):
    """Return the exit code and what is printed.

    :param name: of the layer.
    """
    lines = []
    progress = SimpleNamespace(clear=lambda: None)
    console = SimpleNamespace(progress=progress, result=lines.append)
    session = SimpleNamespace(console=console, signals=SimpleNamespace(requested=False))
    return report(result, [replace(as_case(problem), name=name) for problem in PROBLEMS], session), lines


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
    excluded = "exit code 1: kernels are excluded"
    assert code is ExitCode.FAILED and lines[-2:] == [named, excluded]
    for number in range(3, 9):
        result = swept(path, number)
        if not result.summary.attempts:
            break
    code, lines = reported(result)
    assert code is ExitCode.FAILED
    assert lines == [f"nothing is left to do: {path} has 2 of 3 outcomes", named, excluded]


def test_without_lost_devices_nothing_is_left_out(tmp_path):
    code, lines = reported(swept(tmp_path / "results.db", 0))
    assert code is ExitCode.OK and not any("excluded" in line for line in lines)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (Status.UNSUPPORTED, "no kernel has a verified time on layer0"),
        (Status.RUN_ERROR, "kernels failed, see 'ckprof report'; no kernel has a verified time on layer0"),
    ],
)
def test_an_exit_code_of_1_says_why(tmp_path, status, why):
    ends = {kernel.name: status for kernel in KERNELS}
    result = swept(tmp_path / "results.db", 0, failing=ends)
    code, lines = reported(result, "layer0")
    assert code is ExitCode.FAILED and lines[-1] == f"exit code 1: {why}"


def test_a_problem_that_ended_every_worker_is_no_outcome(tmp_path):
    result = swept(tmp_path / "results.db", 0)
    code, lines = reported(replace(result, details=("given up: killed",), unfinished=True))
    assert code is ExitCode.TOOLCHAIN and "given up: killed" in lines


def test_the_summary_says_which_bests_are_open_and_what_it_would_take():
    clear = Resolution(order=Order.CLEAR, first=1, processes=1)
    tie = Resolution(order=Order.TIE, first=3, processes=1)
    rounds = Resolution(order=Order.OPEN, first=4, processes=1, rounds=17)
    never = Resolution(order=Order.OPEN, first=2, processes=1)
    problem = GemmProblem(m=8, n=16, k=32)
    problems = [ProblemCase(problem=problem, name=f"layer{n}" if n < 3 else "") for n in range(9)]
    lines = unresolved_lines(
        [(0, clear), (1, rounds), (2, tie), (3, never), *((n, never) for n in range(4, 9))], problems
    )
    assert lines[0] == "winner resolved: 2 of 9 rankings with times"
    assert lines[1] == "unresolved: layer1: 4 kernels may be the fastest; about 17 rounds would resolve it"
    assert lines[2].startswith(
        f"unresolved: {brief(problem)}: 2 kernels may be the fastest; more passes would resolve it"
    )
    assert len(lines) == 7 and lines[-1] == "unresolved: 2 more, which ckprof report shows"
    assert unresolved_lines([], problems) == []


def test_the_wrong_number_of_rounds_is_named_by_its_option(ckprof):
    call = ("sweep", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--store", "a.db", "--max-rounds", "-1")
    ckprof(*call).fails_with(2, "argument --max-rounds: expected a positive integer, got '-1'")
    ckprof(*call[:-1], "3", "--min-rounds", "5").fails_with(2, "--min-rounds 5 is more than --max-rounds 3")
