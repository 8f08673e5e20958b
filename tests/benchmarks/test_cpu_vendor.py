"""The CPU target's kernels against oneDNN, as torch calls it, in CPU time of one thread.

Both take turns, so that what else the machine does falls on both, and the best time of each counts.
Goals: 0.8 of oneDNN's speed in fp32, 0.6 in bf16 where the machine has instructions for it.
CKPROF_TORCH_PYTHON names an interpreter that has torch; CKPROF_CPU_BF16 and ONEDNN_MAX_CPU_ISA rule out
instructions of either.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugins.targets.cpu.cpp_programs import COMPILERS, INCLUDES, STANDARD, run, runtime_objects

#: on a busy machine
pytestmark = [pytest.mark.compiler, pytest.mark.timeout(3600)]

#: N C K, size, filter, stride
LAYERS = (
    (8, 128, 128, 28, 3, 1),
    (8, 64, 64, 56, 3, 1),
    (8, 256, 256, 14, 3, 1),
    (8, 256, 64, 56, 1, 1),
    (8, 128, 256, 28, 3, 2),
)
DIRECTIONS = ("fwd", "bwd_data", "bwd_weight")
ROUNDS = 12
#: as the CPU target compiles what takes the time
FLAGS = ["-O3", "-march=native", "-ffp-contract=fast", "-Wno-psabi"]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The program that runs kernels."""
    folder = tmp_path_factory.mktemp("kernels")
    objects = runtime_objects(folder, COMPILERS[0], FLAGS)
    source = Path(__file__).with_name("cpu_kernels.cpp")
    program = folder / "cpu_kernels"
    run([COMPILERS[0], *STANDARD, "-O1", "-march=native", *INCLUDES, source, *objects, "-o", program])
    return program


@pytest.fixture(scope="module")
def torch_python():
    """An interpreter that has torch."""
    python = os.environ.get("CKPROF_TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no torch: name an interpreter that has it in CKPROF_TORCH_PYTHON")
    return python


def alternate(*commands):
    """Let programs compute in turns; return the best rate of each."""
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for command in commands
    ]
    rates = [0.0] * len(children)
    for _ in range(ROUNDS):
        for i, child in enumerate(children):
            assert child.stdin is not None and child.stdout is not None
            child.stdin.write("\n")
            child.stdin.flush()
            rates[i] = float(child.stdout.readline())
    for child in children:
        child.communicate()
        assert child.returncode == 0
    return rates


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_against_onednn(benchmark, kernels, torch_python, dtype, direction):
    script = Path(__file__).with_name("cpu_vendor.py")
    ratios = []

    def measure():
        for layer in LAYERS:
            arguments = [direction, dtype, *map(str, layer)]
            ours, theirs = alternate([str(kernels), *arguments], [torch_python, str(script), *arguments])
            ratios.append(ours / theirs)
            print(f"\n{dtype} {direction} {layer}: {ours:.0f} of {theirs:.0f} GFLOP/s, {ratios[-1]:.2f}")

    benchmark.pedantic(measure, rounds=1)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    benchmark.extra_info.update(ratios=ratios, geometric_mean=mean)
    print(f"{dtype} {direction}: geometric mean {mean:.2f}")
