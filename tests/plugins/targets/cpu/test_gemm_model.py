"""Compile and run the C++ tests of the host model's plain GEMM kernels, at both interface levels."""

import pytest

from tests.plugins.targets.cpu.cpp_programs import (
    COMPILERS,
    CPU_TARGET,
    FEW,
    HERE,
    SANITIZERS,
    cases_of,
    run_case,
    run_cases,
)

pytestmark = [pytest.mark.compiler, pytest.mark.skipif(not COMPILERS, reason="no C++ compiler found")]

#: -Wpedantic would warn about #include_next; a level's headers come before the others
LEVEL_2025_07 = [f"-I{CPU_TARGET / 'include_2025_07'}", "-Wno-pedantic"]
LEVELS = {"latest": [], "2025-07": LEVEL_2025_07}
FAST = ["-O1", "-march=native"]


@pytest.mark.thorough
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", cases_of(HERE / "gemm_support.cpp"))
def test_support(case, level, build):
    """Vector widths, the support test against the table of layouts, the parts of split-K, 8-bit types."""
    run_case(build("gemm_support", ["-O0", *LEVELS[level]]), case)


@pytest.mark.thorough
def test_numerics(build):
    """Random problems in all types and layouts, with and without padding, against the definition."""
    run_cases(build("gemm_numerics", FAST), rounds=2)


@pytest.mark.thorough
def test_numerics_2025_07(build):
    """The loop ends and the way of storing are template arguments."""
    run_cases(build("gemm_numerics", ["-O0", "-march=native", FEW, *LEVEL_2025_07]), rounds=1)


@pytest.mark.slow
def test_all_kernels_2025_07(build):
    """Every kernel of the newer level that the older one has."""
    run_cases(build("gemm_numerics", [*FAST, *LEVEL_2025_07]), rounds=4)


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["latest", pytest.param("2025-07", marks=pytest.mark.slow)])
def test_variants(level, build):
    """Products with D tensors and batches on random problems, with fences between rows and matrices."""
    run_cases(build("gemm_variants", ["-O0", "-march=native", *LEVELS[level]]), rounds=3)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["gemm_numerics", "gemm_variants"])
@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("level", LEVELS)
def test_sanitizers(level, sanitizer, program, build):
    """No undefined behaviour, no access outside the matrices, no data race."""
    flags = [*FAST, FEW, *SANITIZERS[sanitizer], *LEVELS[level]]
    run_cases(build(program, flags, own_runtime=True), rounds=2)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS[1:])
@pytest.mark.parametrize("level", LEVELS)
def test_other_compilers(compiler, level, build):
    """The sources compile without a warning and compute the same."""
    run_cases(build("gemm_numerics", [*FAST, *LEVELS[level], FEW], compiler=compiler), rounds=2)
