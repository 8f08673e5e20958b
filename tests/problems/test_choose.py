"""Lines that ask for what no kernel computes: read like others, named with the reason, never run."""

import random
from itertools import count, islice
from types import SimpleNamespace

import pytest

from ckprof.errors import ExitCode, InputError
from ckprof.problems.choose import parse_problems, random_problems
from ckprof.profiler import Profiler
from ckprof_plugins.directions._convolution.problem import Problem

REST = "1 1 0 1 2 0 1 2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"
ROUNDED = f"grouped_conv_fwd {REST.replace('1', '8', 1)}"
CLAMPED = f"grouped_conv_fwd_clamp {REST}"
PLAIN = f"grouped_conv_fwd {REST}"
REASON = "2D G1 N4 K64 C64 in 28x28 .*grouped_conv_fwd asks for fp32 by tf32.* not supported"


@pytest.fixture(scope="module")
def profiler():
    return Profiler()


def test_named_lines_are_errors_for_commands_and_programs(profiler):
    with pytest.raises(InputError, match=REASON) as caught:
        profiler.problems("fwd", [PLAIN, ROUNDED])
    assert caught.value.exit_code is ExitCode.INPUT
    with pytest.raises(InputError, match="is an operation of fwd, not of bwd_data; 'ckprof run fwd'"):
        profiler.problems("bwd_data", [CLAMPED])
    with pytest.raises(InputError, match=REASON):
        Problem.parse(ROUNDED)


def test_lines_of_files_are_counted_by_reason(profiler, tmp_path):
    path = tmp_path / "problems.txt"
    path.write_text(f"{ROUNDED}\n{PLAIN}\n{ROUNDED}\n")
    given = parse_problems(profiler, profiler.registry.operation("fwd"), files=[path])
    assert len(given.listed) == 1
    ((reason, count),) = given.skipped.items()
    assert reason.startswith("grouped_conv_fwd asks for fp32 by tf32") and count == 2


def test_programs_are_told_of_what_is_left_out(tmp_path):
    told = []
    path = tmp_path / "problems.txt"
    path.write_text(f"{ROUNDED}\n{PLAIN}\n")
    assert len(Profiler(on_event=told.append).problems("fwd", files=[path])) == 1
    (event,) = told
    assert event.text.startswith("excluded 1 problem line: grouped_conv_fwd asks")


def test_a_convolution_alone_cannot_hold_more(profiler):
    with pytest.raises(InputError, match="Clamp,floor=0,ceiling=max: it asks for more than a convolution"):
        Problem.parse(CLAMPED)
    (problem,) = profiler.problems("fwd", [CLAMPED])
    assert problem.problem.elementwise.text == "Clamp,floor=0,ceiling=max"


def test_random_sizes_that_do_not_fit_together_are_drawn_again():
    numbers = count()

    def drawn(draw, ndim):
        if (number := next(numbers)) % 2:
            raise InputError("the filter does not fit")
        return number, ndim

    problems = random_problems(SimpleNamespace(random_problem=drawn), random.Random(0), 2)
    assert [*islice(problems, 3)] == [(0, 2), (2, 2), (4, 2)]
