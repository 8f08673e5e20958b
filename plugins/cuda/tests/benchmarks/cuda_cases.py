"""Problems and instances of the benchmarks on an NVIDIA GPU, and what their ratios should be."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ckprof_plugins.directions._convolution.problem import ConvProblem
from tests.e2e.catalogs import LARGE_TILE

#: powers of two, and numbers of parts that fill a device's 132 multiprocessors once
SPLITS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 22, 28, 33, 44)
DIRECTIONS = ("fwd", "bwd_data", "bwd_weight")
#: direction -> tile -> pipelines
TILES = {
    "fwd": {
        **{(256, 64): ("mem", "compv4"), (128, 64): ("compv4",), (64, 128): ("mem", "compv3")},
        **{(128, 128): ("mem", "compv4"), (192, 128): ("compv4",)},
        **{(64, 256): ("mem", "compv4"), (128, 256): ("compv3", "compv4")},
    },
    "bwd_data": {
        **{
            (256, 64): ("mem", "compv4"),
            (64, 64): ("mem",),
            (64, 128): ("mem",),
            (96, 128): ("mem", "compv4"),
            (128, 128): ("mem", "compv4"),
        },
        **{(192, 128): ("mem", "compv4"), (64, 256): ("compv4",), (128, 256): ("compv4",)},
    },
    "bwd_weight": {
        **{(64, 64): ("mem",), (64, 128): ("mem", "compv3", "compv4"), (128, 64): ("mem", "compv4")},
        **{(128, 128): ("mem", "compv4"), (128, 192): ("mem",), (128, 256): ("compv4",)},
    },
}
#: forward kernels that multiply in TF32: tile -> pipelines
TF32_TILES = {
    **{(128, 64): ("compv4",), (192, 128): ("mem", "compv4"), (128, 128): ("mem", "compv4")},
    **{(64, 128): ("mem",), (256, 64): ("mem", "compv4"), (128, 256): ("mem", "compv4")},
}
#: tile, waves, pipeline for engine M
WARP_TILES = (
    *((256, 128, (2, 2), "compv3"), (128, 256, (1, 4), "mem"), (192, 128, (2, 2), "compv3")),
    *((128, 128, (1, 2), "compv3"), (256, 64, (2, 1), "compv4")),
)
#: tile, pipeline for groups of one channel
NARROW_TILES = (((64, 64), "mem"), ((64, 64), "compv4"), ((128, 64), "compv4"), ((256, 64), "mem"))
#: makes nvcc leave engine W out
ENGINE_M = {"NVCC_APPEND_FLAGS": "-DCKPROF_CUDA_ENGINE_W=0"}
#: local memory of the modelled device
LDS_BYTES = 65536


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
    def problem(self):
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
    def operations(self):
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
DEPTHWISE = Case(
    groups=384, batch=64, out_channels=384, in_channels=384, filter=(7, 7), input=(28, 28), pad=3
)
#: direction -> case -> (floor, goal)
GOALS = {
    "fwd": {**dict.fromkeys("ABCEF", (0.97, 1.0)), **dict.fromkeys("DG", (0.93, 1.0)), "H": (1.0, 2.0)},
    "bwd_data": {**dict.fromkeys("ABCDEFG", (0.90, 1.0)), "H": (1.0, 2.0)},
    "bwd_weight": {**dict.fromkeys("ABCDEFG", (0.95, 1.05)), "H": (1.0, 2.0)},
}
ENGINE_M_GOAL = (0.45, 0.6)
DEPTHWISE_GOAL = (1.0, 2.0)
#: case -> (floor, goal), forward
TF32_GOALS = dict.fromkeys("ABCF", (0.93, 1.0))
#: milliseconds per outcome
HARNESS_GOAL = (20, 5)
#: seconds for the instances of forward/tests/nhwgc_fp16 on 16 cores
BUILD_GOAL = (40, 15)


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


def tile_k(m, n, double_smem_buffer, element_bytes):
    """Return the depth of a tile: its buffers must fit into the modelled device's local memory."""
    room = LDS_BYTES // 2 if double_smem_buffer else LDS_BYTES
    return next(depth for depth in (64, 32, 16) if (m + n) * depth * element_bytes <= room)


def waves_of(tile):
    """Return how many waves share a tile's rows and columns."""
    return (2 if tile[0] % 64 == 0 else 1, 2)


def gemm_record(number, tile, pipeline, waves, precision=BF16):
    """Return an instance for a catalog."""
    double = pipeline == "compv4"
    depth = tile_k(*tile, double, precision.element_bytes)
    return {
        **LARGE_TILE,
        **{"id": number, "tile_m": tile[0], "tile_n": tile[1], "tile_k": depth},
        **{"warp_m": waves[0], "warp_n": waves[1]},
        **{"pipeline": pipeline, "double_smem_buffer": double},
        **dict(precision.record),
    }
