"""The C++ of matrix-product kernels: golden files, and what compilers say to it."""

import subprocess
from pathlib import Path

import pytest

from tests.measure.fakes import find_compiler
from tests.plugins.pipelines.universal_gemm.products import FAMILY, NEW, NOVEMBER, OLD, broken, make_product

CPU = Path(__file__).parents[4] / "plugins" / "targets" / "cpu"
INCLUDES = {
    OLD: [CPU / "include_2025_07", CPU / "include"],
    NOVEMBER: [CPU / "include_2025_11", CPU / "include"],
    NEW: [CPU / "include"],
}

GOLDEN = {
    "compv3": {},
    "compv4": {"pipeline": "compv4", "tile": (128, 128, 32), "dtype": "bf16"},
    "compv1": {"pipeline": "compv1", "layout": "rrr", "pads": (True, True, True)},
    "persistent": {"pipeline": "mem", "persistent": True, "epilogue": "default", "layout": "crr"},
    "multi_d": {"elementwise_op": "MultiDAdd", "num_d_tensors": 2},
    "batched": {"batched": True, "layout": "rrr"},
}
#: compiled besides
OTHERS = (
    {"dtype": "fp8"},
    {"dtype": "int8", "layout": "ccr"},
    {"pipeline": "mem", "scheduler": "interwave"},
    {"vector_size_a": 2, "vector_size_b": 2, "vector_size_c": 2},
    {"elementwise_op": "MultiDMultiply", "num_d_tensors": 1, "persistent": True, "dtype": "fp8"},
    {"batched": True, "pipeline": "compv1", "epilogue": "default", "dtype": "int8"},
)


@pytest.mark.parametrize("level", INCLUDES)
@pytest.mark.parametrize("changes", GOLDEN.values(), ids=GOLDEN)
def test_golden(changes, level, golden):
    source = FAMILY.render(make_product(**changes), "gfx942", level)
    golden(f"kernels/gemm/{level}/{source.name}.hpp", source.header)
    assert source.launcher == f"{source.name}_Launcher"
    assert source.device_type == f"{source.launcher}::{'Kernel' if level == NEW else 'KernelOf'}"


@pytest.mark.parametrize(
    ("changes", "functions"),
    # hot loops and tails, each stored and added
    [
        *[({"pipeline": "compv1"}, 2), ({}, 6), ({"pipeline": "compv4"}, 8), ({"pipeline": "mem"}, 8)],
        # K is not split with D tensors
        *[({"elementwise_op": "MultiDAdd", "num_d_tensors": 1}, 3), ({"batched": True}, 6)],
        # nor where single halves would have to be added
        *[({"batched": True, "epilogue": "default"}, 3)],
        *[({"batched": True, "epilogue": "default", "dtype": "int8"}, 6)],
    ],
)
def test_device_functions(changes, functions):
    instance = make_product(**changes)
    assert FAMILY.render(instance, "gfx942", OLD).device_functions == functions
    assert FAMILY.render(instance, "gfx942", NEW).device_functions == 1


def test_another_name():
    source = FAMILY.render_named(make_product(), "mine", "gfx942", NEW)
    assert (source.name, source.launcher) == ("mine", "mine_Launcher")
    assert "gemm_fp16" not in source.header


@pytest.mark.compiler
@pytest.mark.parametrize("level", [OLD, pytest.param(NOVEMBER, marks=pytest.mark.thorough), NEW])
def test_compiles_without_a_warning(level, tmp_path):
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C++ compiler found")
    instances = [make_product(**changes) for changes in (*GOLDEN.values(), *OTHERS)]
    assert not any(broken(instance, level) for instance in instances)
    sources = [FAMILY.render(instance, "gfx942", level) for instance in instances]
    lines = []
    for source in sources:
        (tmp_path / f"{source.name}.hpp").write_text(source.header)
        lines += [f'#include "{source.name}.hpp"', f"auto* use_{source.name} = &{source.launcher}::launch;"]
    unit = tmp_path / "all.cpp"
    unit.write_text("\n".join(lines) + "\n")
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        [compiler, *flags, *(f"-I{folder}" for folder in INCLUDES[level]), unit],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_july_turns_the_last_of_two_blocks_twice_on_devices_that_read_transposed():
    def requires(instance, arch, level):
        return "planned != 2," in FAMILY.render(instance, arch, level).header

    turned, contiguous = make_product(layout="rrr"), make_product(layout="rcr")
    assert requires(turned, "gfx950", OLD) and not requires(turned, "gfx942", OLD)
    assert not requires(contiguous, "gfx950", OLD) and not requires(turned, "gfx950", "2025-11")
    assert not requires(make_product(layout="rrr", pipeline="mem"), "gfx950", OLD)
