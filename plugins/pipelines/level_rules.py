"""What GEMM kernels can express at the API levels that lack something.

A level without an entry has everything. The tables are facts about the headers of that time: what is not
there, or does not compile, or is known to be wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.model.architecture import API_LEVEL_2025_07, API_LEVEL_2025_11, LATEST_API_LEVEL
from ckprof.model.types import SHARED_TYPES, ComputeType, DataType
from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.pipelines.rules import (
    FLOAT8_TILES,
    INT8_TILES,
    RuleSubject,
    Violation,
    covers,
    laid_out_for_transposed_reads,
    listed,
    native_width,
    reads_transposed,
    taken_for_columns,
    unfit_for_shuffle,
    wrong_integer_products,
)
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, Scheduler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof_plugins.pipelines.gemm_instance import GemmInstance


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSurface:
    """What the headers of one level offer to GEMM kernels."""

    #: family ids
    families: frozenset[str]
    #: kernel -> GEMM pipelines that work there
    gemm_pipelines: Mapping[ConvKernel, frozenset[GemmPipeline]]
    #: those with an interwave scheduler
    interwave: frozenset[GemmPipeline]
    #: those that do not compile with two LDS buffers: the kernel calls them with two pointers, they take one
    single_buffered: frozenset[GemmPipeline]
    dtypes: frozenset[DataType]
    #: types for which the dispatcher has fewer MMA tiles than the architectures
    mma_tiles: Mapping[DataType, frozenset[tuple[int, int, int]]]
    #: types of products that operands are rounded to
    compute_types: frozenset[ComputeType]
    #: GEMM pipeline -> the only wave grid and number of wave groups with which its results are right
    wave_layouts: Mapping[GemmPipeline, tuple[tuple[int, int, int], int]]
    #: GEMM pipeline -> numbers of blocks along K per split with which splits of a reduction read beyond their
    #: share: the tail of the main loop takes blocks of the next split
    wrong_split_loops: Mapping[GemmPipeline, tuple[int, ...]]
    #: GEMM pipelines that read wrong elements after the first block along K of an operand whose fastest axis
    #: is not K: they advance along the fastest axis
    first_block_only: frozenset[GemmPipeline]
    #: kernel -> numbers of spatial dimensions with which an operand has its axes the wrong way round
    wrong_dimensions: Mapping[ConvKernel, frozenset[int]]
    #: kernel -> operands whose fastest axis is not K: they are turned in registers, for which the headers lay
    #: them out in the width that they derive from the tile, whatever the loads were laid out in
    turned_operands: Mapping[ConvKernel, str]
    #: whether loads are laid out in the width that is imposed, so that it must be one that covers the tile
    imposes_widths: bool
    #: whether the CShuffle epilogue is right for any number of MMA tiles that a wave has along M; if not, for
    #: powers of two
    shuffles_any_number: bool
    #: kernels that merge groups
    merges_groups: frozenset[ConvKernel]
    splits_images: bool
    explicit_gemm: bool
    #: whether the host arguments of forward kernels have an element-wise operation
    elementwise: bool
    #: family -> elements that it can add to its sums at once; without an entry, as many as it stores
    widest_sums: Mapping[str, int]
    #: whether operands of two types are right: if not, both are multiplied as the first one's
    mixes_operands: bool = False


_FORWARD_2025_07: Final = frozenset(
    {GemmPipeline.COMPV1, GemmPipeline.MEM, GemmPipeline.COMPV3, GemmPipeline.COMPV4, GemmPipeline.COMPV5}
)
_PIPELINES_2025_11: Final = _FORWARD_2025_07 - {GemmPipeline.COMPV5}

SURFACES: Final[Mapping[str, LevelSurface]] = {
    API_LEVEL_2025_07: LevelSurface(
        # two-stage does not compile there: the kernel stores through a pointer of its operands' type
        families=frozenset({"implicit_gemm"}),
        gemm_pipelines={
            ConvKernel.FORWARD: _FORWARD_2025_07,
            ConvKernel.BACKWARD_WEIGHT: _FORWARD_2025_07 - {GemmPipeline.COMPV5},
        },
        interwave=frozenset({GemmPipeline.MEM}),
        single_buffered=frozenset({GemmPipeline.MEM}),
        # the dispatcher of MMA tiles has none for fp32
        dtypes=frozenset({DataType.FP16, DataType.BF16}),
        mma_tiles={},
        # tf32_t came in 2026
        compute_types=frozenset(),
        # other grids compile, but it adds up the accumulators of two waves
        wave_layouts={GemmPipeline.COMPV5: ((1, 1, 2), 2)},
        wrong_split_loops={GemmPipeline.COMPV4: (1, 3)},
        # operands of products alone: those of convolutions are described with K as the fastest axis
        first_block_only=frozenset({GemmPipeline.COMPV1}),
        wrong_dimensions={},
        turned_operands={},
        imposes_widths=False,
        shuffles_any_number=False,
        merges_groups=frozenset(),
        splits_images=False,
        explicit_gemm=False,
        elementwise=False,
        widest_sums={},
    ),
    API_LEVEL_2025_11: LevelSurface(
        # the type of results is the epilogue's since, so that sums can be kept in another one
        families=frozenset({"implicit_gemm", "two_stage"}),
        # compv5 and compv6 do not compile: the epilogue counts the waves along M and N alone, which leaves
        # one of compv5's two; kernels call compv6 with windows, it takes tuples of them
        gemm_pipelines={
            ConvKernel.FORWARD: _PIPELINES_2025_11,
            # nor does compv4 for backward data: the kernel asks a window for its tensor's length
            ConvKernel.BACKWARD_DATA: _PIPELINES_2025_11 - {GemmPipeline.COMPV4},
            ConvKernel.BACKWARD_WEIGHT: _PIPELINES_2025_11,
        },
        interwave=frozenset({GemmPipeline.MEM}),
        single_buffered=frozenset({GemmPipeline.MEM, GemmPipeline.COMPV3}),
        dtypes=frozenset({*SHARED_TYPES, DataType.FP8, DataType.BF8, DataType.INT8}),
        mma_tiles={
            DataType.FP32: frozenset({(16, 16, 4), (16, 16, 16)}),
            DataType.FP8: FLOAT8_TILES,
            DataType.BF8: FLOAT8_TILES,
            DataType.INT8: INT8_TILES,
        },
        compute_types=frozenset(),
        wave_layouts={},
        # one block has an end of its own since, three still run five
        wrong_split_loops={GemmPipeline.COMPV4: (3,)},
        first_block_only=frozenset({GemmPipeline.COMPV1}),
        # the output is described as K rows there and read as K columns
        wrong_dimensions={ConvKernel.BACKWARD_WEIGHT: frozenset({1})},
        turned_operands={ConvKernel.BACKWARD_DATA: "b", ConvKernel.BACKWARD_WEIGHT: "ab"},
        imposes_widths=True,
        # executed instruction by instruction, kernels with 3 and 7 of them store wrong rows; 3 along N do not
        shuffles_any_number=False,
        # the kernel of forward has descriptors for it, but neither sizes nor strides
        merges_groups=frozenset({ConvKernel.BACKWARD_WEIGHT}),
        splits_images=True,
        explicit_gemm=False,
        elementwise=True,
        # atomic additions of fp32, which is what its workspace holds
        widest_sums={"two_stage": 4},
    ),
}


#: bytes of the largest elements that transposed reads are for; with wider ones, the headers ask for a form of
#: the MMA tile that their dispatcher does not have
_TRANSPOSED_BYTES: Final = 2


def level_has_features(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    """The level's headers have every feature of the instance."""
    surface = SURFACES.get(candidate.api_level)
    if surface is None:
        return None
    missing = _missing(candidate, surface)
    if missing is None:
        return None
    feature, has = missing
    return Violation(f"API level {candidate.api_level} has no {feature} (it has {has})", feature, has)


