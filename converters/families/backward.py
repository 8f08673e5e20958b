"""Backward lines of the old library, in full spelling: of data and of weights."""

from __future__ import annotations

from typing import Any, Final

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import (
    BLOCK_SIZE,
    COMPUTE_TYPES,
    MERGED_GROUPS,
    MMA,
    NDIM,
    REPEATS,
    RESULT,
    SCHEDULER,
    SPECIALIZATION,
    TILE,
    TILE_MN,
    TRANSPOSE,
    VERSION,
    Field,
    layouts,
    number,
    operand,
    unread,
    unread_all,
)
from ckprof_converters.conf_family import ConfFamily
from ckprof_converters.derivation import missing
from ckprof_converters.elementwise import elementwise
from ckprof_converters.records import GEMM_DEFAULTS, GemmRecord
from ckprof_plugins.elementwise.operations import operations

#: what follows the arguments, for full and short lines alike
STEPS: Final = (
    "same-k1",
    "pipeline-of-version",
    "square-mma",
    "waves",
    "mma-k",
    "regular-vectors",
    "coverage-of-kn",
    "thread-share",
)

DATA_FAMILIES: Final = (
    ConfFamily(
        id="backward_data",
        title="backward-data XDL",
        direction="bwd_data",
        variant="bwd_data",
        record_type=GemmRecord,
        names=(
            "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle",
            "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",
        ),
        fields=(
            NDIM,
            *layouts("output", "weight", "input", with_extra=True),
            Field("type_a", kinds.ELEMENT_TYPE),
            Field("type_b", kinds.ELEMENT_TYPE),
            Field("type_accumulator", kinds.ELEMENT_TYPE),
            Field("type_extra", kinds.TUPLE),
            Field("type_input", kinds.ELEMENT_TYPE),
            *operations("output", "weight", "input"),
            SPECIALIZATION,
            *unread_all(kinds.FLAG, "pad_gemm_m", "pad_gemm_n"),
            unread("prefetch_stages", kinds.INT),
            BLOCK_SIZE,
            *TILE,
            number("k1"),
            number("k1_b"),
            *MMA,
            *REPEATS,
            *operand("a"),
            *operand("b"),
            *RESULT,
            unread("prefetch_stages_again", kinds.INT),
            Field("scheduler", kinds.LOOP_SCHEDULER),
            *COMPUTE_TYPES,
            *TRANSPOSE,
        ),
        ndim_field="ndim",
        layout_fields=("layout_input", "layout_weight", "layout_output"),
        dtype_fields=("type_a", "type_b", "type_input"),
        fixed=GEMM_DEFAULTS,
        steps=(
            elementwise("operation_input", "type_input", result="input"),
            *STEPS,
            "compute-type",
        ),
    ),
)


_LAYOUTS: Final = layouts("input", "weight", "output", with_extra=False)
_TYPES: Final = (
    Field("type_input", kinds.ELEMENT_TYPE),
    Field("type_weight", kinds.ELEMENT_TYPE),
    Field("type_output", kinds.ELEMENT_TYPE),
    Field("type_accumulator", kinds.ELEMENT_TYPE),
)
_OPERATIONS: Final = (*operations("input", "weight", "output"), SPECIALIZATION, BLOCK_SIZE)

#: 13 arguments
_HEAD: Final = (NDIM, *_LAYOUTS, *_TYPES, *_OPERATIONS)

#: 15 arguments: the same with D tensors
_HEAD_WITH_D: Final = (
    NDIM,
    *_LAYOUTS,
    Field("layout_extra", kinds.TUPLE),
    *_TYPES,
    Field("type_extra", kinds.TUPLE),
    *_OPERATIONS,
)

#: after the tile: 23 arguments
_BODY: Final = (number("k1"), *MMA, *REPEATS, *operand("a"), *operand("b"), *RESULT)

_DERIVED: Final = ("pipeline-of-version", "square-mma", "waves", "mma-k", "regular-vectors", "coverage-of-mn")

_COMMON: Final[dict[str, Any]] = {
    "direction": "bwd_weight",
    "variant": "bwd_weight",
    "record_type": GemmRecord,
    "ndim_field": "ndim",
    "layout_fields": ("layout_input", "layout_weight", "layout_output"),
    "dtype_fields": ("type_input", "type_weight", "type_output"),
}

_EXPLICIT_NESTED: Final = (
    unread("gemm_padding", kinds.GEMM_PADDING),
    unread("matrix_orders", kinds.MATRIX_ORDERS),
)

