"""The lines of forward kernels without matrix instructions: catalogs of CK Tile have no place for them."""

from __future__ import annotations

from typing import Final

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import (
    BLOCK_SIZE,
    NDIM,
    SPECIALIZATION,
    TILE_MN,
    Field,
    layouts,
    number,
    unread,
    unread_all,
)
from ckprof_converters.conf_family import ConfFamily
from ckprof_converters.elementwise import element_types, elementwise
from ckprof_plugins.directions._convolution.layout import CONVOLUTION_TYPES
from ckprof_plugins.elementwise.operations import operations


def _loads(letter: str) -> tuple[Field, ...]:
    """Return how the block loads an operand."""
    names = (
        *("slice_lengths", "cluster_lengths", "cluster_order", "access_order"),
        *("source_vector_lengths", "source_vector_order", "destination_vector_lengths"),
    )
    return unread_all(kinds.SEQUENCE, *(f"{name}_{letter}" for name in names))


DL_FORWARD: Final = ConfFamily(
    id="dl_forward",
    title="DL forward",
    direction="fwd",
    names=("DeviceGroupedConvFwdDlMultipleD_NHWC_KYXC_NHWK",),
    fields=(
        NDIM,
        Field("type_a", kinds.ELEMENT_TYPE),
        Field("type_b", kinds.ELEMENT_TYPE),
        Field("type_extra", kinds.TUPLE),
        Field("type_output", kinds.ELEMENT_TYPE),
        Field("type_accumulator", kinds.ELEMENT_TYPE),
        *layouts("input", "weight", "output", with_extra=True),
        *operations("a", "b", "output"),
        SPECIALIZATION,
        unread("gemm_padding", kinds.GEMM_PADDING),
        BLOCK_SIZE,
        *TILE_MN,
        *(number(name) for name in ("k0", "k1", "thread_m", "thread_n", "thread_k")),
        *unread_all(kinds.SEQUENCE, "cluster_m", "cluster_n"),
        *_loads("a"),
        *_loads("b"),
        unread("access_order_c", kinds.SEQUENCE),
        unread("vector_dim_c", kinds.INT),
        number("vector_size_c"),
    ),
    layout_fields=("layout_input", "layout_weight", "layout_output"),
    ndim_field="ndim",
    dtype_fields=("type_a",),
    dtypes=CONVOLUTION_TYPES,
    steps=(
        element_types("type_output", agree=("type_b", "type_output")),
        elementwise("operation_output", "type_output", result="output"),
    ),
)
