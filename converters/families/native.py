"""Lines that CK Tile's own kernels print: everything is stated, next to nothing is derived."""

from __future__ import annotations

from typing import Any, Final

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import Field, number
from ckprof_converters.conf_family import ConfFamily
from ckprof_converters.elementwise import element_types, elementwise
from ckprof_converters.records import GEMM_DEFAULTS, DepthwiseRecord, GemmRecord
from ckprof_plugins.directions._convolution import string_kinds
from ckprof_plugins.directions._convolution.layout import CONVOLUTION_TYPES, TENSORS

_COMMON: Final[dict[str, Any]] = {
    "record_type": GemmRecord,
    "ndim_field": "ndim",
    "layout_fields": ("layout_input", "layout_weight", "layout_output"),
    "dtype_fields": ("type_a", "type_b"),
    "fixed": GEMM_DEFAULTS,
}

#: results of a first stage of gradients have a type of their own, D tensors that of the operands
_OPERATIONS: Final = {
    result: elementwise("operation_result", "type_result" if result == "output" else "type_b", result=result)
    for result in TENSORS
}

FAMILIES: Final = (
    ConfFamily(
        id="native_forward",
        title="native forward kernel",
        direction="fwd",
        variant="forward",
        names=(string_kinds.FORWARD.name,),
        fields=string_kinds.FORWARD.fields,
        string_kind=string_kinds.FORWARD.id,
        steps=(
            element_types("type_result", agree=("type_b",)),
            "whole-tiles",
            "native-pipeline",
            _OPERATIONS["output"],
        ),
        **(_COMMON | {"dtype_fields": ("type_a",), "dtypes": CONVOLUTION_TYPES}),
    ),
    ConfFamily(
        id="native_backward_data",
        title="native backward-data kernel",
        direction="bwd_data",
        variant="bwd_data",
        names=(string_kinds.BACKWARD_DATA.name,),
        fields=string_kinds.BACKWARD_DATA.fields,
        string_kind=string_kinds.BACKWARD_DATA.id,
        steps=("whole-tiles", "native-pipeline", _OPERATIONS["input"]),
        **_COMMON,
    ),
    ConfFamily(
        id="native_backward_weight",
        title="native backward-weight kernel",
        direction="bwd_weight",
        variant="bwd_weight",
        names=(string_kinds.BACKWARD_WEIGHT.name,),
        fields=string_kinds.BACKWARD_WEIGHT.fields,
        counts=(31, 32, 34),
        # A published 2-D stream-K list carries the layout names of its 3-D sibling.
        lax_ndim=True,
        steps=(
            "stream-k-fields",
            "whole-tiles",
            "native-pipeline",
            "stream-k-float",
            "native-two-stage",
            _OPERATIONS["weight"],
        ),
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
