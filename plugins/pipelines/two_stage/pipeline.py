"""The two-stage family: what its kernels are, and what their headers show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from ckprof.model.gemm_work import Reduction
from ckprof.model.problem import MAX_LENGTH
from ckprof.model.types import DataType, SplitSum
from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.pipelines._base.base_pipeline import rejection
from ckprof_plugins.pipelines._gemm.family import GemmFamily, gemm_instance_string
from ckprof_plugins.pipelines._gemm.fixed_tails import (
    FIXED_TAILS_LEVELS,
    FixedTailsHeader,
    fixed_tails_values,
)
from ckprof_plugins.pipelines._gemm.instance import GemmInstance
from ckprof_plugins.pipelines._gemm.template_values import GemmHeader, gemm_values

if TYPE_CHECKING:
    from ckprof_plugins.pipelines._base.base_pipeline import HeaderRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStageInstance(GemmInstance):
    """A kernel that sums into a workspace of fp32 and a second one that converts to the result's type."""

    pipeline: ClassVar[str] = "two_stage"
    split_sum: ClassVar[SplitSum] = SplitSum.ACCUMULATOR


class TwoStagePipeline(GemmFamily[TwoStageInstance]):
    """Backward weight that sums in fp32, whatever the type of the weight, and converts at the end."""

    id = TwoStageInstance.pipeline
    label = "two-stage: sums in an fp32 workspace, then converts"
    kernels = frozenset({ConvKernel.BACKWARD_WEIGHT})
    instance_type = TwoStageInstance
    reduction = Reduction.WORKSPACE
    two_stage = True

    def string_of(self, instance: TwoStageInstance) -> str:
        """Return CK Builder's text for the first stage, which stores fp32: nothing else tells the stages."""
        return gemm_instance_string(
            instance, self.operation_of(instance).string_kind, result_type=DataType.FP32.value
        )

    def header_of(self, instance: TwoStageInstance, request: HeaderRequest) -> GemmHeader:
        """Return what the template of the request's API level shows."""
        further = ("ck_tile/ops/elementwise.hpp", "ckprof_workspace.hpp")
        fixed = request.api_level in FIXED_TAILS_LEVELS
        values = (fixed_tails_values if fixed else gemm_values)(instance, request, further)
        too_large = rejection(
            "index-range",
            f"result_elements(param) > {MAX_LENGTH}",
            "the weight has {result_elements(param)} elements, the second stage counts them in 32 bits",
        )
        values |= {"stored_type": "WorkspaceDataType", **_CONVERSION}
        combines = values.get("combines", False)
        if not combines:
            values["unmet_requirements"] = (*values["unmet_requirements"], too_large)
        if fixed:
            # the second stage clears what splits add to, and is a device function as well
            values |= {"zeroes": False, "device_functions": values["device_functions"] + (not combines)}
            return FixedTailsTwoStageHeader(**values)
        return TwoStageHeader(**values)


#: elements of a block of the converting kernel, its waves, lanes of a wave
_CONVERSION: Final = {"convert_block": 2048, "convert_waves": 8, "convert_lanes": 64}


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStageHeader(GemmHeader):
    """The values of one header."""

    template: ClassVar[tuple[str, str]] = (__package__, "two_stage.hpp.j2")

    convert_block: int
    convert_waves: int
    convert_lanes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedTailsTwoStageHeader(FixedTailsHeader):
    """The values of one header at API level 2025-11."""

    template: ClassVar[tuple[str, str]] = (__package__, "two_stage_2025_11.hpp.j2")

    convert_block: int
    convert_waves: int
    convert_lanes: int