def _missing(candidate: RuleSubject[GemmInstance], surface: LevelSurface) -> tuple[str, str] | None:
    """Return the first feature that the level lacks, and what it has instead."""
    instance = candidate.instance
    pipelines = surface.gemm_pipelines.get(candidate.kernel) if candidate.kernel else frozenset()
    gemm_pipeline = instance.gemm_pipeline
    if instance.pipeline not in surface.families:
        return f"{instance.pipeline} kernels", ", ".join(sorted(surface.families))
    if pipelines is None:
        return f"{instance.direction} kernels", ", ".join(kernel.value for kernel in surface.gemm_pipelines)
    if gemm_pipeline not in pipelines:
        names = ", ".join(sorted(pipeline.value for pipeline in pipelines))
        return f"{gemm_pipeline.value} for {instance.direction}", names
    if candidate.kernel and instance.ndim in surface.wrong_dimensions.get(candidate.kernel, ()):
        return f"right {instance.ndim}D kernels of {instance.direction}", "those of other dimensions"
    if instance.compute_type is not None and instance.compute_type not in surface.compute_types:
        return f"compute type {instance.compute_type.value}", f"none; {LATEST_API_LEVEL} has it"
    if instance.dtype not in surface.dtypes:
        names = ", ".join(sorted(dtype.value for dtype in surface.dtypes))
        return f"{instance.dtype.value} MMA tiles", names
    first, second = instance.types.operands
    if first is not second and not surface.mixes_operands:
        return f"right products of {first.value} and {second.value}", "those of one type"
    tiles = surface.mma_tiles.get(instance.dtype)
    if tiles is not None and instance.mma_tile.sizes not in tiles:
        return f"MMA tile {instance.mma_tile} for {instance.dtype.value}", listed(sorted(tiles))
    wrong = wrong_integer_products(candidate)
    if wrong is not None:
        return wrong
    if instance.scheduler is Scheduler.INTERWAVE and gemm_pipeline not in surface.interwave:
        names = ", ".join(sorted(pipeline.value for pipeline in surface.interwave))
        return f"interwave scheduler for {gemm_pipeline.value}", f"it for {names}"
    if instance.double_smem_buffer and gemm_pipeline in surface.single_buffered:
        return f"{gemm_pipeline.value} with double_smem_buffer", "it with one LDS buffer"
    wave_layout = (instance.wave_grid.sizes, instance.num_wave_groups)
    only = surface.wave_layouts.get(gemm_pipeline, wave_layout)
    if wave_layout != only:
        has = f"{'x'.join(map(str, only[0]))} with num_wave_groups {only[1]}"
        return (
            f"{gemm_pipeline.value} with waves {instance.wave_grid} and num_wave_groups "
            f"{instance.num_wave_groups}",
            has,
        )
    if instance.num_groups_to_merge != 1 and candidate.kernel not in surface.merges_groups:
        return f"merged groups (num_groups_to_merge is {instance.num_groups_to_merge})", "one group per GEMM"
    if instance.split_image and not surface.splits_images:
        return "split images", "32-bit offsets only"
    is_forward = candidate.kernel is ConvKernel.FORWARD
    operation = instance.elementwise_op
    # gradients and operands are changed by kernels of their own
    is_fused = operation is not None and is_forward and not operation.properties.operands
    if operation is not None and is_fused and not surface.elementwise:
        return f"element-wise operations ({operation.value})", "plain results"
    if instance.explicit_gemm and not surface.explicit_gemm:
        return "explicit GEMM", "implicit GEMM"
    widest = surface.widest_sums.get(instance.pipeline, instance.vector_size_c)
    if instance.vector_size_c > widest:
        return (
            f"{instance.pipeline} kernels that add {instance.vector_size_c} elements at once",
            f"those with vector_size_c of up to {widest}",
        )
    unfit = None if surface.shuffles_any_number else unfit_for_shuffle(candidate, "m")
    if unfit is not None:
        axis, count = unfit
        return f"right CShuffle epilogue for {count} MMA tiles of a wave along {axis}", "it for powers of two"
    return _unloadable(candidate, surface) if surface.imposes_widths else None


