"""Batched matrix products and those with D tensors, from the catalog to the verified result on the CPU."""

import json
import random

import numpy as np
import pytest

import ckprof
from ckprof.errors import InputError, UsageError
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import GemmProblem, MultiDProblem, StridedBatchProblem
from tests.called import ckprof_apart
from tests.e2e.catalogs import PRODUCT_TILE, write_catalog
from tests.e2e.test_gemm_operation import run_c_program

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

TILE = {
    **PRODUCT_TILE,
    **{"tile_m": 32, "tile_n": 32, "tile_k": 16, "pad_m": True, "pad_n": True, "pad_k": True},
    **{"warp_tile_m": 16, "warp_tile_n": 16},
}
#: plain, batched, and each operation with one and two D tensors
KERNELS = [
    {},
    {"batched": True},
    {"elementwise_op": "MultiDAdd", "num_d_tensors": 2},
    {"elementwise_op": "MultiDMultiply", "num_d_tensors": 1},
]
LAYOUTS = ["crr", *(pytest.param(name, marks=pytest.mark.slow) for name in ("rcr", "rrr", "ccr"))]


def catalog(folder, layout, dtype, **changes):
    path = folder / f"{layout}_{dtype}.json"
    return write_catalog(path, "gemm", KERNELS, usual={**TILE, **changes}, layout=layout, dtype=dtype)


def random_lines(layout, count, grain=8):
    """Lines of all kinds of problems: odd M, gaps between rows and between matrices, whole vectors.

    :param grain: what is contiguous is a multiple of it.
    """
    draw = random.Random(layout)
    lines = []
    for _ in range(count):
        splits = draw.choice((1, 1, 2))
        # each split must have a whole step of the MMA tile
        k = grain * draw.randint(4 * splits - 2, 8)
        m, n = grain * draw.choice((1, 3, 5, 7)), grain * draw.randint(1, 9)
        if layout[0] == "r":
            m += draw.randint(-7, 7)
        runs = {"a": k if layout[0] == "r" else m, "b": n if layout[1] == "r" else k, "e": n}
        rows = {"a": m + k - runs["a"], "b": n + k - runs["b"], "e": m}
        strides = {name: run + draw.choice((0, grain, 2 * grain)) for name, run in runs.items()}
        options = [f"-m={m} -n={n} -k={k}", *(f"-stride_{name}={value}" for name, value in strides.items())]
        kind = draw.choice(("plain", "batch", "d"))
        if kind == "batch":
            options.append(f"-batch={draw.randint(1, 4)}")
            for name, count_of in rows.items():
                extent = (count_of - 1) * strides[name] + runs[name]
                # matrices that touch, with and without a gap behind the last row, and others
                apart = draw.choice((0, extent, extent + grain, count_of * strides[name] + 64))
                options.append(f"-batch_stride_{name}={apart}")
        if kind == "d":
            op = draw.choice(("MultiDAdd -num_d_tensors=2", "MultiDMultiply -num_d_tensors=1"))
            options.append(f"-elementwise_op={op} -stride_ds={draw.choice((0, n, n + 3 * grain))}")
        options.append(f"-split_k={splits}")
        lines.append(" ".join(options))
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_problems(ckprof, tmp_path, layout):
    """Results are right, what lies between rows and matrices stays as it is, and splits add to nothing."""
    lines = random_lines(layout, 30)
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    called = ckprof(
        "run", "gemm", "--conf", catalog(tmp_path, layout, "fp16"), "--problems", tmp_path / "lines.txt",
        "--max-time", "0.01", "--format", "json", timeout=600,
    )  # fmt: skip
    assert called.out, called.err
    problems = json.loads(called.out)["problems"]
    assert len(problems) == len(lines)
    for line, problem in zip(lines, problems, strict=True):
        able = {0, 1} if problem["batch"] == 1 else {1}
        with_d = "elementwise_op" in line
        if with_d:
            able = {2 if "MultiDAdd" in line else 3}
        for outcome in problem["outcomes"]:
            if outcome["instance"] in able and not (with_d and "-split_k=2" in line):
                assert outcome["status"] == "ok", (line, outcome)
                elements = problem["m"] * problem["n"] * problem["batch"]
                assert outcome["verification"]["elements"] == elements
                continue
            conditions = {one["condition"] for one in outcome["refusals"]}
            assert outcome["status"] == "unsupported", (line, outcome)
            assert conditions - {"untested"} == {"split-k" if outcome["instance"] in able else "problem"}, (
                line,
                outcome,
            )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bf16", "fp8", "fp32"])
