"""Lines that CK Tile's own kernels print: everything is stated, next to nothing is derived."""

from __future__ import annotations

from typing import Any, Final

from ckprof_converters import kinds
from ckprof_converters.derivation import TILE_PIPELINES
from ckprof_converters.family import ConfFamily, Field
from ckprof_converters.fields import (
    GEMM_DEFAULTS,
    MERGED_GROUPS,
    NDIM,
    SPECIALIZATION,
    TILE,
    layouts,
    number,
    operations,
    unread,
)
from ckprof_converters.records import DepthwiseRecord, GemmRecord

#: arguments 1 to 31, the same for all directions
FIELDS: Final = (
    NDIM,
    SPECIALIZATION,
    *layouts("input", "weight", "output", with_extra=True),
    number("vector_size_a"),
    number("vector_size_b"),
    number("vector_size_c"),
    MERGED_GROUPS,
    Field("split_image", kinds.FLAG),
    Field("explicit_gemm", kinds.FLAG),
    *TILE,
    number("warp_m"),
    number("warp_n"),
    number("warp_k"),
    number("warp_tile_m"),
    number("warp_tile_n"),
    number("warp_tile_k"),
    Field("type_a", kinds.ELEMENT_TYPE),
    Field("type_b", kinds.ELEMENT_TYPE),
    Field("pipeline_name", kinds.words(TILE_PIPELINES)),
    Field("scheduler", kinds.TILE_SCHEDULER),
    Field("double_smem_buffer", kinds.FLAG),
    number("num_wave_groups"),
    unread("type_accumulator", kinds.ELEMENT_TYPE),
    unread("type_result", kinds.ELEMENT_TYPE),
    unread("type_extra", kinds.TUPLE),
    *operations("result"),
)

#: arguments 32 to 34 of backward weight
STREAM_K_FIELDS: Final = (
    Field("streamk_enabled", kinds.FLAG),
    Field("streamk_reduction_strategy", kinds.REDUCTION),
    Field("streamk_persistent", kinds.FLAG),
)

_COMMON: Final[dict[str, Any]] = {
    "record_type": GemmRecord,
    "ndim_field": "ndim",
    "layout_fields": ("layout_input", "layout_weight", "layout_output"),
    "dtype_fields": ("type_a", "type_b"),
    "fixed": GEMM_DEFAULTS,
}

FAMILIES: Final = (
    ConfFamily(
        id="native_forward",
        title="native forward kernel",
        direction="fwd",
        variant="forward",
        names=("GroupedConvolutionForwardKernel",),
        fields=FIELDS,
        steps=("native-pipeline",),
        **_COMMON,
    ),
    ConfFamily(
        id="native_backward_data",
        title="native backward-data kernel",
        direction="bwd_data",
        variant="bwd_data",
        names=("GroupedConvolutionBackwardDataKernel",),
        fields=FIELDS,
        steps=("native-pipeline",),
        **_COMMON,
    ),
    ConfFamily(
        id="native_backward_weight",
        title="native backward-weight kernel",
        direction="bwd_weight",
        variant="bwd_weight",
        names=("GroupedConvolutionBackwardWeightKernel",),
        fields=(*FIELDS, *STREAM_K_FIELDS),
        counts=(31, 32, 34),
        # A published 2-D stream-K list carries the layout names of its 3-D sibling.
        lax_ndim=True,
        steps=("stream-k-fields", "native-pipeline", "stream-k-float", "native-two-stage"),
        **_COMMON,
    ),
    ConfFamily(
        id="depthwise",
        title="depthwise forward",
        direction="fwd",
        variant="forward_depthwise",
        record_type=DepthwiseRecord,
        # Old lists hold the bare numbers.
        names=("GroupedConvolutionForwardDepthwise", ""),
        fields=(
            *(number(name) for name in ("tile_h", "tile_w", "filt", "str_h", "str_w")),
            *(Field(name, kinds.INT) for name in ("pad_h", "pad_w")),
            *(number(name) for name in ("nbatch", "sub_h", "sub_w", "in_vec", "out_vec")),
        ),
        layout="ngchw",
        needs_dtype=False,
        index_ids=True,
    ),
)