def _unloadable(candidate: RuleSubject[GemmInstance], surface: LevelSurface) -> tuple[str, str] | None:
    """Return the first operand that the level's headers cannot load in the width that the instance has."""
    instance = candidate.instance
    waves = math.prod(instance.wave_grid.sizes)
    columns = surface.turned_operands.get(candidate.kernel, "") if candidate.kernel else ""
    turned = "" if reads_transposed(candidate) else columns
    size_bytes = instance.dtype.properties.size_bytes
    if laid_out_for_transposed_reads(candidate) and columns and size_bytes > _TRANSPOSED_BYTES:
        what = f"{instance.dtype.value} for {instance.direction} on {candidate.arch.name}"
        return f"{what}: it reads operands transposed from LDS", "types of 16 bits"
    lanes = candidate.arch.lanes_per_wave
    for name, extent, width in (
        ("a", instance.tile.m, instance.vector_size_a),
        ("b", instance.tile.n, instance.vector_size_b),
    ):
        fast, other = (extent, instance.tile.k) if name in columns else (instance.tile.k, extent)
        wrong = taken_for_columns(candidate, name, fast, other) if name in turned else None
        if wrong is not None:
            return wrong
        share = fast * other // (waves * lanes)
        native = native_width(fast, share, size_bytes)
        of_tile = f"for a tile of {other} x {fast} elements and {waves * lanes} lanes"
        if name in turned and min(width, share) != native:
            turns = f"it turns the tile in registers, by vectors of {native}"
            return f"vector_size_{name} {width} {of_tile}: {turns}", f"vector_size_{name} {native}"
        if not covers(fast, other, width, waves, lanes):
            return f"vector_size_{name} {width} {of_tile}", f"vector_size_{name} {native}"
    return None
