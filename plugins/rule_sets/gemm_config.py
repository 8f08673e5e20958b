"""A GEMM configuration while rule sets enumerate, upstream's own test of it, and the instance it becomes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ckprof_plugins.directions._convolution.layout import LAYOUTS
from ckprof_plugins.pipelines._gemm.instance import Extent
from ckprof_plugins.pipelines._gemm.vocabulary import Epilogue, GemmPipeline, Scheduler, Specialization
from ckprof_plugins.pipelines.implicit_gemm.instance import ImplicitGemmInstance
from ckprof_plugins.pipelines.stream_k.instance import ReductionStrategy, StreamKInstance
from ckprof_plugins.pipelines.two_stage.instance import TwoStageInstance

if TYPE_CHECKING:
    from ckprof.model.architecture import Architecture, Sizes
    from ckprof.model.types import DataType
    from ckprof_plugins.directions._convolution.layout import ConvLayout
    from ckprof_plugins.pipelines._gemm.instance import GemmInstance

#: Number of spatial dimensions -> the layout of all GEMM kernels.
GEMM_LAYOUTS: Final = {layout.ndim: layout for layout in LAYOUTS if layout.input.endswith("GC")}

_NARROW_WAVE: Final = 32
_COMPV6_TILE_K: Final = 64


class StreamK(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a stream-K kernel adds up."""

    strategy: ReductionStrategy
    persistent: bool


class Features(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What some kernels of a rule set have and the regular ones lack."""

    num_groups_to_merge: int = 1
    split_image: bool = False
    explicit_gemm: bool = False
    two_stage: bool = False
    fold_stride: bool = False
    stream_k: StreamK | None = None


class GemmConfig(NamedTuple):
    """One configuration; equal ones are the same kernel."""

    direction: str
    ndim: int
    dtype: DataType
    tile: Sizes
    wave_grid: Sizes
    mma_tile: Sizes
    vectors: Sizes
    gemm_pipeline: GemmPipeline
    scheduler: Scheduler
    epilogue: Epilogue = Epilogue.CSHUFFLE
    specialization: Specialization = Specialization.DEFAULT
    features: Features = Features()
    double_smem_buffer: bool = False


def divides(config: GemmConfig) -> bool:
    """Say whether the waves' MMA tiles fill the block tile."""
    return not any(
        size % (waves * extent)
        for size, waves, extent in zip(config.tile, config.wave_grid, config.mma_tile, strict=True)
    )


def upstream_accepts(config: GemmConfig, arch: Architecture, *, tagged: bool) -> bool:
    """Say whether upstream's generator takes a configuration for an architecture.

    This decides what a rule set of upstream's holds, right or wrong; what can be built is decided by the
    validity rules alone.

    :param tagged: the configuration carries its data type. On waves of 32 lanes, half types need an MMA tile
        with K >= 32 - but one without a type passes, because it is taken for float, which is spelt ``fp32``.
    """
    gemm_pipeline = config.gemm_pipeline
    if config.scheduler is Scheduler.INTERWAVE and not gemm_pipeline.properties.interwave:
        return False
    if gemm_pipeline is GemmPipeline.COMPV5 and config.direction != "fwd":
        return False
    if any(size != 1 and size % 2 for size in config.vectors):
        return False
    if config.wave_grid not in arch.wave_grids:
        return False
    lanes = arch.lanes_per_wave
    if lanes == _NARROW_WAVE:
        mma_m, _, mma_k = config.mma_tile
        if (mma_k < _NARROW_WAVE and tagged) or mma_m == _NARROW_WAVE or config.features.stream_k:
            return False
        if config.wave_grid[2] * mma_k > config.tile[2]:
            return False
    if gemm_pipeline is GemmPipeline.COMPV6:
        m, n, k = config.tile
        block = lanes * config.wave_grid[0] * config.wave_grid[1] * config.wave_grid[2]
        a, b, _ = config.vectors
        return k >= _COMPV6_TILE_K and m * k >= block * a and n * k >= block * b
    return True


def make_instance(config: GemmConfig, number: int) -> GemmInstance:
    """Return the instance of a configuration.

    :param number: its id.
    """
    features = config.features
    a, b, c = config.vectors
    fields: dict[str, Any] = {
        "id": number,
        "direction": config.direction,
        "ndim": config.ndim,
        "layout": gemm_layout(config.ndim),
        "dtype": config.dtype,
        "tile": _extent(config.tile),
        "wave_grid": _extent(config.wave_grid),
        "mma_tile": _extent(config.mma_tile),
        "vector_size_a": a,
        "vector_size_b": b,
        "vector_size_c": c,
        "gemm_pipeline": config.gemm_pipeline,
        "scheduler": config.scheduler,
        "epilogue": config.epilogue,
        "double_smem_buffer": config.double_smem_buffer,
        "num_groups_to_merge": features.num_groups_to_merge,
        "num_wave_groups": 1,
        "specialization": config.specialization,
        "explicit_gemm": features.explicit_gemm,
        "split_image": features.split_image,
        "fold_stride": features.fold_stride or None,
    }
    if features.stream_k is not None:
        return StreamKInstance(
            **fields,
            strategy=features.stream_k.strategy,
            persistent=features.stream_k.persistent,
            two_stage=features.two_stage,
        )
    if features.two_stage:
        return TwoStageInstance(**fields)
    return ImplicitGemmInstance(**fields)


def gemm_layout(ndim: int) -> ConvLayout:
    """Return the layout of GEMM kernels with that many spatial dimensions."""
    return GEMM_LAYOUTS[ndim]


@lru_cache(maxsize=1024)
def _extent(sizes: Sizes) -> Extent:
    return Extent(m=sizes[0], n=sizes[1], k=sizes[2])
