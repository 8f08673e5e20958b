"""Kernels on an NVIDIA GPU against the vendor's library, in one process and under the same conditions.

Every figure is the median of event times after a flush of the caches, torch's and the best instance's taken
in turns, with channels last, in bf16, or in fp32 whose operands are rounded to TF32, which torch is
allowed, too; torch measures its algorithms beforehand. The instances are tiles that the shipped lists have,
and others by hand. Each result is compared with torch's. Goals, as ratios of torch's time to the best
instance's, are printed beside what was reached; ratios below the floor fail. Further tables are for engine
M alone, for groups of one channel, and for what ckprof itself takes to build and to measure.

Needs a GPU, nvcc and torch: ``pytest -s plugins/cuda/tests/benchmarks/test_cuda.py -m cuda``.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import time
from dataclasses import dataclass
from functools import lru_cache

import pytest

from ckprof.cli.main import main
from ckprof.measure.worker.abi import AbiStatus, CBuffers, CProblem, Kernel, Library
from tests.called import ckprof_apart
from tests.e2e.catalogs import VARIANTS

from .cuda_cases import (
    BF16,
    BUILD_GOAL,
    CASES,
    DEPTHWISE,
    DEPTHWISE_GOAL,
    DIRECTIONS,
    ENGINE_M,
    ENGINE_M_GOAL,
    GOALS,
    HARNESS_GOAL,
    NARROW_TILES,
    SPLITS,
    TF32,
    TF32_GOALS,
    TF32_TILES,
    TILES,
    WARP_TILES,
    gemm_record,
    waves_of,
)
from .device_timing import Stopwatch, time_outcomes

#: of each instance, to find the best
TRIALS = 5
#: beyond this many times the best so far, an instance is not measured further
HOPELESS = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The fastest instance for a case."""

    time_ms: float
    kernel: Kernel
    problem: CProblem
    split_k: int


class Tensors:
    """A case's tensors on the device, and torch's views of them."""

    def __init__(self, torch, case, direction, *, precision=BF16, channels_last=True):
        problem = case.problem
        ndim = problem.ndim
        kind = torch.bfloat16 if precision.datatype == "bf16" else torch.float32

        def random(*shape):
            return torch.randn(*shape, device="cuda").to(kind)

        self.case, self.direction, self.error = case, direction, precision.error

        def image(size, first, channels):
            return random(first, *size, channels) if channels_last else random(first, channels, *size)

        self.input = image(case.input, case.batch, case.in_channels)
        self.weight = image(case.filter, case.out_channels, problem.in_channels)
        self.output = image(problem.output, case.batch, case.out_channels)
        axes = range(1, ndim + 1)
        self.order = [0, ndim + 1, *axes] if channels_last else [0, *axes, ndim + 1]
        result = {"fwd": self.output, "bwd_data": self.input, "bwd_weight": self.weight}[direction]
        self.result = torch.empty_like(result)
        own = {"fwd": "output", "bwd_data": "input", "bwd_weight": "weight"}[direction]
        self.buffers = CBuffers.of(
            *(
                (self.result if name == own else getattr(self, name)).data_ptr()
                for name in ("input", "weight", "output")
            )
        )

    def vendor(self, torch):
        """Compute the result with torch."""
        ndim = len(self.case.filter)
        views = (tensor.permute(self.order) for tensor in (self.input, self.weight, self.output))
        image, weight, gradient = views
        settings = ([self.case.stride] * ndim, [self.case.pad] * ndim, [1] * ndim, False, [0] * ndim)
        if self.direction == "fwd":
            return torch.ops.aten.convolution(image, weight, None, *settings, self.case.groups)
        mask = (self.direction == "bwd_data", self.direction == "bwd_weight", False)
        results = torch.ops.aten.convolution_backward(
            gradient, image, weight, None, *settings, self.case.groups, mask
        )
        return results[0] if mask[0] else results[1]


def load(folder, name, catalog, variables=None):
    """Build a catalog's instances and load them.

    :param variables: of the environment of the build, which then has a cache of its own.
    """
    direction = next(d for d, variant in VARIANTS.items() if catalog["variant"].startswith(variant))
    path, built = folder / f"{name}.json", folder / name
    path.write_text(json.dumps({"datatype": "bf16", **catalog}))
    own = {"CKPROF_CACHE_DIR": str(folder / f"{name}-cache"), **variables} if variables else {}
    ckprof_apart(
        *("build", direction, "--conf", path, "--target", "cuda", "--build-dir", built),
        env={**os.environ, **own},
    ).ok()
    library = Library.load(next(built.rglob("*.so")))
    library.target.select_device("gfx942", 0)
    return library


