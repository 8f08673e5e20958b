"""The short type strings that ckProfiler of the old library printed, and old lists hold.

They say neither layout nor data type, and not all that a record needs: K1 of forward is not printed, nor is
the store width of backward data.
"""

from __future__ import annotations

from typing import Any, Final

from ckprof.strings import kinds
from ckprof.strings.fields import (
    BLOCK_SIZE,
    MERGED_GROUPS,
    MMA,
    REPEATS,
    SHUFFLE,
    SPECIALIZATION,
    TILE,
    Field,
    number,
)
from ckprof_converters.families_backward_data import STEPS as BACKWARD_DATA_STEPS
from ckprof_converters.family import ConfFamily, LineFacts
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
    "steps": ("pipeline-of-version", "waves", "short-mma-k"),
}


def store_as_b(values: dict[str, Any], facts: LineFacts) -> None:
    """Take the load width of the weights for the store width: both run along the input channels."""
    values["vector_size_c"] = values["vector_size_b"]


FAMILIES: Final = (
    ConfFamily(
        id="short_forward",
        title="short forward XDL",
        names=("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle",),
        fields=(*_FORWARD, MERGED_GROUPS),
        fixed={**GEMM_DEFAULTS, "has_version": False},
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
        direction="bwd_data",
        variant="bwd_data",
        record_type=GemmRecord,
        separator=", ",
        names=("DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",),
        fields=(
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
        ),
        fixed=GEMM_DEFAULTS,
        steps=(store_as_b, *BACKWARD_DATA_STEPS),
        note="short backward-data lines do not print vector_size_c: vector_size_b is taken for it",
    ),
)
