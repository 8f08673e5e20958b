"""The texts of CK Tile's grouped-convolution kernels: the one table of their fields and words.

Directions name theirs, pipelines render them, converters read them as native lines, parity compares them.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import (
    MERGED_GROUPS,
    NDIM,
    SPECIALIZATION,
    TILE,
    Field,
    layouts,
    number,
)
from ckprof.model.strings.kind import StringKind
from ckprof_plugins.elementwise.operations import operations

#: what kernels print for their GEMM pipeline -> what catalogs say; ``None`` for those that no catalog names
PIPELINES: Final[MappingProxyType[str, str | None]] = MappingProxyType(
    {
        "BASIC_V1": "compv1",
        "BASIC_V2": "compv2",
        "MEMORY": "mem",
        "COMPUTE_V3": "compv3",
        "COMPUTE_V4": "compv4",
        "COMPUTE_V5": "compv5",
        "COMPUTE_V6": "compv6",
        "BASIC_ASYNC_V1": "basic_async_v1",
        "COMPUTE_ASYNC": "comp_async",
        "COMPUTE_TDM_V1": "comp_tdm",
        "COMPUTE_TDM_V2": "comp_tdm_v2",
        "WAVELET": "wavelet",
        "LEAN": None,
        "PRESHUFFLE_TDM": None,
        "COMPUTE_ASYNC_EIGHT_WAVES": None,
        "COMPUTE_ASYNC_TDM_HYBRID": None,
    }
)

#: fields 1 to 31 of all GEMM kernels
_FIELDS: Final = (
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
    Field("pipeline_name", kinds.words(PIPELINES)),
    Field("scheduler", kinds.TILE_SCHEDULER),
    Field("double_smem_buffer", kinds.FLAG),
    number("num_wave_groups"),
    Field("type_accumulator", kinds.ELEMENT_TYPE),
    Field("type_result", kinds.ELEMENT_TYPE),
    Field("type_extra", kinds.TUPLE),
    *operations("result"),
)

#: fields 32 to 34 of backward weight
_STREAM_K_FIELDS: Final = (
    Field("streamk_enabled", kinds.FLAG),
    Field("streamk_reduction_strategy", kinds.REDUCTION),
    Field("streamk_persistent", kinds.FLAG),
)

#: what all kernels that catalogs describe have in common
_FIXED: Final = MappingProxyType(
    {
        "layout_extra": "EmptyTuple",
        "type_accumulator": "fp32",
        "type_extra": "EmptyTuple",
        "operation_result": "PassThrough",
    }
)

FORWARD: Final = StringKind(
    id="tile_forward",
    title="forward kernel",
    name="GroupedConvolutionForwardKernel",
    direction="fwd",
    fields=_FIELDS,
    fixed=_FIXED,
)

BACKWARD_DATA: Final = replace(
    FORWARD,
    id="tile_backward_data",
    title="backward-data kernel",
    name="GroupedConvolutionBackwardDataKernel",
    direction="bwd_data",
)

BACKWARD_WEIGHT: Final = replace(
    FORWARD,
    id="tile_backward_weight",
    title="backward-weight kernel",
    name="GroupedConvolutionBackwardWeightKernel",
    direction="bwd_weight",
    fields=(*_FIELDS, *_STREAM_K_FIELDS),
    only_if=MappingProxyType(
        {"streamk_reduction_strategy": "streamk_enabled", "streamk_persistent": "streamk_enabled"}
    ),
)

DEPTHWISE: Final = StringKind(
    id="tile_depthwise",
    title="depthwise forward kernel",
    name=FORWARD.name,
    direction=FORWARD.direction,
    fields=(
        NDIM,
        SPECIALIZATION,
        Field("algorithm", kinds.OPERATION),
        number("in_vec"),
        number("weight_vec"),
        number("out_vec"),
        number("block_size"),
        *(number(name) for name in ("tile_h", "tile_w", "filt_h", "filt_w", "str_h", "str_w")),
        *(number(name) for name in ("nbatch", "sub_h", "sub_w")),
        *(
            Field(name, kinds.ELEMENT_TYPE)
            for name in ("type_input", "type_weight", "type_accumulator", "type_output")
        ),
    ),
    literals=MappingProxyType({"algorithm": "Depthwise"}),
    fixed=MappingProxyType({"specialization": "Default", "type_accumulator": "fp32"}),
)

KINDS: Final = (FORWARD, BACKWARD_DATA, BACKWARD_WEIGHT, DEPTHWISE)