_EXPLICIT_FIELDS: Final = (
    Field("block_size", kinds.POSITIVE, label="BlkSize"),
    Field("tile", kinds.extents(3), label="BlkTile"),
    Field("mma", kinds.extents(2), label="WaveTile"),
    Field("k1_pair", kinds.extents(2), label="K1"),
    Field("repeat", kinds.extents(2), label="WaveMap"),
    Field("vectors", kinds.VECTORS, label="VmemReadVec"),
    Field("scheduler", kinds.SCHEDULER, label="BlkGemmPipelineScheduler"),
    Field("version", kinds.VERSION, label="BlkGemmPipelineVersion"),
    Field("prefetch_stages", kinds.INT, read=False, label="BlkGemmPipelinePrefetchStages"),
)

_ELEMENTWISE: Final = elementwise("operation_weight", "type_weight", result="weight")

WEIGHT_FAMILIES: Final = (
    ConfFamily(
        id="backward_weight",
        title="backward-weight XDL",
        names=("DeviceGroupedConvBwdWeight_Xdl_CShuffle",),
        fields=(*_HEAD, *TILE_MN, number("k0"), *_BODY, *COMPUTE_TYPES, *TRANSPOSE),
        fixed=GEMM_DEFAULTS,
        steps=("k-from-k0", *_DERIVED, "compute-type", _ELEMENTWISE),
        **_COMMON,
    ),
    ConfFamily(
        id="backward_weight_v3",
        title="backward-weight XDL V3",
        names=("DeviceGroupedConvBwdWeight_Xdl_CShuffleV3",),
        fields=(
            *_HEAD,
            *TILE,
            *_BODY,
            SCHEDULER,
            VERSION,
            *COMPUTE_TYPES,
            Field("direct_load", kinds.FLAG),
            MERGED_GROUPS,
            # Newer versions of the old library print one more flag, always as a word.
            Field("split_image", kinds.WORD_FLAG),
        ),
        fixed=GEMM_DEFAULTS,
        steps=(*_DERIVED, "compute-type", _ELEMENTWISE),
        **_COMMON,
    ),
    ConfFamily(
        id="backward_weight_two_stage",
        title="backward-weight two-stage XDL",
        names=("DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle",),
        fields=(*_HEAD, *TILE, *_BODY, SCHEDULER, VERSION, MERGED_GROUPS, *COMPUTE_TYPES, *TRANSPOSE),
        fixed={**GEMM_DEFAULTS, "two_stage": True},
        steps=(*_DERIVED, "compute-type", _ELEMENTWISE),
        **_COMMON,
    ),
    ConfFamily(
        id="backward_weight_multiple_d_xdl",
        title="backward-weight multiple D",
        names=("DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle",),
        fields=(*_HEAD_WITH_D, *TILE_MN, number("k0"), *_BODY, *COMPUTE_TYPES),
        # sums in fp32, which a second kernel converts and combines
        fixed={**GEMM_DEFAULTS, "two_stage": True},
        steps=("k-from-k0", *_DERIVED, "compute-type", _ELEMENTWISE),
        **_COMMON,
    ),
    ConfFamily(
        id="backward_weight_explicit",
        title="backward-weight explicit GEMM",
        direction="bwd_weight",
        variant="bwd_weight",
        record_type=GemmRecord,
        names=("DeviceGroupedConvBwdWeight_Explicit_Xdl",),
        nested="DeviceBatchedGemmXdlUniversal",
        nested_fields=_EXPLICIT_NESTED,
        fields=_EXPLICIT_FIELDS,
        separator=", ",
        fixed={**GEMM_DEFAULTS, "specialization": "filter1x1_stride1_pad0", "explicit_gemm": True},
        steps=("explicit-shapes", *_DERIVED, "explicit-two-stage"),
    ),
    ConfFamily(
        id="backward_weight_explicit_older",
        title="backward-weight explicit GEMM of the older kind",
        direction="bwd_weight",
        variant="bwd_weight",
        record_type=GemmRecord,
        names=("DeviceGroupedConvBwdWeight_Explicit_Xdl",),
        nested="DeviceBatchedGemmXdlUniversal",
        nested_fields=_EXPLICIT_NESTED,
        # Neither K1 nor the vector width of the result.
        fields=(
            *_EXPLICIT_FIELDS[:3],
            _EXPLICIT_FIELDS[4],
            Field("vectors", kinds.extents(2), label="VmemReadVec"),
            *_EXPLICIT_FIELDS[6:],
        ),
        separator=", ",
        fixed=GEMM_DEFAULTS,
        steps=(missing("k1", "vector_size_c"),),
    ),
)
