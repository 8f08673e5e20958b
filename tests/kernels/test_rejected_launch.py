"""What a launch throws becomes a status: a condition that is not met is no failure of the kernel."""

import subprocess
from pathlib import Path

import pytest

import ckprof.kernels
from ckprof_plugins.targets.cpu.target import INCLUDE_DIR
from tests.places import cxx


@pytest.mark.compiler
def test_a_launch_that_the_device_cannot_do_is_rejected(tmp_path, host_model_objects):
    abi = Path(ckprof.kernels.__file__).parent / "abi"
    program = Path(__file__).with_name("rejected_launch.cpp")
    command = [cxx(), "-std=c++20", "-O0", "-march=native", "-w", f"-I{INCLUDE_DIR}", f"-I{abi}"]
    command.append("-DCK_EXPERIMENTAL_BUILDER")
    sources = [str(program), *map(str, host_model_objects)]
    executable = tmp_path / "program"
    subprocess.run([*command, *sources, "-pthread", "-o", str(executable)], check=True, timeout=300)
    seen = subprocess.run([str(executable)], check=True, capture_output=True, text=True, timeout=20).stdout
    assert seen.splitlines() == ["1 device-memory: there is none", "2 it broke"]
