"""Kernels on an NVIDIA GPU against the vendor's library, in one process and under the same conditions.

Every figure is the median of event times after a flush of the caches, with channels last, in bf16, or in fp32
whose operands are rounded to TF32, which torch is allowed, too; torch measures its algorithms beforehand. The
instances are tiles that the shipped lists have, and others by hand. Each result is compared with torch's.
Goals, as ratios of torch's time to the best instance's, are printed beside what was reached; ratios below the
floor fail.

Needs a GPU, nvcc and torch: ``pytest -s tests/benchmarks/test_cuda.py -m cuda``.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from ckprof.model.problem import ConvProblem
from ckprof.run.abi import AbiStatus, CBuffers, CProblem, Library

FLUSH_BYTES = 256 * 2**20
SAMPLES = 9
#: beyond this many times the best so far, an instance is not measured further
HOPELESS = 4.0
SPLITS = (1, 2, 4, 8, 16, 32, 64)
VARIANTS = {"fwd": "forward", "bwd_data": "bwd_data", "bwd_weight": "bwd_weight"}
TILES = {
    "fwd": ((128, 64), (128, 128), (128, 256), (192, 128), (64, 128), (64, 64), (256, 128)),
    "bwd_data": ((128, 64), (128, 128), (128, 256), (192, 128), (64, 64), (64, 128)),
    "bwd_weight": ((64, 64), (128, 128), (128, 192), (128, 256), (256, 64), (64, 128)),
}
PIPELINES = (("mem", False), ("compv4", True))
#: local memory of the modelled device
LDS_BYTES = 65536
RECORD = {
    **{"warp_m": 2, "warp_n": 2, "warp_k": 1},
    **{"warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16},
    **{"vector_size_a": 8, "vector_size_b": 8, "vector_size_c": 8},
    **{"scheduler": "intrawave", "epilogue": "cshuffle", "num_groups_to_merge": 1, "num_wave_groups": 1},
    **{"specialization": "default", "two_stage": False, "explicit_gemm": False, "split_image": False},
    **{"streamk_enabled": False, "streamk_reduction_strategy": None, "streamk_persistent": False},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A problem with one stride and one pad for all axes."""

    groups: int = 1
    batch: int
    out_channels: int
    in_channels: int
    filter: tuple[int, ...]
    input: tuple[int, ...]
    stride: int = 1
    pad: int = 1

    @property
    def problem(self) -> ConvProblem:
        """The same for ckprof; channels per group."""
        ndim = len(self.filter)
        return ConvProblem(
            groups=self.groups,
            batch=self.batch,
            out_channels=self.out_channels // self.groups,
            in_channels=self.in_channels // self.groups,
            filter=self.filter,
            input=self.input,
            strides=(self.stride,) * ndim,
            dilations=(1,) * ndim,
            left_pads=(self.pad,) * ndim,
            right_pads=(self.pad,) * ndim,
        )

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        problem = self.problem
        return (
            2
            * self.batch
            * self.out_channels
            * problem.in_channels
            * math.prod(problem.output)
            * math.prod(self.filter)
        )


