"""The two-stage family: what its kernels are, and what their headers show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ckprof.model.gemm_work import Reduction
from ckprof.model.problem import MAX_LENGTH
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.pipelines._base.template_values import rejection
from ckprof_plugins.pipelines._gemm.family import GemmFamily
from ckprof_plugins.pipelines._gemm.instance_string import gemm_instance_string
from ckprof_plugins.pipelines._gemm.template_values import GemmHeader, gemm_values
from ckprof_plugins.pipelines.two_stage.instance import TwoStageInstance

if TYPE_CHECKING:
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest


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

    def header_of(self, instance: TwoStageInstance, request: HeaderRequest) -> TwoStageHeader:
        """Return what the template shows."""
        values = gemm_values(instance, request, ("ck_tile/ops/elementwise.hpp", "ckprof_workspace.hpp"))
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
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStageHeader(GemmHeader):
    """The values of one header: elements of a block of the converting kernel, its waves, lanes of a wave."""

    template: ClassVar[tuple[str, str]] = (__package__, "two_stage.hpp.j2")

    convert_block: int = 2048
    convert_waves: int = 8
    convert_lanes: int = 64
