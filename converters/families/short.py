"""The short type strings that ckProfiler of the old library printed, and old lists hold.

They say neither layout nor data type, and not all that a record needs. K1 of forward follows from a fixed
rule. The store width of backward data and the MMA tile of backward weight follow from nothing that is
printed: such lines are checked, then dropped as missing information.
"""

from __future__ import annotations

from typing import Any, Final

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import (
    BLOCK_SIZE,
    MERGED_GROUPS,
    MMA,
    REPEATS,
    SHUFFLE,
    SPECIALIZATION,
    TILE,
    TILE_MN,
    Field,
    number,
    unread,
)
from ckprof_converters.conf_family import ConfFamily
from ckprof_converters.derivation import missing
from ckprof_converters.records import GEMM_DEFAULTS, GemmRecord

#: 14 arguments
_FORWARD: Final = (
    BLOCK_SIZE,
    *TILE,
    SPECIALIZATION,
    *MMA,
    *REPEATS,
    number("vector_size_a"),
    number("vector_size_b"),
    number("vector_size_c"),
    *SHUFFLE,
)

_VERSION: Final = (
    Field("scheduler", kinds.SCHEDULER, label="BlkGemmPipelineScheduler"),
    Field("version", kinds.SHORT_VERSION, label="BlkGemmPipelineVersion"),
)

_COMMON: Final[dict[str, Any]] = {
    "direction": "fwd",
    "variant": "forward",
    "record_type": GemmRecord,
    "separator": ", ",
    "steps": ("pipeline-of-version", "square-mma", "waves", "short-mma-k"),
    "note": "short forward lines do not print K1: warp_tile_k follows from data type and MMA tile alone",
}

_BACKWARD: Final[dict[str, Any]] = {"record_type": GemmRecord, "separator": ", ", "fixed": GEMM_DEFAULTS}
_BACKWARD_DATA: Final = {**_BACKWARD, "direction": "bwd_data", "variant": "bwd_data"}
_BACKWARD_WEIGHT: Final = {**_BACKWARD, "direction": "bwd_weight", "variant": "bwd_weight"}

_BACKWARD_DATA_FIELDS: Final = (
    BLOCK_SIZE,
    *TILE,
    number("k1"),
    number("k1_b"),
    SPECIALIZATION,
    *MMA,
    *REPEATS,
    number("vector_size_a"),
    number("vector_size_b"),
    *SHUFFLE,
)

#: after the K extent: 11 arguments
_BACKWARD_WEIGHT_BODY: Final = (
    SPECIALIZATION,
    number("k1"),
    *REPEATS,
    number("vector_size_a"),
    unread("destination_vector_a", kinds.INT),
    number("vector_size_b"),
    unread("destination_vector_b", kinds.INT),
    *SHUFFLE,
    number("vector_size_c"),
)


#: printed for layouts with the channels first
_TRANSPOSE: Final = tuple(
    Field(
        f"transpose_{side}_vector",
        kinds.INT,
        read=False,
        label=f"TransposeTransfer{word}ScalarPerVectorAligned",
    )
    for side, word in (("source", "Src"), ("destination", "Dst"))
)

FAMILIES: Final = (
    ConfFamily(
        id="short_forward",
        title="short forward XDL",
        names=("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle",),
        fields=(*_FORWARD, MERGED_GROUPS),
        fixed={**GEMM_DEFAULTS, "has_version": False},
        conflicting_family="short_forward_oldest",
        **_COMMON,
    ),
    ConfFamily(
        id="short_forward_oldest",
        title="short forward XDL of the oldest kind",
        names=("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle",),
        fields=_FORWARD,
        fixed={**GEMM_DEFAULTS, "has_version": False},
        conflicting_family="short_forward",
        **_COMMON,
    ),
    ConfFamily(
        id="short_forward_large_tensor",
        title="short forward large tensor",
        names=("DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor",),
        fields=_FORWARD,
        fixed={**GEMM_DEFAULTS, "has_version": False, "split_image": True},
        **_COMMON,
    ),
    ConfFamily(
        id="short_forward_v3",
        title="short forward XDL V3",
        names=("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3",),
        fields=(*_FORWARD, *_VERSION),
        fixed={**GEMM_DEFAULTS, "has_version": True},
        **_COMMON,
    ),
    ConfFamily(
        id="short_forward_v3_direct_load",
        title="short forward XDL V3 with direct load",
        names=("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3_DirectLoad",),
        fields=(*_FORWARD, *_VERSION),
        fixed={**GEMM_DEFAULTS, "has_version": True, "direct_load": True},
        **_COMMON,
    ),
    ConfFamily(
        id="short_backward_data",
        title="short backward-data XDL",
        names=("DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",),
        fields=_BACKWARD_DATA_FIELDS,
        steps=("same-k1", "square-mma", "waves", missing("vector_size_c")),
        **_BACKWARD_DATA,
    ),
    ConfFamily(
        id="short_backward_data_v3",
        title="short backward-data XDL V3",
        names=tuple(
            f"DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffleV3{ending}"
            for ending in ("", "_DirectLoad", "_Large_Tensor", "_DirectLoad_Large_Tensor")
        ),
        fields=_BACKWARD_DATA_FIELDS,
        steps=("same-k1", "square-mma", "waves", missing("vector_size_c", "pipeline")),
        **_BACKWARD_DATA,
    ),
    ConfFamily(
        id="short_backward_data_oldest",
        title="short backward-data XDL of the oldest kind",
        names=("DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",),
        fields=_BACKWARD_DATA_FIELDS[:7],
        steps=(
            "same-k1",
            missing("mma_m", "mma_n", "repeat_m", "repeat_n", *(f"vector_size_{x}" for x in "abc")),
        ),
        **_BACKWARD_DATA,
    ),
    ConfFamily(
        id="short_backward_weight",
        title="short backward-weight XDL",
        names=("DeviceGroupedConvBwdWeight_Xdl_CShuffle",),
        fields=(BLOCK_SIZE, *TILE_MN, number("k0"), *_BACKWARD_WEIGHT_BODY, *_TRANSPOSE),
        counts=(15, 17),
        steps=("k-from-k0", missing("mma_m", "mma_n")),
        **_BACKWARD_WEIGHT,
    ),
    ConfFamily(
        id="short_backward_weight_multiple_d",
        title="short backward-weight multiple D",
        names=("DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle",),
        fields=(BLOCK_SIZE, *TILE_MN, number("k0"), *_BACKWARD_WEIGHT_BODY),
        steps=("k-from-k0", missing("mma_m", "mma_n", "operation_weight")),
        **_BACKWARD_WEIGHT,
    ),
    ConfFamily(
        id="short_backward_weight_two_stage",
        title="short backward-weight two-stage XDL",
        names=("DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle",),
        fields=(BLOCK_SIZE, *TILE, *_BACKWARD_WEIGHT_BODY, *_VERSION, MERGED_GROUPS, *_TRANSPOSE),
        counts=(18, 20),
        steps=(missing("mma_m", "mma_n"),),
        **_BACKWARD_WEIGHT,
    ),
    ConfFamily(
        id="short_backward_weight_v3",
        title="short backward-weight XDL V3",
        names=tuple(f"DeviceGroupedConvBwdWeight_Xdl_CShuffleV3{ending}" for ending in ("", "_DirectLoad")),
        fields=(BLOCK_SIZE, *TILE, *_BACKWARD_WEIGHT_BODY),
        steps=(missing("mma_m", "mma_n", "scheduler", "version"),),
        **_BACKWARD_WEIGHT,
    ),
)
