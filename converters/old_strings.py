"""The instance strings of the old library's device operations.

Those that lists hold have the fields of their families. The others, which no catalog can describe, are known
by their texts alone: a log that names them is understood, though nothing is generated for them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import (
    BLOCK_SIZE,
    COMPUTE_TYPES,
    NDIM,
    REPEATS,
    RESULT,
    SCHEDULER,
    SHUFFLE,
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
from ckprof.model.strings.kind import StringKind
from ckprof_converters.families import FAMILIES
from ckprof_plugins.elementwise.operations import operations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof_converters.conf_family import ConfFamily

#: families whose lines are what the operation itself prints -> its name, where lists use another one too
_PRINTED: Final = {
    "forward": "",
    "forward_v3": "",
    "forward_large_tensor": "",
    "backward_weight": "",
    "backward_weight_v3": "",
    "backward_weight_two_stage": "",
    "backward_weight_multiple_d_xdl": "",
    "backward_data": "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",
}

_PADDING: Final = unread("gemm_padding", kinds.GEMM_PADDING)
_PREFETCH: Final = unread("prefetch_stages", kinds.INT)
_LOOP_SCHEDULER: Final = Field("loop_scheduler", kinds.LOOP_SCHEDULER)
_WMMA_VERSION: Final = Field("version", kinds.words(("v1", "v2", "v4", "weight_only")))
_LOADS: Final = (*operand("a"), *operand("b"))


def _types(*roles: str) -> tuple[Field, ...]:
    return tuple(
        Field(f"type_{role}", kinds.TUPLE if role == "extra" else kinds.ELEMENT_TYPE) for role in roles
    )


_WMMA: Final = (number("wmma_m"), number("wmma_n"), *REPEATS)

#: 16 fields of forward
_FORWARD: Final = (
    NDIM,
    *layouts("input", "weight", "output", with_extra=True),
    *_types("a", "b", "accumulator", "shuffle", "extra", "output"),
    *operations("a", "b", "output"),
    SPECIALIZATION,
    _PADDING,
)

#: 12 fields of backward weight
_BACKWARD_WEIGHT: Final = (
    NDIM,
    *layouts("input", "weight", "output", with_extra=False),
    *_types("input", "weight", "output", "accumulator"),
    *operations("input", "weight", "output"),
    SPECIALIZATION,
)

_OTHERS: Final = (
    StringKind(
        id="forward_wmma",
        title="forward WMMA",
        name="DeviceGroupedConvFwdMultipleD_Wmma_CShuffle",
        direction="fwd",
        fields=(
            *_FORWARD,
            _PREFETCH,
            BLOCK_SIZE,
            *TILE,
            number("k1"),
            *_WMMA,
            *_LOADS,
            *RESULT,
            _LOOP_SCHEDULER,
            _WMMA_VERSION,
        ),
    ),
    StringKind(
        id="forward_dl",
        title="forward DL",
        name="DeviceGroupedConvFwdDlMultipleD_NHWC_KYXC_NHWK",
        direction="fwd",
        fields=(
            NDIM,
            *_types("a", "b", "extra", "output", "accumulator"),
            *layouts("input", "weight", "output", with_extra=True),
            *operations("a", "b", "output"),
            SPECIALIZATION,
            _PADDING,
            BLOCK_SIZE,
            *TILE_MN,
            *(number(name) for name in ("k0", "k1", "m1", "n1", "k_per_thread")),
            *unread_all(kinds.SEQUENCE, "cluster_lengths_m", "cluster_lengths_n"),
            *(
                unread(f"{part}_{letter}", kinds.SEQUENCE)
                for letter in "ab"
                for part in (
                    "slice_lengths",
                    "cluster_lengths",
                    "cluster_order",
                    "access_order",
                    "source_vector",
                    "contiguous_order",
                    "destination_vector",
                )
            ),
            unread("access_order_c", kinds.SEQUENCE),
            unread("vector_dim_c", kinds.INT),
            number("vector_size_c"),
        ),
    ),
    StringKind(
        id="backward_weight_wmma",
        title="backward-weight WMMA",
        name="DeviceGroupedConvBwdWeight_Wmma_CShuffle",
        direction="bwd_weight",
        fields=(
            *_BACKWARD_WEIGHT,
            BLOCK_SIZE,
            *TILE_MN,
            number("k0"),
            number("k1"),
            *_WMMA,
            *_LOADS,
            *RESULT,
            _PREFETCH,
            _LOOP_SCHEDULER,
            _WMMA_VERSION,
        ),
    ),
    StringKind(
        id="backward_weight_wmma_v3",
        title="backward-weight WMMA V3",
        name="DeviceGroupedConvBwdWeight_Wmma_CShuffleV3",
        direction="bwd_weight",
        fields=(
            *_BACKWARD_WEIGHT,
            BLOCK_SIZE,
            *TILE,
            number("k1"),
            *_WMMA,
            *_LOADS,
            *RESULT,
            SCHEDULER,
            VERSION,
            *COMPUTE_TYPES,
            *TRANSPOSE,
        ),
    ),
    StringKind(
        id="backward_data_wmma_v3",
        title="backward-data WMMA V3",
        name="DeviceGroupedConvBwdDataMultipleD_Wmma_CShuffle_V3",
        direction="bwd_data",
        fields=(
            NDIM,
            *layouts("output", "weight", "input", with_extra=True),
            *_types("a", "b", "accumulator", "extra", "input"),
            *operations("output", "weight", "input"),
            SPECIALIZATION,
            *unread_all(kinds.FLAG, "pad_gemm_m", "pad_gemm_n"),
            BLOCK_SIZE,
            *TILE_MN,
            number("k0"),
            number("k1"),
            number("k1_b"),
            *_WMMA,
            *_LOADS,
            *SHUFFLE,
            unread("cluster_lengths_c", kinds.SEQUENCE),
            number("vector_size_c"),
            SCHEDULER,
            VERSION,
            *COMPUTE_TYPES,
            *TRANSPOSE,
        ),
    ),
)


def _printed_fields(family: ConfFamily) -> tuple[Field, ...]:
    """Return the fields of what instances print; operands of two tensors are another family in lists."""
    of_pairs = {
        field.name
        for other in FAMILIES
        if other.names == family.names
        for field in other.fields
        if field.kind is kinds.ELEMENT_PAIR
    }
    return tuple(
        replace(field, kind=kinds.OPERAND_TYPE) if field.name in of_pairs else field
        for field in family.fields
    )


def _of_families() -> Iterator[StringKind]:
    for family in FAMILIES:
        if family.id in _PRINTED:
            name = _PRINTED[family.id] or family.names[0]
            yield StringKind(
                id=family.id,
                title=family.title,
                name=name,
                direction=family.direction,
                fields=_printed_fields(family),
                other_names=tuple(other for other in family.names if other != name),
            )


KINDS: Final = (*_of_families(), *_OTHERS)
