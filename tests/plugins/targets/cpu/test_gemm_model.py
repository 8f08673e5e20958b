"""Compile and run the C++ tests of the host model's plain GEMM kernels, at both interface levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ckprof_plugins.targets.cpu.recipe import device_table_source
from tests.plugins.targets.cpu.cpp_programs import (
    COMPILERS,
    CPU_TARGET,
    HERE,
    INCLUDES,
    SANITIZERS,
    STANDARD,
    WARNINGS,
    run,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not COMPILERS, reason="no C++ compiler found"),
]

#: -Wpedantic would warn about #include_next
LEVEL_2025_07 = [f"-I{CPU_TARGET / 'include_2025_07'}", "-Wno-pedantic"]
LEVELS = {"latest": [], "2025-07": LEVEL_2025_07}
FAST = ["-O1", "-march=native"]


def compile_object(compiler: str, source: Path, output: Path, flags: list[str]) -> Path:
    """Compile one file; a level's headers come before the others."""
    run([compiler, *STANDARD, *WARNINGS, *flags, *INCLUDES, "-c", source, "-o", output])
    return output


@pytest.fixture
def build(host_model_objects: list[Path], tmp_path: Path) -> Callable[[str, list[str]], Path]:
    """Return a function that compiles one test program with further flags."""

    def build_program(program: str, flags: list[str]) -> Path:
        objects = [compile_object(COMPILERS[0], HERE / f"{program}.cpp", tmp_path / f"{program}.o", flags)]
        run([COMPILERS[0], "-pthread", *objects, *host_model_objects, "-o", tmp_path / program])
        return tmp_path / program

    return build_program


@pytest.mark.thorough
@pytest.mark.parametrize("level", LEVELS)
def test_support(level: str, build: Callable[[str, list[str]], Path]) -> None:
    """Vector widths, the support test against the table of layouts, the parts of split-K, 8-bit types."""
    assert "gemm support: ok" in run([build("gemm_support", ["-O0", *LEVELS[level]])])


@pytest.mark.thorough
def test_numerics(build: Callable[[str, list[str]], Path]) -> None:
    """Random problems in all types and layouts, with and without padding, against the definition."""
    assert "gemm numerics: ok" in run([build("gemm_numerics", FAST), "2"])


@pytest.mark.thorough
def test_numerics_2025_07(build: Callable[[str, list[str]], Path]) -> None:
    """The loop ends and the way of storing are template arguments."""
    few = ["-O0", "-march=native", "-DCKPROF_TEST_FEW_KERNELS", *LEVEL_2025_07]
    assert "gemm numerics: ok" in run([build("gemm_numerics", few), "1"])


@pytest.mark.slow
def test_all_kernels_2025_07(build: Callable[[str, list[str]], Path]) -> None:
    """Every kernel of the newer level that the older one has."""
    assert "gemm numerics: ok" in run([build("gemm_numerics", [*FAST, *LEVEL_2025_07]), "4"])


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["latest", pytest.param("2025-07", marks=pytest.mark.slow)])
def test_variants(level: str, build: Callable[[str, list[str]], Path]) -> None:
    """Products with D tensors and batches on random problems, with fences between rows and matrices."""
    flags = ["-O0", "-march=native", *LEVELS[level]]
    assert "gemm variants: ok" in run([build("gemm_variants", flags), "3"])


@pytest.mark.slow
@pytest.mark.parametrize("program", ["gemm_numerics", "gemm_variants"])
@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("level", LEVELS)
def test_sanitizers(level: str, sanitizer: str, program: str, tmp_path: Path) -> None:
    """No undefined behaviour, no access outside the matrices, no data race."""
    flags = ["-O1", "-march=native", "-DCKPROF_TEST_FEW_KERNELS", *SANITIZERS[sanitizer], *LEVELS[level]]
    sources = [
        HERE / f"{program}.cpp",
        *sorted((CPU_TARGET / "src").glob("host_model_*.cpp")),
        device_table_source(),
    ]
    binary = tmp_path / program
    run([COMPILERS[0], *STANDARD, *WARNINGS, *flags, *INCLUDES, *sources, "-o", binary])
    assert f"{program.replace('_', ' ')}: ok" in run([binary, "2"])


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS[1:])
@pytest.mark.parametrize("level", LEVELS)
def test_other_compilers(compiler: str, level: str, tmp_path: Path) -> None:
    """The sources compile without a warning and compute the same."""
    sources = [
        HERE / "gemm_numerics.cpp",
        *sorted((CPU_TARGET / "src").glob("host_model_*.cpp")),
        device_table_source(),
    ]
    binary = tmp_path / "gemm_numerics"
    flags = [*FAST, *LEVELS[level], "-DCKPROF_TEST_FEW_KERNELS"]
    run([compiler, *STANDARD, *WARNINGS, *flags, *INCLUDES, *sources, "-o", binary])
    assert "gemm numerics: ok" in run([binary, "2"])
