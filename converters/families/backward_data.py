"""Backward-data lines of the old library, in full spelling."""

from __future__ import annotations

from typing import Final

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import (
    BLOCK_SIZE,
    COMPUTE_TYPES,
    MMA,
    NDIM,
    REPEATS,
    RESULT,
    SPECIALIZATION,
    TILE,
    TRANSPOSE,
    Field,
    layouts,
    number,
    operand,
    unread,
    unread_all,
)
from ckprof_converters.conf_family import ConfFamily
from ckprof_converters.elementwise import elementwise
from ckprof_converters.records import GEMM_DEFAULTS, GemmRecord
from ckprof_plugins.elementwise.words import operations

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

FAMILIES: Final = (
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
