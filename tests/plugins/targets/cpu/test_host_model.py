"""Compile and run the C++ tests of the host model."""

import pytest

from tests.plugins.targets.cpu.cpp_programs import (
    COMPILERS,
    EACH_COMPILER,
    FEW,
    HERE,
    SANITIZERS,
    cases_of,
    run_case,
    run_cases,
)

USUAL = ["-O1", "-march=native"]

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.thorough,
    pytest.mark.skipif(not COMPILERS, reason="no C++ compiler found"),
]


@pytest.mark.parametrize("compiler", EACH_COMPILER)
@pytest.mark.parametrize("case", cases_of(HERE / "surface.cpp"))
def test_surface(case, compiler, build):
    """Everything but the arithmetic; by default without half conversion instructions."""
    run_case(build("surface", ["-O0"], compiler=compiler, own_runtime=True), case)


@pytest.mark.parametrize(
    ("program", "case"),
    [
        (program, case)
        for program in ("large_tensors", "product_units", "repeats", "stream_k_partition")
        for case in cases_of(HERE / f"{program}.cpp")
    ],
)
def test_host_model(program, case, build):
    """What the programs say of themselves in their first lines."""
    run_case(build(program, USUAL), case)


@pytest.mark.parametrize("compiler", EACH_COMPILER)
@pytest.mark.parametrize("direction", ["forward", "backward", "depthwise"])
def test_numerics(compiler, direction, build):
    """Random problems in all types and dimensions against the definition, bf16 by each unit that is there."""
    binary = build(f"{direction}_numerics", USUAL, compiler=compiler)
    run_cases(binary, rounds=12)
    if direction != "depthwise":
        for unit in ("pairs", "fp32"):
            run_cases(binary, rounds=4, CKPROF_CPU_BF16=unit)


@pytest.mark.slow
def test_pairs_are_imitated(build):
    """On a machine without such instructions, a stand-in for that of pairs computes what its manual says."""
    run_cases(build("product_units", ["-O1"], own_runtime=True), rounds=2)


@pytest.mark.parametrize("unit", ["fp32", "pairs"])
def test_unit_of_the_environment(unit, build):
    """CKPROF_CPU_BF16 rules out better units than the one that it names."""
    case = "units that CKPROF_CPU_BF16 or the compiler's flags rule out are not chosen"
    run_case(build("product_units", USUAL), case, CKPROF_CPU_BF16=unit)


@pytest.mark.slow
def test_forward_numerics_without_wide_vectors(build):
    """The portable paths: 16-byte vectors, no half conversion instructions; header-only."""
    run_cases(build("forward_numerics", ["-O1", FEW], header_only=True), rounds=2)


@pytest.mark.slow
@pytest.mark.parametrize(("program", "sanitizer"), [("product_units", "address"), ("repeats", "thread")])
def test_whole_programs(program, sanitizer, build):
    """No undefined behaviour where bf16 is multiplied, no data race where partial results meet."""
    run_cases(build(program, [*USUAL, *SANITIZERS[sanitizer]], own_runtime=True), rounds=4)


@pytest.mark.parametrize(
    ("direction", "sanitizer"),
    [
        ("backward", "address"),
        pytest.param("forward", "address", marks=pytest.mark.slow),
        pytest.param("depthwise", "address", marks=pytest.mark.slow),
        # the only kernels whose workgroups meet in memory: split-K, stream-K
        ("backward", "thread"),
        pytest.param("forward", "thread", marks=pytest.mark.slow),
        pytest.param("depthwise", "thread", marks=pytest.mark.slow),
    ],
)
def test_sanitizers(direction, sanitizer, build):
    """No undefined behaviour, no access outside the tensors, no data race."""
    # what watches threads takes long to run; of the other, compiling takes longer than running
    optimisation = "-O1" if sanitizer == "thread" else "-O0"
    flags = [optimisation, "-march=native", FEW, *SANITIZERS[sanitizer]]
    run_cases(build(f"{direction}_numerics", flags, own_runtime=True), rounds=2)
