"""Which problems a command is told to run, and how."""

import pytest

from ckprof.errors import ExitCode

PLANNED = ("run", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--instance", "1", "--dry-run")


def test_the_layers_of_a_network_with_their_batch(ckprof):
    code, out, _ = ckprof(*PLANNED, "--problem-set", "resnet50", "--batch", "4")
    assert code == 0 and "\nand run on 23 problems:\n  2D G1 N4 K64 C3 in 224x224 " in out
    ckprof(*PLANNED, "--batch", "4").fails_with(2, "requires --problem-set")


@pytest.mark.parametrize(
    ("option", "value", "part"),
    [
        ("--jobs", "0", "positive integer"),
        ("--jobs", "many", "positive integer"),
        ("--instance", "-1", "non-negative integer"),
        ("--timeout", "nan", "timeout"),
        ("--timeout", "-3", "timeout"),
        ("--instance", "99", "there are 4 instances"),
        ("--filter", "(", "--filter '(' is not a regular expression"),
        ("--filter", "no_such_kernel", "none of the 4 instances passes"),
        ("--pipeline", "implicit_gem", "did you mean 'implicit_gemm'?"),
        ("--target", "gpu", "unknown target 'gpu'"),
        ("--format", "xml", "xml"),
        ("--criterion", "stdrell", "stdrel"),
        ("--criterion", "stdrel:noise", "KEY=NUMBER"),
        ("--cache", "lukewarm", "lukewarm"),
        ("--layout", "nchw", "unknown layout"),
        ("--dtype", "fp6", "unknown data type 'fp6'"),
        ("--min-samples", "-1", "min_samples is -1"),
    ],
)
def test_wrong_values(ckprof, short_list, option, value, part):
    called = ckprof("run", "fwd", "--conf", short_list, "--dry-run", f"{option}={value}")
    called.fails_with(ExitCode.USAGE, part)


@pytest.mark.parametrize(
    ("problem", "part"),
    [
        ("conv -n 0 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3", "batch is 0"),
        ("conv -n 1 -c 8 -H 2 -W 8 -k 8 -y 3 -x 3", "the output is empty along H"),
        ("", "the problem is empty"),
    ],
)
def test_bad_problems(ckprof, short_list, problem, part):
    ckprof("run", "fwd", "--conf", short_list, "--problem", problem).fails_with(ExitCode.INPUT, part)


def test_bad_problem_file(ckprof, short_list, tmp_path):
    path = tmp_path / "problems.txt"
    path.write_text("# one\nconv -n 1 -c 8 -H 8 -W 8 -k 8 -y 3 -x\n")
    called = ckprof("run", "fwd", "--conf", short_list, "--problems", path)
    called.fails_with(ExitCode.INPUT, f"{path}:2:", "-x needs a value")


def test_flag_and_lines_contradict(ckprof, short_list):
    called = ckprof("run", "fwd", "--conf", short_list, "--dtype", "fp32")
    called.fails_with(ExitCode.INPUT, "fp32", "fp16")
