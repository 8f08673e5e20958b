"""Counts of instructions against the compiler's own assembly, which no disassembler has seen."""

import re
import shutil
import subprocess

import pytest

from ckprof.errors import ToolchainError
from ckprof_plugins.targets.hip.code_object import read_kernels
from ckprof_plugins.targets.hip.instructions import find_disassembler

COMPILER = shutil.which("clang++-19") or shutil.which("clang++")
SOURCE = """
#define KERNEL extern "C" __attribute__((amdgpu_kernel)) void
KERNEL one(float* p) { p[0] = 1; }
KERNEL sum(float* p) { for (int i = 0; i < p[3]; ++i) p[i] += 1.0f; __builtin_amdgcn_s_barrier(); p[7] = 2; }
KERNEL copies(int* p) { for (int i = 0; i < 40; ++i) p[i * 7] = p[i * 5 + 1000]; }
KERNEL last(double* p) { p[1] = p[0] * p[2]; }
"""


def counted_in_assembly(text):
    """Instructions between the label of each kernel and its end."""
    counts = {}
    for name, body in re.findall(r"^(\w+):[^\n]*\n(.*?)^\.Lfunc_end", text, re.MULTILINE | re.DOTALL):
        lines = (line.partition(";")[0].strip() for line in body.splitlines())
        counts[name] = sum(1 for line in lines if re.match(r"[a-z]\w+(\s|$)", line))
    return counts


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("linked", [False, True])
def test_counts_are_those_of_the_compiler(tmp_path, arch, linked):
    if COMPILER is None:
        pytest.skip("no clang++ for AMD GPUs")
    try:
        find_disassembler()
    except ToolchainError as error:
        pytest.skip(str(error))
    source, code = tmp_path / "kernels.cpp", tmp_path / "kernels.co"
    source.write_text(SOURCE)
    command = [COMPILER, "-x", "c++", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-nogpulib", "-O2"]
    assembly = subprocess.run(
        [*command, "-S", "-o", "-", str(source)], capture_output=True, text=True, check=False
    )
    built = subprocess.run(
        [*command, *(() if linked else ("-c",)), "-o", str(code), str(source)],
        check=False,
        capture_output=True,
    )
    if assembly.returncode or built.returncode:
        pytest.skip("the compiler does not build for AMD GPUs")
    expected = counted_in_assembly(assembly.stdout)
    assert set(expected) == {"one", "sum", "copies", "last"}
    found = {kernel.symbol: kernel for kernel in read_kernels(code, arch)}
    assert {name: kernel.instructions for name, kernel in found.items()} == expected
    # every instruction has four, eight or twelve bytes
    assert all(4 * k.instructions <= k.code_bytes <= 12 * k.instructions for k in found.values())
