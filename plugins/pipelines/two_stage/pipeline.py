"""The two-stage family behind the interface that ckprof expects of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.model.dtype import DataType
from ckprof.model.kernel_traits import Reduction
from ckprof_plugins.directions.operation import ConvKernel
from ckprof_plugins.pipelines._base.base_pipeline import KernelFamily
from ckprof_plugins.pipelines._base.rules import WAVE_SIZE_RULE
from ckprof_plugins.pipelines._gemm.instance_string import gemm_instance_string
from ckprof_plugins.pipelines._gemm.kernel_name import name_of_instance
from ckprof_plugins.pipelines._gemm.record import VARIANTS, gemm_fields, reject_stream_k_fields
from ckprof_plugins.pipelines._gemm.traits import gemm_traits
from ckprof_plugins.pipelines._gemm.validity import GEMM_RULES
from ckprof_plugins.pipelines.two_stage.instance import TwoStageInstance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.catalog import Catalog
    from ckprof.model.gemm_work import GemmWork
    from ckprof.model.kernel_traits import KernelTraits
    from ckprof.model.problem import ConvProblem
    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest
    from ckprof_plugins.pipelines.two_stage.template_values import TwoStageHeader


class TwoStagePipeline(KernelFamily["GemmRecord", TwoStageInstance]):
    """Backward weight that sums in fp32, whatever the type of the weight, and converts at the end."""

    id = TwoStageInstance.pipeline
    label = "two-stage: sums in an fp32 workspace, then converts"
    kernels = frozenset({ConvKernel.BACKWARD_WEIGHT})
    instance_type = TwoStageInstance
    rules = (*GEMM_RULES, WAVE_SIZE_RULE)
    template = (__package__, "two_stage.hpp.j2")

    def claims(self, variant: str, record: GemmRecord) -> bool:
        """Say whether the record asks for two stages; one that asks for stream-K as well is stream-K."""
        return variant in VARIANTS and record.two_stage and not record.streamk_enabled

    def read_record(self, catalog: Catalog, direction: str, record: GemmRecord) -> TwoStageInstance:
        """Return the instance that a claimed record describes.

        :raises InputError: a value is unknown, out of range or contradicts another one.
        """
        reject_stream_k_fields(record)
        return TwoStageInstance(**gemm_fields(catalog, direction, record))

    def name_of(self, instance: TwoStageInstance) -> str:
        """Return the name of the instance's kernel."""
        return name_of_instance(instance, two_stage=True)

    def work_of(self, instance: TwoStageInstance, problem: ConvProblem, splits: int) -> GemmWork | None:
        """Return the matrix products that the kernel makes of a problem."""
        from ckprof_plugins.pipelines._gemm.work import gemm_work

        return gemm_work(instance, self.operation_of(instance).kernel, problem, splits)

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of the kernel of an instance with these fields depends on."""
        return gemm_traits(fields, reduction=Reduction.WORKSPACE)

    def string_of(self, instance: TwoStageInstance) -> str:
        """Return CK Builder's text for the first stage, which stores fp32: nothing else tells the stages."""
        return gemm_instance_string(
            instance, self.operation_of(instance).string_kind, result_type=DataType.FP32.value
        )

    def header_of(self, instance: TwoStageInstance, request: HeaderRequest) -> TwoStageHeader:
        """Return what the template shows."""
        from ckprof_plugins.pipelines.two_stage.template_values import two_stage_header

        return two_stage_header(instance, request)
