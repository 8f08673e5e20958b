"""C++ and Python make the same choice and predict the same times, to the last bit."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from ckprof.errors import InputError
from ckprof.kernels.c_interface import ABI_INCLUDE_DIR
from ckprof.model.gemm_work import KernelTraits, Reduction, RunAxis, RunChunks, Schedule
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.tuning.time_model.embedding import render_cpp
from ckprof_plugins.tuning.time_model.selector import Selector
from plugins.tuning.tests.sizes import FORMS, forward_with_runs

SOURCE = Path(__file__).with_name("parity.cpp")
PROBLEMS = 10_000


def random_problem(source):
    while True:
        ndim = source.choice((1, 2, 2, 2, 3))

        def several(least, most, ndim=ndim):
            return tuple(source.randint(least, most) for _ in range(ndim))

        try:
            return ConvProblem(
                groups=source.choice((1, 1, 1, 2, 32)),
                batch=int(2 ** source.uniform(0, 8)),
                out_channels=int(2 ** source.uniform(0, 12)),
                in_channels=int(2 ** source.uniform(0, 12)),
                filter=several(1, 5),
                input=tuple(int(2 ** source.uniform(0, 9)) for _ in range(ndim)),
                strides=several(1, 3),
                dilations=several(1, 2),
                left_pads=several(0, 2),
                right_pads=several(0, 2),
            )
        except InputError:
            continue


def line(problem):
    words = [problem.ndim, problem.groups, problem.batch, problem.out_channels, problem.in_channels]
    for values in (
        problem.filter,
        problem.input,
        problem.strides,
        problem.dilations,
        problem.left_pads,
        problem.right_pads,
    ):
        words += values
    return " ".join(map(str, words))


def chunks(axis, size):
    return RunChunks(axis=axis, size=size, least=16, short_k=32)


def candidates(model):
    """Return all measured kernels and unmeasured ones of every other kind, and what they are chosen with."""
    pipeline, tile = ("compv3",), (64, 64, 32)
    rows, columns = chunks(RunAxis.REDUCTION, 64), chunks(RunAxis.COLUMNS, 32)
    others = {
        "split": KernelTraits(tile=tile, labels=pipeline),
        "staged": KernelTraits(tile=tile, reduction=Reduction.WORKSPACE, labels=pipeline),
        "stream": KernelTraits(tile=(256, 64, 64), schedule=Schedule.STREAM, labels=pipeline),
        "chunks": KernelTraits(tile=(64, 64, 64), chunks=rows, lds_stages=4, labels=pipeline),
        "column chunks": KernelTraits(
            tile=(64, 64, 64), reduction=Reduction.ARRIVAL, chunks=columns, labels=pipeline
        ),
        "window": KernelTraits(tile=(8, 8, 2), schedule=Schedule.WINDOW),
    }
    splits = {"split": (1, 2, 8), "staged": (1, 4), "column chunks": (1, 4)}
    traits = {name: kernel.traits for name, kernel in model.kernels.items()} | others
    return traits, [(name, count) for name in traits for count in splits.get(name, (1,))]


@pytest.mark.thorough
@pytest.mark.compiler
def test_ten_thousand_random_problems(tmp_path, model_both):
    compiler = shutil.which("g++") or shutil.which("clang++")
    assert compiler is not None
    offered, choices = candidates(model_both)
    selector = Selector(model_both, offered, forward_with_runs, choices=choices)
    names = list(offered)
    (tmp_path / "time_model.hpp").write_text(render_cpp(selector, names, FORMS, by_values=False))
    program = tmp_path / "parity"
    command = [compiler, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-march=native"]
    command += [f"-I{tmp_path}", f"-I{ABI_INCLUDE_DIR}", str(SOURCE), "-o", str(program)]
    subprocess.run(command, check=True)
    source = random.Random(7)
    problems = [random_problem(source) for _ in range(PROBLEMS)]
    given = "\n".join(map(line, problems))
    printed = subprocess.run([program], input=given, text=True, capture_output=True, check=True).stdout
    chosen = set()
    for problem, words in zip(problems, map(str.split, printed.splitlines()), strict=True):
        name, splits = selector.best(problem)
        chosen.add(name)
        assert (names[int(words[0])], int(words[1])) == (name, splits), problem
        times = selector.program_of_form(FORMS[problem.ndim]).times(problem)
        assert [float.fromhex(word) for word in words[2:]] == list(times), problem
    # the problems reach many kernels
    assert len(chosen) > 8
