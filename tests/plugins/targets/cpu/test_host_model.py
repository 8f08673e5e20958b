"""Compile and run the C++ tests of the host model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ckprof_plugins.targets.cpu.recipe import device_table_source
from tests.plugins.targets.cpu.cpp_programs import (
    COMPILERS,
    EACH_COMPILER,
    HERE,
    INCLUDES,
    SANITIZERS,
    STANDARD,
    WARNINGS,
    compile_once,
    run,
    runtime_objects,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: leaves out kernels of a test program
FEW = "-DCKPROF_TEST_FEW_KERNELS"

#: programs with these flags are linked with what libraries are linked with
USUAL = ["-O1", "-march=native"]

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not COMPILERS, reason="no C++ compiler found"),
]


@pytest.fixture
def build(host_model_folder: Path, host_model_objects: list[Path]) -> Callable[..., Path]:
    """Return a function that compiles a test program and the runtime, once for the same flags."""

    def build_program(
        program: str, flags: list[str], *, compiler: str = COMPILERS[0], header_only: bool = False
    ) -> Path:
        inputs = [HERE / f"{program}.cpp"]
        if header_only:
            flags = [*flags, "-DCK_TILE_HOST_MODEL_HEADER_ONLY"]
            inputs.append(device_table_source())
        elif flags == USUAL and compiler == COMPILERS[0]:
            inputs += host_model_objects
        else:
            own = [flag for flag in flags if flag != FEW]
            inputs += runtime_objects(host_model_folder, compiler, [*own, "-fPIC"])
        return compile_once(
            host_model_folder, program, [compiler, *STANDARD, *WARNINGS, *flags, *INCLUDES, *inputs]
        )

    return build_program


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", EACH_COMPILER)
def test_surface(compiler: str, build: Callable[..., Path]) -> None:
    """Everything but the arithmetic; by default without half conversion instructions."""
    assert "surface: ok" in run([build("surface", ["-O0"], compiler=compiler)])


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", EACH_COMPILER)
@pytest.mark.parametrize("direction", ["forward", "backward", "depthwise"])
def test_numerics(compiler: str, direction: str, build: Callable[..., Path]) -> None:
    """Random problems in all types and dimensions against the definition, bf16 by each unit that is there."""
    binary = build(f"{direction}_numerics", USUAL, compiler=compiler)
    assert f"{direction} numerics: ok" in run([binary, "12"])
    if direction != "depthwise":
        for unit in ("pairs", "fp32"):
            assert f"{direction} numerics: ok" in run([binary, "4"], CKPROF_CPU_BF16=unit)


@pytest.mark.thorough
@pytest.mark.parametrize("sanitizer", [None, pytest.param("address", marks=pytest.mark.slow)])
def test_product_units(sanitizer: str | None, build: Callable[..., Path]) -> None:
    """What multiplies bf16, where the machine has it: when it is chosen, and which bits it computes."""
    flags = [*USUAL, *(SANITIZERS[sanitizer] if sanitizer else ())]
    assert "product units: ok" in run([build("product_units", flags), "4"])


@pytest.mark.thorough
def test_pairs_are_imitated(build: Callable[..., Path]) -> None:
    """On a machine without such instructions, a stand-in for that of pairs computes what its manual says."""
    output = run([build("product_units", ["-O1"]), "2"])
    assert "best unit for bf16: fp32" in output
    assert "product units: ok" in output


@pytest.mark.thorough
@pytest.mark.parametrize("unit", ["fp32", "pairs"])
def test_unit_of_the_environment(unit: str, build: Callable[..., Path]) -> None:
    """CKPROF_CPU_BF16 rules out better units than the one that it names."""
    binary = build("product_units", USUAL)
    named = run([binary, "1"], CKPROF_CPU_BF16=unit).partition("\n")[0].rpartition(" ")[2]
    assert named in {"fp32": ("fp32",), "pairs": ("fp32", "pairs")}[unit]


@pytest.mark.thorough
def test_large_tensors(build: Callable[..., Path]) -> None:
    """No kernel counts the elements of a tensor with 32 bits; one that does is found."""
    binary = build("large_tensors", USUAL)
    assert "large tensors: ok" in run([binary])


@pytest.mark.thorough
def test_stream_k_partition(build: Callable[..., Path]) -> None:
    """From 1 to 300 workgroups: each iteration once, nothing read before it is written, exact results."""
    binary = build("stream_k_partition", USUAL)
    assert "stream-K partition: ok" in run([binary, "300"])


@pytest.mark.thorough
@pytest.mark.parametrize("sanitizer", [None, pytest.param("thread", marks=pytest.mark.slow)])
def test_repeats(sanitizer: str | None, build: Callable[..., Path]) -> None:
    """Split-K, two-stage and stream-K kernels give the same bits 20 times, on more threads than cores."""
    flags = [*USUAL, *(SANITIZERS[sanitizer] if sanitizer else ())]
    assert "repeats: ok" in run([build("repeats", flags)])


@pytest.mark.thorough
def test_forward_numerics_without_wide_vectors(build: Callable[..., Path]) -> None:
    """The portable paths: 16-byte vectors, no half conversion instructions; header-only."""
    flags = ["-O1", FEW]
    binary = build("forward_numerics", flags, header_only=True)
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
def test_sanitizers(direction: str, sanitizer: str, build: Callable[..., Path]) -> None:
    """No undefined behaviour, no access outside the tensors, no data race."""
    # what watches threads takes long to run; of the other, compiling takes longer than running
    optimisation = "-O1" if sanitizer == "thread" else "-O0"
    flags = [optimisation, "-march=native", FEW, *SANITIZERS[sanitizer]]
    binary = build(f"{direction}_numerics", flags)
    assert f"{direction} numerics: ok" in run([binary, "2"])