@lru_cache(maxsize=16)
def build(folder, direction, ndim, precision=BF16):
    """Build the instances of a direction and load them."""
    tiles = TF32_TILES if precision is TF32 else TILES[direction]
    chosen = [(tile, pipeline) for tile, pipelines in tiles.items() for pipeline in pipelines]
    catalog = {
        "variant": VARIANTS[direction],
        "ndim_spatial": ndim,
        "layout": "nhwgc" if ndim == 2 else "ndhwgc",
        "datatype": precision.datatype,
        "instances": [
            gemm_record(i, tile, pipeline, waves_of(tile), precision)
            for i, (tile, pipeline) in enumerate(chosen)
        ],
    }
    return load(folder, f"{direction}-{ndim}-{precision.datatype}", catalog)


def build_engine_m(folder):
    """Build instances of the forward direction for engine M."""
    instances = [
        gemm_record(i, (m, n), pipeline, waves) for i, (m, n, waves, pipeline) in enumerate(WARP_TILES)
    ]
    catalog = {"variant": "forward", "ndim_spatial": 2, "layout": "nhwgc", "instances": instances}
    return load(folder, "engine-m", catalog, ENGINE_M)


def build_depthwise(folder):
    """Build depthwise instances of the forward direction."""
    common = {
        **{"tile_h": 28, "tile_w": 28, "filt": 7, "str_h": 1, "str_w": 1, "pad_h": 3, "pad_w": 3},
        **{"in_vec": 4, "out_vec": 4},
    }
    parts = ((1, 4, 4), (4, 4, 4), (8, 7, 4))
    instances = [
        {**common, "id": i, "nbatch": batch, "sub_h": h, "sub_w": w} for i, (batch, h, w) in enumerate(parts)
    ]
    catalog = {"variant": "forward_depthwise", "ndim_spatial": 2, "layout": "ngchw", "instances": instances}
    return load(folder, "depthwise", catalog)


def build_single_channel(folder, direction):
    """Build instances that access single channels, for directions that have no depthwise instances."""
    narrow = {f"vector_size_{tensor}": 1 for tensor in "abc"}
    instances = [
        gemm_record(i, tile, pipeline, (2, 2)) | narrow for i, (tile, pipeline) in enumerate(NARROW_TILES)
    ]
    catalog = {"variant": VARIANTS[direction], "ndim_spatial": 2, "layout": "nhwgc", "instances": instances}
    return load(folder, f"{direction}-narrow", catalog)


def best_instance(watch, tensors):
    """Return the fastest instance; the results of all must be torch's, up to rounding."""
    library = watch.library
    expected = tensors.vendor(watch.torch).float()
    best = None
    splits = SPLITS if tensors.direction == "bwd_weight" else (1,)
    for kernel in library.kernels.values():
        for split_k in splits:
            problem = CProblem.of(tensors.case.problem, split_k)
            if kernel.is_supported(problem).status is not AbiStatus.OK:
                continue
            tensors.result.fill_(float("nan"))
            status, reason, first_ms = kernel.run(problem, tensors.buffers)
            assert status is AbiStatus.OK, f"{kernel.name}: {reason}"
            seen = tensors.result.permute(tensors.order).float()
            error = ((seen - expected).norm() / expected.norm()).item()
            assert error < tensors.error, f"{kernel.name}, {split_k} splits: relative error {error}"
            if best and first_ms > HOPELESS * best.time_ms:
                continue
            times = [watch.kernel_ms(kernel, problem, tensors.buffers) for _ in range(TRIALS)]
            time_ms = statistics.median(times)
            if not best or time_ms < best.time_ms:
                best = Best(time_ms=time_ms, kernel=kernel, problem=problem, split_k=split_k)
    assert best, "no instance supports the problem"
    return best


