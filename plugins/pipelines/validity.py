"""The rules that every GEMM instance must obey to be built, and those on what an architecture has."""

from __future__ import annotations

import math
from typing import Final

from ckprof.model.architecture import architectures
from ckprof.model.types import SHARED_TYPES, DataType, TypeSet
from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.pipelines.gemm_instance import GemmInstance, d_layouts_of, per_channel
from ckprof_plugins.pipelines.level_rules import level_has_features
from ckprof_plugins.pipelines.rules import (
    Rules,
    RuleSubject,
    Violation,
    known_api_level,
    known_direction,
    known_mma_tile,
    known_scheduler,
    known_wave_grid,
    lds_budget,
    wave_divides_tile,
)
from ckprof_plugins.pipelines.vocabulary import (
    TENSOR_DATA_MOVER,
    Epilogue,
    GemmPipeline,
    Scheduler,
    SmemBuffering,
    Specialization,
)

#: Smallest m, n and k of a block tile, which must be multiples of these as well. The image's pixels are m for
#: all directions but the one whose result is the weight, where they are k.
_TILE_GRAIN = {
    ConvKernel.FORWARD: (1, 16, 16),
    ConvKernel.BACKWARD_DATA: (1, 16, 16),
    ConvKernel.BACKWARD_WEIGHT: (16, 16, 1),
}

#: Widest MMA tile of waves of 32 lanes.
_NARROW_WAVE = 32
_NARROW_WAVE_MMA = 16


