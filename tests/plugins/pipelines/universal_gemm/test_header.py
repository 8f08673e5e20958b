"""The C++ of matrix-product kernels: golden files, and what compilers say to it."""

import json
import subprocess
from collections import Counter
from difflib import unified_diff
from pathlib import Path

import pytest

import ckprof
from ckprof.cli.main import main
from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance
from ckprof_plugins.pipelines.universal_gemm.reading import native_vectors
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, Scheduler
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
    """What a level changes is kept as the difference from the next one, the newest as a whole."""
    instance = make_product(**changes)
    source = FAMILY.render(instance, "gfx942", level)
    if level == NEW:
        golden(f"kernels/gemm/{source.name}.hpp", source.header)
    else:
        newer = FAMILY.render(instance, "gfx942", NOVEMBER if level == OLD else NEW)
        lines = [one.header.splitlines(keepends=True) for one in (newer, source)]
        golden(f"kernels/gemm/{level}/{source.name}.diff", "".join(unified_diff(*lines, n=0)))
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


LISTS = ("rcr_fp16", "rrr_fp16")
LANES = 64


def kernels(name):
    query = ckprof.InstanceQuery(directions=("gemm",), conf=(f"gemm/universal/{name}",))
    found = [one.instance for one in ckprof.Profiler().instances(query).candidates]
    assert all(isinstance(one, UniversalGemmInstance) for one in found)
    return found


@pytest.mark.parametrize("level", [OLD, NOVEMBER])
@pytest.mark.parametrize("name", LISTS)
def test_what_headers_of_2025_reject(name, level):
    for one in kernels(name):
        rules = set()
        if one.gemm_pipeline is GemmPipeline.COMPV5:
            rules.add("api-level-feature")
        if one.gemm_pipeline is GemmPipeline.COMPV1 and one.scheduler is Scheduler.INTERWAVE:
            rules.add("api-level-feature")
        if 224 in (one.tile.m, one.tile.n):
            rules.add("shuffle-repeat")
        assert set(broken(one, level)) == rules


def width(fast, share):
    """Return the elements of 2 bytes of one access: the widest that divide the tile's line and a share."""
    return next(size for size in (8, 4, 2, 1) if fast % size == share % size == 0)


@pytest.mark.parametrize("name", LISTS)
def test_widths_follow_from_the_tile(name):
    for one in kernels(name):
        threads = LANES * one.wave_grid.m * one.wave_grid.n
        m, n, k = one.tile.sizes
        row_major_b = name.startswith("rr")
        b_fast = n if row_major_b else k
        if one.gemm_pipeline is GemmPipeline.COMPV1:
            a = 1 if one.pad_k else 8
            # a row-major B is loaded across its lines
            b = (1 if one.pad_k else min(8, n * k // threads)) if row_major_b else (1 if one.pad_n else 8)
        else:
            a, b = width(k, m * k // threads), width(b_fast, n * k // threads)
        c = min(one.mma_tile.n * one.wave_grid.n, 8)
        assert native_vectors(one, LANES) == (a, b, c), one


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("level", ["2025-07", "2026-06"])
@pytest.mark.parametrize("name", LISTS)
def test_kernels_compute_the_default_problem_or_say_why_not(name, level, capsys):
    options = ["--api-level", level, "--max-time", "0.01", "--format", "json"]
    code = main(["run", "gemm", "--conf", f"gemm/universal/{name}", *options])
    report = json.loads(capsys.readouterr().out)
    assert code == 0
    outcomes = [outcome for problem in report["problems"] for outcome in problem["outcomes"]]
    assert len(outcomes) == len(kernels(name))
    statuses = Counter(outcome["status"] for outcome in outcomes)
    assert statuses.keys() <= {"ok", "unsupported"}, statuses
    assert statuses["ok"] > 0.7 * len(outcomes)


@pytest.mark.parametrize(
    ("changes", "vectors"),
    [
        ({"layout": "rcr"}, (8, 8, 8)),
        ({"layout": "rrr"}, (8, 8, 8)),
        ({"layout": "crr"}, (8, 8, 8)),
        ({"dtype": "fp8"}, (16, 16, 8)),
        ({"tile": (256, 16, 64), "waves": (4, 1, 1), "mma": (16, 16, 32)}, (8, 4, 8)),
        ({"tile": (32, 16, 64), "waves": (2, 1, 1), "mma": (16, 16, 32)}, (8, 8, 8)),
        ({"tile": (16, 16, 128), "waves": (1, 1, 1), "mma": (16, 16, 32)}, (8, 8, 8)),
        ({"tile": (224, 256, 64), "mma": (16, 16, 32)}, (8, 8, 8)),
        ({"pipeline": "compv1", "pads": (True, True, True)}, (1, 1, 8)),
        ({"pipeline": "compv1"}, (8, 8, 8)),
    ],
)
def test_widths_of_the_real_headers(changes, vectors):
    assert native_vectors(make_product(**changes), LANES) == vectors


@pytest.mark.parametrize(
    ("layout", "pads", "vectors"),
    [
        # A's fast axis is K or M; of B the other one counts: N where K is the fast one, K where N is
        ("rcr", (False, False, True), (1, 8)),
        ("rcr", (True, True, False), (8, 1)),
        ("rrr", (False, False, True), (1, 1)),
        ("rrr", (True, True, False), (8, 8)),
        ("ccr", (True, False, False), (1, 8)),
        ("crr", (False, True, True), (8, 1)),
    ],
)
def test_the_first_pipeline_looks_at_one_pad_for_each_operand(layout, pads, vectors):
    kernel = make_product(pipeline="compv1", layout=layout, pads=pads)
    assert native_vectors(kernel, LANES)[:2] == vectors