@pytest.mark.parametrize("level", ["2025-07", "2026-06"])
def test_other_types_and_levels(ckprof, tmp_path, dtype, level):
    if dtype == "fp32" and level == "2025-07":
        pytest.skip("headers of that time multiply no fp32")
    changes = {"warp_tile_k": 32, "tile_k": 32} if dtype == "fp8" else {}
    conf = catalog(tmp_path, "rcr", dtype, **changes)
    lines = [line for line in random_lines("rcr", 20, grain=16) if "-split_k=2" not in line]
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    called = ckprof(
        "run", "gemm", "--conf", conf, "--problems", tmp_path / "lines.txt", "--max-time", "0.01",
        "--api-level", level, "--format", "json", timeout=600,
    )  # fmt: skip
    assert called.out, called.err
    seen = [one for problem in json.loads(called.out)["problems"] for one in problem["outcomes"]]
    assert {one["status"] for one in seen} <= {"ok", "unsupported"}, called.out
    assert {one["instance"] for one in seen if one["status"] == "ok"} == {0, 1, 2, 3}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A library of all kernels in fp32."""
    folder = tmp_path_factory.mktemp("library")
    conf = catalog(folder, "rrr", "fp32")
    ckprof_apart("build", "gemm", "--conf", conf, "--build-dir", "lib", cwd=folder).ok()
    return folder / "lib" / "libckprof_gemm.so"


@pytest.mark.slow
def test_a_batch_of_one_is_one_product(built):
    library = ckprof.KernelLibrary(built)
    draw = np.random.default_rng(1)
    a, b = (draw.uniform(-1, 1, shape).astype(np.float32) for shape in ((37, 24), (24, 40)))
    problem = GemmProblem(m=37, n=40, k=24)
    plain, batched = (library.run(problem, {"a": a, "b": b}, number).output for number in (0, 1))
    assert np.array_equal(plain, batched)
    three = {"a": np.stack([a, 2 * a, -a]), "b": np.stack([b] * 3)}
    apart = StridedBatchProblem(
        m=37, n=40, k=24, batch=3, stride_e=48, batch_stride_a=2000, batch_stride_e=4000
    )
    for many in (GemmProblem(m=37, n=40, k=24, batch=3), apart):
        found = library.run(many, three)
        assert found.kernel.fields["batched"] is True
        assert np.array_equal(found.output, np.stack([plain, 2 * plain, -plain]))
    rejected = library.rejection(0, apart)
    assert rejected.startswith("a kernel for one product, the problem has a batch of 3")
    wrong = GemmProblem(m=37, n=40, k=24, batch=70_000)
    assert "70000 is more than a launch has blocks along y" in library.rejection(1, wrong)
    assert "the last product" in library.rejection(1, StridedBatchProblem(
        m=37, n=40, k=24, batch=3, batch_stride_b=2_000_000_000
    )) or "32-bit" in library.rejection(1, StridedBatchProblem(
        m=37, n=40, k=24, batch=3, batch_stride_b=2_000_000_000
    ))  # fmt: skip


def test_d_tensors_of_a_python_object(built):
    library = ckprof.KernelLibrary(built)
    draw = np.random.default_rng(2)
    shapes = {"a": (9, 16), "b": (16, 12), "d0": (9, 12), "d1": (9, 12)}
    operands = {name: draw.integers(-3, 4, shape).astype(np.float32) for name, shape in shapes.items()}
    product = operands["a"] @ operands["b"]
    add = MultiDProblem(m=9, n=12, k=16, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(0, 20))
    found = library.run(add, operands)
    assert np.array_equal(found.output, product + operands["d0"] + operands["d1"])
    multiply = MultiDProblem(m=9, n=12, k=16, elementwise_op=ElementwiseOp.MULTI_D_MULTIPLY, strides_d=(16,))
    one = {name: operands[name] for name in ("a", "b", "d0")}
    assert np.array_equal(library.run(multiply, one).output, product * operands["d0"])
    assert library.rejection(2, multiply).startswith(
        "the kernel computes MultiDAdd with 2 D tensors, the problem asks for MultiDMultiply with 1 D tensor"
    )
    assert "asks for the product alone" in library.rejection(2, GemmProblem(m=9, n=12, k=16))
    assert "does not split K" in library.rejection(3, multiply, 2)
    with pytest.raises(UsageError, match="d1: gemm kernels read a and b and d0"):
        library.run(multiply, operands)
    with pytest.raises(InputError, match=r"no kernel of .* supports"):
        library.run(
            MultiDProblem(m=9, n=12, k=16, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(0,)), one
        )


def test_the_c_interface(built, tmp_path):
    run_c_program("gemm_variants_user.c", built, tmp_path)


def test_one_call_as_json(ckprof, built):
    line = "-m=9 -n=12 -k=16 -elementwise_op=MultiDAdd -num_d_tensors=2"
    called = ckprof("call", "gemm", built, "--problem", line)
    answer = json.loads(called.out)
    assert answer["success"] and answer["verified"], answer
    assert answer["kernel"]["elementwise_op"] == "MultiDAdd" and answer["kernel"]["num_d_tensors"] == 2
    assert answer["problem"] == "M9 N12 K16 MultiDAdd d2" and answer["result"]["shape"] == [9, 12]
    called = ckprof("call", "gemm", built, "--problem", "-m=9 -n=12 -k=16 -batch=3")
    answer = json.loads(called.out)
    assert answer["success"] and answer["kernel"]["batched"] and answer["result"]["shape"] == [3, 9, 12]
