"""The rules that a matrix-product kernel must obey to be built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.model.architecture import API_LEVEL_2025_07, API_LEVEL_2025_11
from ckprof.model.types import DataType
from ckprof_plugins.pipelines.rules import (
    FLOAT8_TILES,
    INT8_TILES,
    Rules,
    RuleSubject,
    Violation,
    known_api_level,
    known_mma_tile,
    known_scheduler,
    known_wave_grid,
    lds_budget,
    listed,
    reads_transposed,
    taken_for_columns,
    unfit_for_shuffle,
    wave_divides_tile,
    wide_waves,
    wrong_integer_products,
)
from ckprof_plugins.pipelines.universal_gemm.instance import (
    BatchedGemmInstance,
    MultiDGemmInstance,
    UniversalGemmInstance,
)
from ckprof_plugins.pipelines.vocabulary import Epilogue, GemmPipeline, Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Sizes = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmSurface:
    """What the headers of one level offer to matrix products."""

    gemm_pipelines: frozenset[GemmPipeline]
    #: those with an interwave scheduler
    interwave: frozenset[GemmPipeline]
    #: those that can be persistent: others ignore the flag, and a grid of another size is wrong for them
    persistent: frozenset[GemmPipeline]
    #: type of the operands -> MMA tiles that the headers know
    mma_tiles: Mapping[DataType, frozenset[Sizes]]


_HALF: Final = frozenset({(32, 32, 8), (32, 32, 16), (16, 16, 16), (16, 16, 32), (4, 64, 16), (64, 4, 16)})

_PIPELINES: Final = frozenset(
    {GemmPipeline.COMPV1, GemmPipeline.MEM, GemmPipeline.COMPV3, GemmPipeline.COMPV4}
)

SURFACES: Final[Mapping[str, GemmSurface]] = {
    API_LEVEL_2025_07: GemmSurface(
        # compv5 adds up the accumulators of two waves, whatever the grid
        gemm_pipelines=_PIPELINES,
        interwave=frozenset({GemmPipeline.MEM}),
        persistent=frozenset({GemmPipeline.MEM, GemmPipeline.COMPV3}),
        mma_tiles={
            DataType.FP16: _HALF,
            DataType.BF16: _HALF,
            DataType.FP8: FLOAT8_TILES,
            DataType.BF8: FLOAT8_TILES,
            DataType.INT8: INT8_TILES,
        },
    ),
    API_LEVEL_2025_11: GemmSurface(
        # compv5 does not compile: the epilogue counts the waves along M and N alone, which leaves one of two
        gemm_pipelines=_PIPELINES,
        interwave=frozenset({GemmPipeline.MEM}),
        persistent=frozenset({GemmPipeline.MEM, GemmPipeline.COMPV3, GemmPipeline.COMPV4}),
        mma_tiles={
            DataType.FP16: _HALF,
            DataType.BF16: _HALF,
            DataType.FP32: frozenset({(16, 16, 4), (16, 16, 16)}),
            DataType.FP8: FLOAT8_TILES | {(16, 16, 128), (32, 32, 64)},
            DataType.BF8: FLOAT8_TILES | {(16, 16, 128), (32, 32, 64)},
            DataType.INT8: INT8_TILES,
        },
    ),
}

#: GEMM pipelines that kernels are written for
GEMM_PIPELINES: Final = (
    GemmPipeline.COMPV1,
    GemmPipeline.MEM,
    GemmPipeline.COMPV3,
    GemmPipeline.COMPV4,
    GemmPipeline.COMPV5,
)
#: smallest m, n and k of a block tile, which must be multiples of these as well
_TILE_GRAIN: Final = (16, 16, 8)
_WIDEST_VECTOR_BYTES: Final = 16


def _feature(candidate: RuleSubject[UniversalGemmInstance]) -> Violation | None:
    instance = candidate.instance
    level = candidate.api_level
    surface = SURFACES.get(level)
    if surface is None:
        return None
    gemm_pipeline = instance.gemm_pipeline
    tiles = surface.mma_tiles.get(instance.dtype, frozenset())
    if gemm_pipeline not in surface.gemm_pipelines:
        missing, has = gemm_pipeline.value, _names(surface.gemm_pipelines)
    elif instance.scheduler is Scheduler.INTERWAVE and gemm_pipeline not in surface.interwave:
        missing, has = f"interwave scheduler for {gemm_pipeline.value}", _names(surface.interwave)
    elif instance.persistent and gemm_pipeline not in surface.persistent:
        missing, has = f"persistent {gemm_pipeline.value} kernels", _names(surface.persistent)
    elif instance.mma_tile.sizes not in tiles:
        missing, has = f"MMA tile {instance.mma_tile} for {instance.dtype.value}", listed(sorted(tiles))
    else:
        wrong = wrong_integer_products(candidate) or _turned_wrongly(candidate)
        if wrong is None:
            return None
        missing, has = wrong
    return Violation(f"API level {level} has no {missing} (it has {has})", missing, has)


def _turned_wrongly(candidate: RuleSubject[UniversalGemmInstance]) -> tuple[str, str] | None:
    """Return what the level lacks of a kernel that turns operands in registers, and what it has instead."""
    if reads_transposed(candidate):
        return None
    tile, layout = candidate.instance.tile, candidate.instance.layout
    for name, fast in (("a", tile.m), ("b", tile.n)):
        if not layout.order(name).endswith("K"):
            wrong = taken_for_columns(candidate, name, fast, tile.k)
            if wrong is not None:
                return wrong
    return None


def _names(pipelines: Iterable[GemmPipeline]) -> str:
    return ", ".join(sorted(pipeline.value for pipeline in pipelines))


def _gemm_pipeline(candidate: RuleSubject[UniversalGemmInstance]) -> Violation | None:
    gemm_pipeline = candidate.instance.gemm_pipeline
    if gemm_pipeline in GEMM_PIPELINES:
        return None
    names = _names(GEMM_PIPELINES)
    return Violation(
        f"no matrix product is written for {gemm_pipeline.value}, only for {names}",
        gemm_pipeline.value,
        names,
    )


def _batched(candidate: RuleSubject[UniversalGemmInstance]) -> Violation | None:
    """CK Tile's batched kernel has one buffer in local memory, and computes one tile per block."""
    instance = candidate.instance
    if not isinstance(instance, BatchedGemmInstance):
        return None
    if instance.double_smem_buffer:
        return Violation(
            f"{instance.gemm_pipeline.value} needs two buffers in local memory, a batched kernel has one",
            2,
            1,
        )
    if instance.persistent:
        return Violation("batched kernels are not persistent", "persistent", "not persistent")
    return None