def require_device():
    """Return torch, set to measure its algorithms; skip without a device."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no device")
    torch.backends.cudnn.benchmark = True
    cudnn = torch.backends.cudnn.version()
    print(f"\n{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {cudnn}")
    return torch


def compare(torch, label, library, tensors, goal):
    """Print a line of the table; return what is wrong with it, empty if nothing."""
    watch = Stopwatch(torch=torch, library=library)
    best = best_instance(watch, tensors)
    vendor_ms, own_ms = watch.in_turns(
        lambda: watch.torch_ms(lambda: tensors.vendor(torch)),
        lambda: watch.kernel_ms(best.kernel, best.problem, tensors.buffers),
    )
    ratio = vendor_ms / own_ms
    rate = tensors.case.operations / own_ms / 1e9
    print(
        f"{label:14} torch {1e3 * vendor_ms:7.1f} us  best {1e3 * own_ms:7.1f} us "
        f"{rate:5.0f} TFLOP/s  ratio {ratio:4.2f} (floor {goal[0]}, goal {goal[1]})  "
        f"splits {best.split_k:2}  {best.kernel.name}"
    )
    return f"{label}: {ratio:.2f} < {goal[0]}" if ratio < goal[0] else ""


@pytest.mark.cuda
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_ratio_to_the_vendor(direction, tmp_path_factory):
    """Print the table of a direction; every case must reach its floor."""
    torch = require_device()
    folder = tmp_path_factory.mktemp("cuda")
    short = []
    for name, case in CASES.items():
        library = build(folder, direction, len(case.filter))
        tensors = Tensors(torch, case, direction)
        short.append(compare(torch, f"{name} {direction}", library, tensors, GOALS[direction][name]))
    assert not any(short), "; ".join(filter(None, short))


@pytest.mark.cuda
def test_ratio_to_the_vendor_in_tf32(tmp_path_factory, monkeypatch):
    """The same for forward kernels of fp32 that multiply in TF32."""
    torch = require_device()
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    folder = tmp_path_factory.mktemp("cuda")
    short = []
    for name, goal in TF32_GOALS.items():
        library = build(folder, "fwd", len(CASES[name].filter), TF32)
        tensors = Tensors(torch, CASES[name], "fwd", precision=TF32)
        short.append(compare(torch, f"{name} fwd tf32", library, tensors, goal))
    assert not any(short), "; ".join(filter(None, short))


@pytest.mark.cuda
def test_engine_m(tmp_path_factory):
    """Print what engine M reaches where engine W is left out; every case must reach the floor."""
    torch = require_device()
    library = build_engine_m(tmp_path_factory.mktemp("cuda"))
    short = []
    for name in "ABCF":
        tensors = Tensors(torch, CASES[name], "fwd")
        short.append(compare(torch, f"{name} fwd M", library, tensors, ENGINE_M_GOAL))
    assert not any(short), "; ".join(filter(None, short))


@pytest.mark.cuda
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_depthwise(direction, tmp_path):
    """Print what is reached with one channel per group, in the layout that the kernels want."""
    torch = require_device()
    own_kernels = direction == "fwd"
    library = build_depthwise(tmp_path) if own_kernels else build_single_channel(tmp_path, direction)
    tensors = Tensors(torch, DEPTHWISE, direction, channels_last=not own_kernels)
    short = compare(torch, f"I {direction}", library, tensors, DEPTHWISE_GOAL)
    assert not short, short


@pytest.mark.cuda
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_harness_time(direction, tmp_path, monkeypatch):
    """Print what an outcome takes outside of kernels, reference, comparison and flushes."""
    require_device()
    catalog = {
        **{"variant": VARIANTS[direction], "ndim_spatial": 2, "layout": "nhwgc", "datatype": "bf16"},
        "instances": [
            gemm_record(number, (128, 128), pipeline, waves)
            for number, (pipeline, waves) in enumerate(
                itertools.product(("mem", "compv3", "compv4"), ((2, 2), (1, 2)))
            )
        ],
    }
    path = tmp_path / "list.json"
    path.write_text(json.dumps(catalog))
    number = 2 ** DIRECTIONS.index(direction)  # what MIOpenDriver calls the direction
    outcomes = time_outcomes(monkeypatch)
    code = main(
        [
            *("run", direction, "--conf", str(path), "--target", "cuda", "--build-dir", str(tmp_path / "b")),
            *("--problem", f"conv -n 128 -c 128 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -F {number}"),
            *("--max-time", "0.05", "--rounds", "1"),
        ]
    )
    assert code == 0
    # the first one pays for what all share
    later = [1e3 * outcome for outcome in outcomes[1:]]
    print(
        f"{direction} harness: median {statistics.median(later):.2f} ms, longest {max(later):.2f} ms "
        f"per outcome (floor {HARNESS_GOAL[0]}, goal {HARNESS_GOAL[1]})"
    )
    assert statistics.median(later) < HARNESS_GOAL[0]


@pytest.mark.cuda
def test_build_time(tmp_path, monkeypatch):
    """Print how long a shipped list takes to build from nothing."""
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    start = time.perf_counter()
    build = ("build", "fwd", "--conf", "forward/tests/nhwgc_fp16.conf", "--target", "cuda")
    ckprof_apart(*build, "--build-dir", tmp_path / "built").ok()
    taken = time.perf_counter() - start
    kernels = len(Library.load(next((tmp_path / "built").rglob("*.so"))).kernels)
    print(
        f"\nbuild of {kernels} kernels, {os.cpu_count()} cores: {taken:.1f} s "
        f"(floor {BUILD_GOAL[0]}, goal {BUILD_GOAL[1]})"
    )
    assert taken < BUILD_GOAL[0]
