"""Forward lines of the old library, in full spelling."""

from __future__ import annotations

from dataclasses import replace
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
    VERSION,
    Field,
    layouts,
    number,
    operand,
    unread,
)
from ckprof_converters.conf_family import ConfFamily
from ckprof_converters.elementwise import element_types, elementwise
from ckprof_converters.records import GEMM_DEFAULTS, GemmRecord
from ckprof_plugins.directions._convolution.layout import CONVOLUTION_TYPES
from ckprof_plugins.elementwise.operations import operations

#: number of dimensions, layouts, types, operations, specialization, padding: 16 arguments
_HEAD: Final = (
    NDIM,
    *layouts("input", "weight", "output", with_extra=True),
    Field("type_a", kinds.ELEMENT_TYPE),
    Field("type_b", kinds.ELEMENT_TYPE),
    Field("type_accumulator", kinds.ELEMENT_TYPE),
    unread("type_shuffle", kinds.ELEMENT_TYPE),
    Field("type_extra", kinds.TUPLE),
    Field("type_output", kinds.ELEMENT_TYPE),
    *operations("a", "b", "output"),
    SPECIALIZATION,
    unread("gemm_padding", kinds.GEMM_PADDING),
)

#: from the block size to the store of the result: 28 arguments
_BODY: Final = (
    BLOCK_SIZE,
    *TILE,
    number("k1"),
    unread("k1_b", kinds.INT),
    *MMA,
    *REPEATS,
    *operand("a"),
    *operand("b"),
    *RESULT,
)

_CLASSIC: Final = (
    *_HEAD,
    unread("prefetch_stages", kinds.INT),
    *_BODY,
    *COMPUTE_TYPES,
    unread("loop_scheduler", kinds.LOOP_SCHEDULER),
)


def _common(operand_tensors: int = 1) -> dict[str, Any]:
    """Return what all families have.

    :param operand_tensors: of which each operand is made.
    """
    return {
        "direction": "fwd",
        "variant": "forward",
        "record_type": GemmRecord,
        "ndim_field": "ndim",
        "layout_fields": ("layout_input", "layout_weight", "layout_output"),
        "dtype_fields": ("type_a",),
        "dtypes": CONVOLUTION_TYPES,
        "operand_tensors": operand_tensors,
        "steps": (
            element_types("type_output", agree=("type_b", "type_output")),
            *("pipeline-of-version", "square-mma", "waves", "mma-k", "compute-type"),
            elementwise("operation_output", "type_output", result="output", operand_tensors=operand_tensors),
        ),
    }


#: fields with the type of an operand -> kind of those with the types of two tensors that it is made of
_OF_TWO: Final = {"type_a": kinds.ELEMENT_PAIR, "type_b": kinds.ELEMENT_PAIR}


def _with_two_tensors(family: ConfFamily) -> tuple[ConfFamily, ConfFamily]:
    """Return a family, and the one of its kernels that make each operand of two tensors."""
    fields = tuple(replace(field, kind=_OF_TWO.get(field.name, field.kind)) for field in family.fields)
    made = {**_common(2), "id": f"{family.id}_two_tensors", "title": f"{family.title} of two tensors each"}
    return family, replace(family, **made, fields=fields, marker="),Tuple(")


FAMILIES: Final = (
    *_with_two_tensors(
        ConfFamily(
            id="forward",
            title="forward XDL",
            names=("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle",),
            fields=(*_CLASSIC, MERGED_GROUPS),
            fixed=GEMM_DEFAULTS,
            **_common(),
        )
    ),
    ConfFamily(
        id="forward_large_tensor",
        title="forward large tensor",
        names=("DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor",),
        fields=_CLASSIC,
        fixed={**GEMM_DEFAULTS, "split_image": True},
        **_common(),
    ),
    *_with_two_tensors(
        ConfFamily(
            id="forward_v3",
            title="forward XDL V3",
            names=("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3",),
            fields=(
                *_HEAD,
                *_BODY,
                SCHEDULER,
                VERSION,
                *COMPUTE_TYPES,
                Field("direct_load", kinds.FLAG),
                MERGED_GROUPS,
            ),
            fixed=GEMM_DEFAULTS,
            **_common(),
        )
    ),
)
