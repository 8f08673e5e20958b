"""Compile and run the C++ tests of what the CUDA model computes on the host; no GPU and no nvcc needed."""

from pathlib import Path

import pytest

from tests.plugins.targets.cpu.cpp_programs import (
    COMPILERS,
    INCLUDES,
    STANDARD,
    case_runner,
    cases_of,
    compile_once,
    run_case,
)

HERE = Path(__file__).parent
FLAGS = ["-march=native", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
#: threads of the device on the host
EMULATED = ["-O0", f"-I{HERE / 'emulated'}", "-Wno-unknown-pragmas", "-Wno-sign-compare", "-Wno-shadow"]
PROGRAMS = {
    "arithmetic": ["-O1"],
    "matrices": ["-O1"],
    "engine_m": EMULATED,
    "depthwise": EMULATED,
    "group_weight": EMULATED,
    "rearranged": EMULATED,
}
SLOW = ("group_weight", "rearranged")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.compiler,
    pytest.mark.skipif(not COMPILERS, reason="no C++ compiler found"),
]


@pytest.mark.parametrize(
    ("program", "case"),
    [
        pytest.param(program, case, marks=[pytest.mark.slow] if program in SLOW else [])
        for program in PROGRAMS
        for case in cases_of(HERE / f"{program}.cpp")
    ],
)
def test_cuda_model(program, case, host_model_folder, host_model_objects):
    """What the programs say of themselves in their first lines."""
    flags = [*STANDARD, *FLAGS, *PROGRAMS[program], f"-I{HERE.parent / 'include'}", *INCLUDES]
    inputs = [HERE / f"{program}.cpp", *host_model_objects, case_runner(host_model_folder, COMPILERS[0])]
    binary = compile_once(host_model_folder, program, [COMPILERS[0], *flags, *inputs])
    run_case(binary, case)
