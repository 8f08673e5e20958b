"""Building and reading kernels for AMD GPUs.

Goals: 24 forward kernels for gfx942, cold, cost at least 2.2 times less wall time per kernel together than
each in a file of its own, on the same cores in the same run, with at most 1.5 GB in one compiler process; 300
kernels are inspected in at most 2 s.

Needs a toolchain, and CK Tile headers in ``$CK_ROOT``.
"""

import itertools
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.errors import ToolchainError
from ckprof.kernels.build_dir import BuildDir
from ckprof.kernels.builder import build_tree
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.code_objects import FILE, read_code_objects, write_code_objects
from ckprof.kernels.inspection import inspect_build
from ckprof.kernels.source_tree import generate_tree
from ckprof.model.catalog import Catalog
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from ckprof_plugins.targets.hip.target import HipTarget
from tests.candidates import candidates_of

pytestmark = pytest.mark.timeout(3600)

GOAL_RATIO = 2.2
GOAL_MEMORY = 1.5e9
GOAL_INSPECT_S = 2.0
KERNELS = 24


@pytest.fixture(scope="module")
def recipe():
    if not os.environ.get("CK_ROOT"):
        pytest.skip("CK_ROOT names no CK Tile headers")
    try:
        return HipTarget().recipe(BuildRequest(arch="gfx942", purpose=Purpose.INSPECT))
    except ToolchainError as exc:
        pytest.skip(str(exc).splitlines()[0])


@pytest.fixture(scope="module")
def instances(make_record):
    """Basic and compv3 kernels of several tiles and vector sizes, half of each."""
    layout = find_layout("nhwgc")
    catalog = Catalog(variant="forward", ndim=2, layout=layout, dtype=DataType("fp16"), records=())
    shapes = itertools.product(
        ("compv1", "compv3"), ((64, 64), (128, 64), (64, 128)), (32, 64), ((8, 8, 8), (4, 4, 4))
    )
    return [
        ImplicitGemmPipeline().make_instance(
            catalog,
            "fwd",
            make_record(
                **{"id": index, "pipeline": pipeline, "tile_m": m, "tile_n": n, "tile_k": k},
                **{"warp_m": 2, "warp_n": 2, "warp_k": 1},
                **{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16},
                **dict(zip(("vector_size_a", "vector_size_b", "vector_size_c"), vectors, strict=True)),
            ),
        )
        for index, (pipeline, (m, n), k, vectors) in enumerate(shapes)
    ]


def build(root, instances, recipe):
    tree = generate_tree(
        BuildDir(root=root, direction=Forward(), target=None, arch="gfx942", recipe=recipe),
        candidates_of(instances, {"implicit_gemm": ImplicitGemmPipeline()}),
    )
    cache = ObjectCache(root / "cache")
    result = build_tree(tree, recipe, work_dir=root, cache=cache, timeout_s=3600)
    assert not result.failures
    return tree, result


@pytest.fixture(scope="module")
def grouped(tmp_path_factory, instances, recipe):
    """The kernels, compiled together, and what that cost."""
    started = time.perf_counter()
    tree, result = build(tmp_path_factory.mktemp("grouped"), instances, recipe)
    return tree, result, time.perf_counter() - started


def test_kernels_together_are_faster(benchmark, tmp_path, instances, recipe, grouped):
    assert len(instances) == KERNELS
    _, result, together = grouped
    alone_recipe = replace(recipe, functions_per_unit=1)
    started = time.perf_counter()
    _, single = benchmark.pedantic(build, args=(tmp_path, instances, alone_recipe), rounds=1)
    alone = time.perf_counter() - started
    peak = result.summary.peak_memory_bytes
    print(
        f"\n{KERNELS} kernels on {result.summary.jobs} jobs: {together:.1f} s together, {alone:.1f} s alone, "
        f"ratio {alone / together:.2f} (goal {GOAL_RATIO}); "
        f"CPU time {result.summary.cpu_s:.0f} s and {single.summary.cpu_s:.0f} s; "
        f"peak {peak / 1e9:.2f} GB (goal {GOAL_MEMORY / 1e9})"
    )
    assert alone / together >= GOAL_RATIO
    assert peak <= GOAL_MEMORY


def test_inspecting_300_kernels(benchmark, recipe, grouped, tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path))
    tree, result, _ = grouped
    root = write_code_objects(tree, recipe, result.objects)
    content = json.loads((root / FILE).read_text())
    # as many as in a long list: copies of the files, different by a byte behind the end, so that each is read
    kernels = []
    for copy in range(13):
        for kernel in content["kernels"]:
            path = Path(kernel["file"])
            name = f"{path.stem}_{copy}.co"
            (root / path.with_name(name)).write_bytes((root / path).read_bytes() + bytes([copy]))
            file = path.with_name(name).as_posix()
            kernels.append({**kernel, "name": f"{kernel['name']}_{copy}", "file": file})
    (root / FILE).write_text(json.dumps({**content, "kernels": kernels[:300]}))

    def inspect():
        return inspect_build(read_code_objects(root), HipTarget())

    started = time.perf_counter()
    assert len(inspect().kernels) == 300
    cold = time.perf_counter() - started
    benchmark.pedantic(inspect, rounds=3)
    warm = benchmark.stats.stats.mean
    print(
        f"\n300 kernels inspected in {warm:.2f} s, {cold:.2f} s if no build has read them before "
        f"(goal {GOAL_INSPECT_S})"
    )
    assert warm <= GOAL_INSPECT_S