def _tile_grain(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if candidate.kernel is None:
        return None
    for axis, size, grain in zip("mnk", instance.tile.sizes, _TILE_GRAIN[candidate.kernel], strict=True):
        if size % grain:
            return Violation(
                f"tile_{axis} is {size}, a {instance.direction} kernel needs a multiple of {grain}",
                size,
                grain,
            )
    return None


#: GEMM pipelines laid out for one arrangement of waves, which need not be in the table.
_OWN_WAVE_GRIDS = {GemmPipeline.COMPV5: (1, 1, 2)}


def _wave_grid(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if instance.wave_grid.sizes == _OWN_WAVE_GRIDS.get(instance.gemm_pipeline):
        return None
    return known_wave_grid(candidate)


def _narrow_wave(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    if candidate.arch.lanes_per_wave != _NARROW_WAVE:
        return None
    extent = candidate.instance.mma_tile.m
    if extent <= _NARROW_WAVE_MMA:
        return None
    return Violation(
        f"waves of {_NARROW_WAVE} lanes have MMA tiles of at most {_NARROW_WAVE_MMA} rows, not {extent}",
        extent,
        _NARROW_WAVE_MMA,
    )


def _coverage(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    """All lanes of a block load the same number of elements of a tile, in whole vectors."""
    instance = candidate.instance
    grid = instance.wave_grid
    lanes = candidate.arch.lanes_per_wave * grid.m * grid.n * grid.k
    for name, extent, vector in (
        ("a", instance.tile.m, instance.vector_size_a),
        ("b", instance.tile.n, instance.vector_size_b),
    ):
        elements = extent * instance.tile.k
        each = elements // lanes
        if elements % lanes:
            return Violation(
                f"operand {name} has {elements} elements a tile, no multiple of the {lanes} lanes of a block",
                elements,
                lanes,
            )
        if each % vector and vector % each:
            return Violation(
                f"vector_size_{name} is {vector}, which does not divide the {each} elements of a lane",
                vector,
                each,
            )
        if instance.gemm_pipeline is GemmPipeline.COMPV6 and each < vector:
            return Violation(
                f"{GemmPipeline.COMPV6.value} needs a load for every lane: vector_size_{name} is {vector}, "
                f"a lane has {each} elements",
                vector,
                each,
            )
    if instance.tile.n % instance.vector_size_c:
        return Violation(
            f"vector_size_c is {instance.vector_size_c}, which does not divide tile_n {instance.tile.n}",
            instance.vector_size_c,
            instance.tile.n,
        )
    return None


#: In the order in which they are checked and reported.
ARCH_RULES: Final[Rules] = {
    "tile-grain": _tile_grain,
    "wave-grid": _wave_grid,
    "mma-tile": known_mma_tile,
    "narrow-wave": _narrow_wave,
    "lds-budget": lds_budget,
    "coverage": _coverage,
}


#: Largest number of groups that backward weight can merge.
_MOST_MERGED_GROUPS = 64

#: Families that can do something with the elements of the result: partial tiles of the others meet in the
#: kernel that stores them.
_WITH_ELEMENTWISE = ("implicit_gemm", "two_stage")

#: Widest access to memory that kernels are written for.
_WIDEST_VECTOR_BYTES = 32

#: (tile, wave grid) of backward-weight kernels that are known to give wrong results with the interwave
#: scheduler in half types when a group has few products to add.
_WRONG_INTERWAVE = frozenset({((64, 64, 64), (2, 2)), ((64, 16, 64), (2, 1)), ((16, 32, 64), (1, 2))})


def _layout(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    layout = candidate.instance.layout
    if layout.ndim != candidate.instance.ndim:
        ndim = candidate.instance.ndim
        return Violation(
            f"layout {layout.name} has {layout.ndim} spatial dimensions, not {ndim}", layout.ndim, ndim
        )
    if not layout.input.endswith("GC"):
        return Violation(
            f"layout {layout.name}: the channels of a group must be the fastest axis", layout.input, "...GC"
        )
    return None


def _vector_size(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    for name, size, dtype in zip("abc", instance.vector_sizes, instance.types.of_tensors, strict=True):
        size_bytes = dtype.properties.size_bytes
        if size & (size - 1):
            return Violation(
                f"vector sizes must be powers of two (vector_size_{name} is {size})", size, "a power of two"
            )
        if size * size_bytes > _WIDEST_VECTOR_BYTES:
            return Violation(
                f"vector_size_{name} is {size}, which is {size * size_bytes} bytes, more than the "
                f"{_WIDEST_VECTOR_BYTES} of the widest access",
                size * size_bytes,
                _WIDEST_VECTOR_BYTES,
            )
    return None


def _compute_type(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if instance.compute_type is None:
        return None
    needed = instance.compute_type.operands
    if instance.dtype is needed:
        return None
    return Violation(
        f"compute_type {instance.compute_type.value} rounds operands of {needed.value}, these are "
        f"{instance.dtype.value}",
        instance.dtype.value,
        needed.value,
    )


def _smem_buffering(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    gemm_pipeline = candidate.instance.gemm_pipeline
    buffering = gemm_pipeline.properties.buffering
    doubled = candidate.instance.double_smem_buffer
    if buffering is SmemBuffering.DOUBLE and not doubled:
        return Violation(f"{gemm_pipeline.value} needs double_smem_buffer", 1, 2)
    if buffering is SmemBuffering.SINGLE and doubled:
        return Violation(
            f"{gemm_pipeline.value} has one LDS buffer, double_smem_buffer must not be set", 2, 1
        )
    return None


def _pads(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    if all(candidate.instance.pads):
        return None
    return Violation(
        "kernels always pad M, N and K: a kernel without a pad would be the same kernel",
        "".join(str(int(pad)) for pad in candidate.instance.pads),
        "111",
    )


def _explicit_gemm(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if not instance.explicit_gemm:
        return None
    if candidate.kernel is ConvKernel.BACKWARD_DATA:
        return Violation("backward data has no explicit GEMM", instance.direction, "other directions")
    if instance.gemm_pipeline is GemmPipeline.WAVELET:
        return Violation(
            "explicit_gemm does not go with wavelet", GemmPipeline.WAVELET.value, "other GEMM pipelines"
        )
    if instance.specialization is not Specialization.FILTER1X1_STRIDE1_PAD0:
        needed = Specialization.FILTER1X1_STRIDE1_PAD0.value
        return Violation(
            f"explicit_gemm needs {needed}, not {instance.specialization.value}",
            instance.specialization.value,
            needed,
        )
    if instance.num_groups_to_merge != 1:
        merged = instance.num_groups_to_merge
        return Violation(f"explicit_gemm cannot merge groups (num_groups_to_merge is {merged})", merged, 1)
    return None


def _gemm_pipeline(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if instance.gemm_pipeline is GemmPipeline.COMPV5 and candidate.kernel is not ConvKernel.FORWARD:
        return Violation(
            f"compv5 is a forward pipeline, it is not available for {instance.direction}",
            instance.direction,
            "fwd",
        )
    return None


def _tensor_data_mover(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    """Operands and results go through the tensor data mover, or neither do, and the device has one.

    Its pipelines have no D tensors, and the second one is laid out for four waves.
    """
    instance = candidate.instance
    name, properties = instance.gemm_pipeline.value, instance.gemm_pipeline.properties
    epilogue = instance.epilogue.value
    if properties.uses_mover != (instance.epilogue is Epilogue.TDM):
        goes = Epilogue.TDM.value if properties.uses_mover else "another one"
        return Violation(f"{name} does not go with epilogue {epilogue}", epilogue, goes)
    if not properties.uses_mover:
        return None
    if TENSOR_DATA_MOVER not in candidate.arch.capabilities:
        able = ", ".join(
            arch for arch, one in architectures().items() if TENSOR_DATA_MOVER in one.capabilities
        )
        return Violation(
            f"{name} needs a tensor data mover, {candidate.arch.name} has none ({able} has)",
            candidate.arch.name,
            able,
        )
    waves = math.prod(instance.wave_grid.sizes)
    if properties.waves and waves != properties.waves:
        return Violation(f"{name} has {properties.waves} waves, not {waves}", waves, properties.waves)
    if instance.elementwise_op is not None:
        operation = instance.elementwise_op.value
        return Violation(f"epilogue {epilogue} stores results as they are", operation, "no elementwise_op")
    return None


def _merged_groups(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    merged = instance.num_groups_to_merge
    if merged == 1:
        return None
    if candidate.kernel is ConvKernel.BACKWARD_DATA:
        return Violation(f"backward data does not merge groups (num_groups_to_merge is {merged})", merged, 1)
    possible = merged <= _MOST_MERGED_GROUPS and not merged & (merged - 1)
    if candidate.kernel is ConvKernel.BACKWARD_WEIGHT and not possible:
        return Violation(
            f"num_groups_to_merge is {merged}, expected a power of two up to {_MOST_MERGED_GROUPS}",
            merged,
            _MOST_MERGED_GROUPS,
        )
    return None


def _channel_padding(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if instance.channel_padding is None or instance.can_pad_channels:
        return None
    return Violation(
        "channel_padding needs channels last, results that are stored as they are, and no fold_stride",
        instance.layout.name,
        "NHWGC",
    )


def _store_immediate(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    if not candidate.instance.store_immediate:
        return None
    return Violation(
        "_si: no code generator has a switch for what upstream's table of variants calls store immediate; "
        "--si-as split_image reads those of its tables and of the rule set tile-engine as split_image",
        "store_immediate",
        "split_image",
    )


def _split_image(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if instance.split_image and candidate.kernel is not ConvKernel.FORWARD:
        return Violation(
            f"only forward kernels split the image, not {instance.direction}", instance.direction, "fwd"
        )
    return None


def _wrong_interwave(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    shape = (instance.tile.sizes, instance.wave_grid.sizes[:2])
    if (
        candidate.kernel is ConvKernel.BACKWARD_WEIGHT
        and instance.scheduler is Scheduler.INTERWAVE
        and instance.gemm_pipeline in (GemmPipeline.COMPV1, GemmPipeline.MEM)
        and instance.specialization is Specialization.DEFAULT
        and instance.dtype is not DataType.FP32
        and shape in _WRONG_INTERWAVE
    ):
        return Violation(
            f"{instance.gemm_pipeline.value} interwave with tile {instance.tile} and waves "
            f"{instance.wave_grid} is known to give wrong weights in {instance.dtype.value}",
            Scheduler.INTERWAVE.value,
            Scheduler.INTRAWAVE.value,
        )
    return None


_FORWARD: Final = f"{ConvKernel.FORWARD.value} of implicit_gemm"


def _is_forward(candidate: RuleSubject[GemmInstance]) -> bool:
    return candidate.kernel is ConvKernel.FORWARD and candidate.instance.pipeline == "implicit_gemm"


def _types(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    """Only kernels of forward have operands of 8 bits, and tensors of several types."""
    instance = candidate.instance
    if instance.types.text == TypeSet.shared(instance.dtype).text and instance.dtype in SHARED_TYPES:
        return None
    if _is_forward(candidate):
        return None
    found = f"{instance.direction} of {instance.pipeline}"
    types = instance.types.text
    return Violation(f"types {types}: {found} has none of these, {_FORWARD} has", found, _FORWARD)


def _elementwise(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if instance.elementwise_op is None or candidate.operation is None:
        return None
    if instance.pipeline not in _WITH_ELEMENTWISE:
        has = " and ".join(_WITH_ELEMENTWISE)
        return Violation(
            f"elementwise_op {instance.elementwise_op.value}: {instance.pipeline} has none, {has} have",
            instance.pipeline,
            has,
        )
    if instance.elementwise_op.properties.operands:
        return _made_operands(candidate)
    known = d_layouts_of(candidate.operation.result, instance.layout)
    for name in instance.d_tensors:
        if name not in known:
            return Violation(
                f"d_layouts has {name}, kernels of {instance.direction} have {' or '.join(known)}",
                name,
                " or ".join(known),
            )
        if instance.fold_stride and per_channel(name) and candidate.operation.result == "input":
            return Violation(
                f"fold_stride: the result has other channels inside of the kernel than {name}",
                name,
                "an element for each of the result",
            )
    return None


def _made_operands(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    """What operands are made from has their types, which are known where all tensors have one."""
    instance, types = candidate.instance, candidate.instance.types
    what = f"elementwise_op {instance.elementwise_op.value}" if instance.elementwise_op else ""
    if not _is_forward(candidate):
        found = f"{instance.direction} of {instance.pipeline}"
        return Violation(
            f"{what}: {found} multiplies operands as they are, {_FORWARD} may make them of two tensors each",
            found,
            _FORWARD,
        )
    if set(types.operands) != {types.result}:
        expected = types.result.value
        return Violation(f"{what}: tensors of {types.text}, expected one type", types.text, expected)
    return None


#: The rules of every GEMM family, those of the architecture last.
GEMM_RULES: Final[Rules] = {
    "api-level": known_api_level,
    "api-level-feature": level_has_features,
    "direction": known_direction,
    "layout": _layout,
    "wave-divides-tile": wave_divides_tile,
    "vector-size": _vector_size,
    "compute-type": _compute_type,
    "types": _types,
    "elementwise": _elementwise,
    "gemm-pipeline": _gemm_pipeline,
    "tensor-data-mover": _tensor_data_mover,
    "smem-buffering": _smem_buffering,
    "scheduler": known_scheduler,
    "pads": _pads,
    "explicit-gemm": _explicit_gemm,
    "merged-groups": _merged_groups,
    "split-image": _split_image,
    "store-immediate": _store_immediate,
    "channel-padding": _channel_padding,
    "wrong-interwave": _wrong_interwave,
    **ARCH_RULES,
}