CASES = {
    "A": Case(batch=128, out_channels=64, in_channels=64, filter=(3, 3), input=(56, 56)),
    "B": Case(batch=128, out_channels=128, in_channels=128, filter=(3, 3), input=(28, 28)),
    "C": Case(batch=128, out_channels=256, in_channels=256, filter=(3, 3), input=(14, 14)),
    "D": Case(batch=64, out_channels=2048, in_channels=512, filter=(1, 1), input=(7, 7), pad=0),
    "E": Case(batch=32, out_channels=512, in_channels=256, filter=(1, 1), input=(56, 56), stride=2, pad=0),
    "F": Case(batch=256, out_channels=256, in_channels=256, filter=(3, 3), input=(28, 28)),
    "G": Case(batch=4, out_channels=64, in_channels=64, filter=(3, 3, 3), input=(16, 56, 56)),
    "H": Case(groups=32, batch=128, out_channels=256, in_channels=256, filter=(3, 3), input=(56, 56)),
}
#: direction -> case -> (floor, goal)
GOALS = {
    "fwd": {**dict.fromkeys("ABCEF", (0.97, 1.0)), **dict.fromkeys("DG", (0.93, 1.0)), "H": (1.0, 2.0)},
    "bwd_data": {**dict.fromkeys("ABCDEFG", (0.90, 1.0)), "H": (1.0, 2.0)},
    "bwd_weight": {**dict.fromkeys("ABCDEFG", (0.95, 1.05)), "H": (1.0, 2.0)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """The type of tensors, and what is multiplied."""

    datatype: str
    element_bytes: int
    #: relative error that a result may have in comparison with torch's, which rounds as much
    error: float
    #: what records say differently
    record: tuple[tuple[str, object], ...] = ()


BF16 = Precision(datatype="bf16", element_bytes=2, error=0.01)
TF32 = Precision(
    datatype="fp32",
    element_bytes=4,
    error=0.003,
    record=(
        *(("compute_type", "tf32"), ("warp_tile_k", 8)),
        *((f"vector_size_{tensor}", 4) for tensor in "abc"),
    ),
)
#: case -> (floor, goal), forward
TF32_GOALS = dict.fromkeys("ABCF", (0.93, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The fastest instance for a case."""

    time_ms: float
    name: str
    split_k: int


class Tensors:
    """A case's tensors on the device, channels last, and torch's views of them."""

    def __init__(self, torch: Any, case: Case, direction: str, precision: Precision) -> None:
        problem = case.problem
        ndim = problem.ndim
        kind = torch.bfloat16 if precision.datatype == "bf16" else torch.float32

        def random(*shape: int) -> Any:
            return torch.randn(*shape, device="cuda").to(kind)

        self.case, self.direction, self.error = case, direction, precision.error
        self.input = random(case.batch, *case.input, case.in_channels)
        self.weight = random(case.out_channels, *case.filter, problem.in_channels)
        self.output = random(case.batch, *problem.output, case.out_channels)
        self.order = [0, ndim + 1, *range(1, ndim + 1)]
        result = {"fwd": self.output, "bwd_data": self.input, "bwd_weight": self.weight}[direction]
        self.result = torch.empty_like(result)
        own = {"fwd": "output", "bwd_data": "input", "bwd_weight": "weight"}[direction]
        self.buffers = CBuffers.of(
            *(
                (self.result if name == own else getattr(self, name)).data_ptr()
                for name in ("input", "weight", "output")
            )
        )

    def vendor(self, torch: Any) -> Any:
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


def tile_k(m: int, n: int, double_smem_buffer: bool, element_bytes: int) -> int:
    """Return the depth of a tile: its buffers must fit into the modelled device's local memory."""
    room = LDS_BYTES // 2 if double_smem_buffer else LDS_BYTES
    return next(depth for depth in (64, 32, 16) if (m + n) * depth * element_bytes <= room)


@lru_cache(maxsize=16)
def build(folder: Path, direction: str, ndim: int, precision: Precision) -> Library:
    """Build the instances of a direction and load them."""
    records = [
        {
            **{"id": number, "tile_m": m, "tile_n": n},
            **{"tile_k": tile_k(m, n, double, precision.element_bytes)},
            **{"pipeline": pipeline, "double_smem_buffer": double},
            **RECORD,
            **dict(precision.record),
        }
        for number, ((m, n), (pipeline, double)) in enumerate(
            (tile, pipeline) for tile in TILES[direction] for pipeline in PIPELINES
        )
    ]
    catalog = {
        "variant": VARIANTS[direction],
        "ndim_spatial": ndim,
        "layout": "nhwgc" if ndim == 2 else "ndhwgc",
        "datatype": precision.datatype,
        "instances": records,
    }
    own = folder / f"{direction}-{ndim}-{precision.datatype}"
    path = own.with_suffix(".json")
    path.write_text(json.dumps(catalog))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ckprof", "build", direction, "--conf", str(path), "--target", "cuda"),
            *("--build-dir", str(own)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    library = Library.load(next(own.rglob("*.so")))
    library.target.select_device("gfx942", 0)
    return library


def time_vendor(torch: Any, tensors: Tensors) -> float:
    """Return torch's time in milliseconds."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        tensors.vendor(torch)
    times = []
    for _ in range(SAMPLES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.fill_(1)
        begin.record()
        tensors.vendor(torch)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def best_instance(torch: Any, library: Library, tensors: Tensors) -> Best:
    """Return the fastest instance whose result is torch's, up to rounding."""
    expected = tensors.vendor(torch).float()
    best = Best(time_ms=float("inf"), name="", split_k=0)
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
            if first_ms > HOPELESS * best.time_ms:
                continue
            times = []
            for _ in range(SAMPLES):
                library.target.flush_cache(FLUSH_BYTES)
                times.append(kernel.run(problem, tensors.buffers)[2])
            if statistics.median(times) < best.time_ms:
                best = Best(time_ms=statistics.median(times), name=kernel.name, split_k=split_k)
    return best


def compare(
    direction: str, precision: Precision, goals: dict[str, tuple[float, float]], folder: Path
) -> list[str]:
    """Print a row for each case; return those below their floor."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no device")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = precision is TF32
    print(
        f"\n{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}"
    )
    short = []
    for name, (floor, goal) in goals.items():
        case = CASES[name]
        library = build(folder, direction, len(case.filter), precision)
        tensors = Tensors(torch, case, direction, precision)
        vendor_ms = time_vendor(torch, tensors)
        best = best_instance(torch, library, tensors)
        ratio = vendor_ms / best.time_ms
        rate = case.operations / best.time_ms / 1e9
        print(
            f"{name} {direction:10} torch {1e3 * vendor_ms:7.1f} us  best {1e3 * best.time_ms:7.1f} us "
            f"{rate:5.0f} TFLOP/s  ratio {ratio:4.2f} (floor {floor}, goal {goal})  "
            f"splits {best.split_k:2}  {best.name}"
        )
        if ratio < floor:
            short.append(f"{name}: {ratio:.2f} < {floor}")
    return short


@pytest.mark.cuda
@pytest.mark.parametrize("direction", list(VARIANTS))
def test_ratio_to_the_vendor(direction: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Print the table of a direction; every case must reach its floor."""
    goals = {name: GOALS[direction][name] for name in CASES}
    short = compare(direction, BF16, goals, tmp_path_factory.mktemp("cuda"))
    assert not short, f"{direction}: {'; '.join(short)}"


@pytest.mark.cuda
def test_ratio_to_the_vendor_in_tf32(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same for forward kernels of fp32 that multiply in TF32."""
    short = compare("fwd", TF32, TF32_GOALS, tmp_path_factory.mktemp("cuda"))
    assert not short, "; ".join(short)
