"""Compile and run the C++ tests of the host model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ckprof_plugins.targets.cpu.device_table import device_table_source
from tests.plugins.targets.cpu.cpp_programs import (
    COMPILERS,
    CPU_TARGET,
    EACH_COMPILER,
    HERE,
    INCLUDES,
    SANITIZERS,
    STANDARD,
    WARNINGS,
    run,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not COMPILERS, reason="no C++ compiler found"),
]


def build(compiler: str, program: str, folder: Path, flags: list[str], *, header_only: bool = False) -> Path:
    """Compile one test program together with the runtime."""
    binary = folder / program
    runtime = (
        ["-DCK_TILE_HOST_MODEL_HEADER_ONLY"]
        if header_only
        else sorted((CPU_TARGET / "src").glob("host_model_*.cpp"))
    )
    sources = [HERE / f"{program}.cpp", *runtime, device_table_source()]
    run([compiler, *STANDARD, *WARNINGS, *flags, *INCLUDES, *sources, "-o", binary])
    return binary


@pytest.mark.parametrize("compiler", EACH_COMPILER)
def test_surface(compiler: str, tmp_path: Path) -> None:
    """Everything but the arithmetic; by default without half conversion instructions."""
    assert "surface: ok" in run([build(compiler, "surface", tmp_path, ["-O1"])])


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", EACH_COMPILER)
@pytest.mark.parametrize("direction", ["forward", "backward", "depthwise"])
def test_numerics(compiler: str, direction: str, tmp_path: Path) -> None:
    """Random problems in all types and dimensions against the definition."""
    binary = build(compiler, f"{direction}_numerics", tmp_path, ["-O1", "-march=native"])
    assert f"{direction} numerics: ok" in run([binary, "12"])


@pytest.mark.thorough
def test_large_tensors(tmp_path: Path) -> None:
    """No kernel counts the elements of a tensor with 32 bits; one that does is found."""
    binary = build(COMPILERS[0], "large_tensors", tmp_path, ["-O1", "-march=native"])
    assert "large tensors: ok" in run([binary])


@pytest.mark.thorough
def test_stream_k_partition(tmp_path: Path) -> None:
    """From 1 to 300 workgroups: each iteration once, nothing read before it is written, exact results."""
    binary = build(COMPILERS[0], "stream_k_partition", tmp_path, ["-O1", "-march=native"])
    assert "stream-K partition: ok" in run([binary, "300"])


@pytest.mark.thorough
@pytest.mark.parametrize("sanitizer", [None, pytest.param("thread", marks=pytest.mark.slow)])
def test_repeats(sanitizer: str | None, tmp_path: Path) -> None:
    """Split-K, two-stage and stream-K kernels give the same bits 20 times, on more threads than cores."""
    flags = ["-O1", "-march=native", *(SANITIZERS[sanitizer] if sanitizer else ())]
    assert "repeats: ok" in run([build(COMPILERS[0], "repeats", tmp_path, flags)])


@pytest.mark.thorough
def test_forward_numerics_without_wide_vectors(tmp_path: Path) -> None:
    """The portable paths: 16-byte vectors, no half conversion instructions; header-only."""
    flags = ["-O1", "-DCKPROF_TEST_FEW_KERNELS"]
    binary = build(COMPILERS[0], "forward_numerics", tmp_path, flags, header_only=True)
    assert "forward numerics: ok" in run([binary, "2"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("direction", "sanitizer"),
    [
        ("forward", "address"),
        ("backward", "address"),
        ("depthwise", "address"),
        # the only kernels whose workgroups meet in memory: split-K, stream-K
        ("backward", "thread"),
        pytest.param("forward", "thread", marks=pytest.mark.slow),
        pytest.param("depthwise", "thread", marks=pytest.mark.slow),
    ],
)
def test_sanitizers(direction: str, sanitizer: str, tmp_path: Path) -> None:
    """No undefined behaviour, no access outside the tensors, no data race."""
    # unoptimised: compiling costs more than running here
    flags = ["-O0", "-march=native", "-DCKPROF_TEST_FEW_KERNELS", *SANITIZERS[sanitizer]]
    binary = build(COMPILERS[0], f"{direction}_numerics", tmp_path, flags)
    assert f"{direction} numerics: ok" in run([binary, "2"])
