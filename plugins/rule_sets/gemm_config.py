"""A GEMM configuration while rule sets enumerate, upstream's own test of it, and the instance it becomes.

Which wave grids, MMA tiles and vectors fit a block tile follows upstream's enumeration exactly, its oddities
included: a wave has 64 lanes whatever the architecture, and the K of an MMA tile does not look at what the
architecture has. What is wrong with the result is said by the validity rules, not here.

Kernels that support no problem on an architecture, whatever its sizes, are left out: the support tests of CK
Tile contradict themselves for them, when one condition allows a single channel and another one needs a
multiple of a vector. Lists may name them all the same: they say which kernels a library has.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof.plugin.protocols import RuleSetEntry
from ckprof_plugins.pipelines.gemm_families import (
    ImplicitGemmInstance,
    ReductionStrategy,
    StreamKInstance,
    TwoStageInstance,
)
from ckprof_plugins.pipelines.gemm_instance import Extent, GemmInstance
from ckprof_plugins.pipelines.vocabulary import Epilogue, GemmPipeline, Scheduler, Specialization
from ckprof_plugins.rule_sets.tiles import GEMM_LAYOUTS

if TYPE_CHECKING:
    from ckprof.model.architecture import Architecture, Sizes
    from ckprof.model.instance import Instance


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
        "layout": GEMM_LAYOUTS[config.ndim],
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


@lru_cache(maxsize=1024)
def _extent(sizes: Sizes) -> Extent:
    return Extent(m=sizes[0], n=sizes[1], k=sizes[2])


#: A wave grid and the m and n of an MMA tile.
Pair = tuple["Sizes", tuple[int, int]]

_LANES: Final = 64
_VECTORS: Final = (1, 2, 4, 8, 16)
_WIDEST_VECTOR_BYTES: Final = 32
_WAVES_ALONG_K: Final = (1, 2)

#: Largest vector of a tile's table, in elements.
_FULL_VECTOR: Final = {DataType.FP32: 4, DataType.FP16: 8, DataType.BF16: 8}


def fitting_pairs(tile: Sizes, arch: Architecture, dtype: DataType) -> tuple[Pair, ...]:
    """Return the pairs of wave grid and MMA tile that divide a block tile, each once."""
    pairs: dict[Pair, None] = {}
    for mma_m, mma_n, _ in arch.mma_tiles.get(dtype.value, ()):
        if tile[0] % mma_m or tile[1] % mma_n:
            continue
        rows, columns = tile[0] // mma_m, tile[1] // mma_n
        for i in _divisors(rows):
            for j in _divisors(columns):
                for k in _WAVES_ALONG_K:
                    grid = (rows // i, columns // j, k)
                    if grid in arch.wave_grids:
                        pairs[grid, (mma_m, mma_n)] = None
    return tuple(pairs)


def mma_k(mma: tuple[int, int], tile_k: int, dtype: DataType) -> int:
    """Return the K of an MMA tile, at most ``tile_k``."""
    wide = mma == (32, 32)
    if dtype is DataType.FP32:
        k = max(4 if tile_k <= 16 else 8, 2 if wide else 4)
    else:
        k = 16 if wide else 32
    return min(k, tile_k)


def legacy_mma_k(mma_m: int, tile_k: int, dtype: DataType) -> int:
    """Return the K that stream-K and some wavelet kernels are written with."""
    return min(8 if mma_m == 32 else 16, tile_k // 4 if dtype is DataType.FP32 else tile_k)


def vector_code(code: str, dtype: DataType) -> Sizes:
    """Return the three vector sizes of a code: M is the full vector, H half of it, Q a quarter, 1 is 1."""
    full = _FULL_VECTOR[dtype]
    sizes = {"M": full, "H": full // 2, "Q": max(1, full // 4), "1": 1}
    return sizes[code[0]], sizes[code[1]], sizes[code[2]]


@lru_cache(maxsize=4096)
def vectors_fit(vectors: Sizes, tile: Sizes, grid: Sizes, size_bytes: int) -> bool:
    """Say whether all lanes of a block can load a tile in these vectors and store the result in them."""
    lanes = _LANES * grid[0] * grid[1] * grid[2]
    elements_a, elements_b = tile[0] * tile[2], tile[1] * tile[2]
    if elements_a % lanes or elements_b % lanes:
        return False
    cap = max(1, _WIDEST_VECTOR_BYTES // size_bytes)
    if any(size not in _VECTORS or size > cap for size in vectors):
        return False
    if tile[1] % vectors[2]:
        return False
    each = (elements_a // lanes, elements_b // lanes)
    return all(part % size == 0 or size % part == 0 for part, size in zip(each, vectors, strict=False))


@lru_cache(maxsize=256)
def _divisors(number: int) -> tuple[int, ...]:
    return tuple(divisor for divisor in range(1, number + 1) if number % divisor == 0)


RULE: Final = "no-problem"
#: direction -> operands of which a vector runs along the input channels of one group
_ALONG_CHANNELS: Final = {"fwd": "ab", "bwd_data": "bc", "bwd_weight": "bc"}


def entry_of(instance: Instance, arch: Architecture, defect: UnmetRequirement | None = None) -> RuleSetEntry:
    """Return an instance as a kernel of a rule set.

    :param defect: what is wrong with it in any case.
    """
    if defect is None and isinstance(instance, GemmInstance):
        defect = _missing_capability(instance, arch) or _single_channel(instance)
    return RuleSetEntry(instance, defect)


def _missing_capability(instance: GemmInstance, arch: Architecture) -> UnmetRequirement | None:
    stream_k = "stream_k" if isinstance(instance, StreamKInstance) else ""
    for capability in filter(None, (instance.gemm_pipeline.properties.needs, stream_k)):
        if capability not in arch.capabilities:
            return UnmetRequirement(
                rule=RULE,
                message=f"the kernel needs {capability}, which {arch.name} has not: it supports no problem",
                found=arch.name,
                allowed=capability,
            )
    return None


def _single_channel(instance: GemmInstance) -> UnmetRequirement | None:
    merges = instance.num_groups_to_merge != 1 and instance.direction == "fwd"
    if instance.specialization is Specialization.FILTER3X3:
        who = instance.specialization.value
    elif merges:
        who = f"merging {instance.num_groups_to_merge} groups"
    else:
        return None
    for name in _ALONG_CHANNELS.get(instance.direction, ""):
        # merged groups have their channels side by side in A
        if merges and name == "a":
            continue
        width = getattr(instance, f"vector_size_{name}")
        if width > 1:
            return UnmetRequirement(
                rule=RULE,
                message=f"{who} allows one input channel, vector_size_{name} needs a multiple of {width}: "
                "the kernel supports no problem",
                found=width,
                allowed=1,
            )
    return None
