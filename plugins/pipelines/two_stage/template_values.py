"""What the header of a two-stage kernel shows besides the things of every GEMM kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.model.problem import MAX_LENGTH
from ckprof_plugins.pipelines._base.template_values import rejection
from ckprof_plugins.pipelines._gemm.template_values import GemmHeader, gemm_values

if TYPE_CHECKING:
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest
    from ckprof_plugins.pipelines.two_stage.instance import TwoStageInstance

#: Elements of a block of the converting kernel, its waves and the lanes of a wave.
_CONVERT_BLOCK = 2048
_CONVERT_WAVES = 8
_CONVERT_LANES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStageHeader(GemmHeader):
    """The values of one header."""

    convert_block: int
    convert_waves: int
    convert_lanes: int


def two_stage_header(instance: TwoStageInstance, request: HeaderRequest) -> TwoStageHeader:
    """Return the values of an instance's header."""
    values = gemm_values(
        instance,
        request,
        ("ck_tile/ops/elementwise.hpp", "ckprof_workspace.hpp"),
    )
    too_large = rejection(
        "index-range",
        f"result_elements(param) > {MAX_LENGTH}",
        "the weight has {result_elements(param)} elements, the second stage counts them in 32 bits",
    )
    return TwoStageHeader(
        **{
            **values,
            "stored_type": "WorkspaceDataType",
            "unmet_requirements": (*values["unmet_requirements"], too_large),
        },
        convert_block=_CONVERT_BLOCK,
        convert_waves=_CONVERT_WAVES,
        convert_lanes=_CONVERT_LANES,
    )