def _multi_d(candidate: RuleSubject[UniversalGemmInstance]) -> Violation | None:
    """D tensors are combined with what the CShuffle epilogue has in local memory, in fp32."""
    instance = candidate.instance
    if not isinstance(instance, MultiDGemmInstance):
        return None
    if instance.epilogue is not Epilogue.CSHUFFLE:
        return Violation(
            f"the {instance.epilogue.value} epilogue does not combine the product with D tensors",
            instance.epilogue.value,
            Epilogue.CSHUFFLE.value,
        )
    sums = instance.types.acc
    if sums.properties.is_integer:
        why = f"D tensors are combined in fp32, which does not hold every {sums.value}"
        return Violation(why, sums.value, "fp32")
    return None


def _tile_grain(candidate: RuleSubject[UniversalGemmInstance]) -> Violation | None:
    sizes = candidate.instance.tile.sizes
    for axis, size, grain in zip("mnk", sizes, _TILE_GRAIN, strict=True):
        if size % grain:
            return Violation(f"tile_{axis} is {size}, expected a multiple of {grain}", size, grain)
    return None


def _shuffle_repeat(candidate: RuleSubject[UniversalGemmInstance]) -> Violation | None:
    unfit = unfit_for_shuffle(candidate)
    if unfit is None:
        return None
    axis, repeats = unfit
    return Violation(
        f"a wave computes {repeats} MMA tiles along {axis}; the CShuffle epilogue is wrong unless "
        "that is a power of two",
        repeats,
        "a power of two",
    )


def _vector_size(candidate: RuleSubject[UniversalGemmInstance]) -> Violation | None:
    instance = candidate.instance
    types = instance.types
    for name, size, dtype in zip("abc", instance.vector_sizes, types.of_tensors, strict=True):
        size_bytes = size * dtype.properties.size_bytes
        if size & (size - 1) or size_bytes > _WIDEST_VECTOR_BYTES:
            return Violation(
                f"vector_size_{name} is {size}, expected a power of two of at most "
                f"{_WIDEST_VECTOR_BYTES} bytes",
                size,
                _WIDEST_VECTOR_BYTES // dtype.properties.size_bytes,
            )
    return None


#: In the order in which they are checked and reported, those of the architecture last.
RULES: Final[Rules] = {
    "api-level": known_api_level,
    "api-level-feature": _feature,
    "gemm-pipeline": _gemm_pipeline,
    "batched": _batched,
    "multi-d": _multi_d,
    "scheduler": known_scheduler,
    "tile-grain": _tile_grain,
    "wave-divides-tile": wave_divides_tile,
    "shuffle-repeat": _shuffle_repeat,
    "vector-size": _vector_size,
    "wave-size": wide_waves,
    "wave-grid": known_wave_grid,
    "mma-tile": known_mma_tile,
    "lds-budget": lds_budget,
}
