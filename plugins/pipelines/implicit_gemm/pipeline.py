"""The implicit-GEMM family behind the interface that ckprof expects of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.model.api_level import API_LEVEL_2025_07
from ckprof_plugins.directions.operation import ConvKernel
from ckprof_plugins.pipelines._base.base_pipeline import KernelFamily
from ckprof_plugins.pipelines._gemm.instance_string import gemm_instance_string
from ckprof_plugins.pipelines._gemm.kernel_name import name_of_instance
from ckprof_plugins.pipelines._gemm.record import VARIANTS, gemm_fields, reject_stream_k_fields
from ckprof_plugins.pipelines._gemm.traits import fields_of_name, gemm_traits, traits_of_name
from ckprof_plugins.pipelines._gemm.validity import GEMM_RULES
from ckprof_plugins.pipelines.implicit_gemm.instance import ImplicitGemmInstance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.catalog import Catalog
    from ckprof.model.gemm_work import GemmWork
    from ckprof.model.kernel_traits import KernelTraits
    from ckprof.model.problem import ConvProblem
    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest
    from ckprof_plugins.pipelines.implicit_gemm.template_values import ImplicitGemmHeader
    from ckprof_plugins.pipelines.implicit_gemm.template_values_2025_07 import ImplicitGemmHeader202507


class ImplicitGemmPipeline(KernelFamily["GemmRecord", ImplicitGemmInstance]):
    """Convolutions as matrix products whose operands are gathered while they are read."""

    id = ImplicitGemmInstance.pipeline
    label = "implicit GEMM: the image is read as a matrix, tile by tile"
    kernels = frozenset(ConvKernel)
    instance_type = ImplicitGemmInstance
    rules = GEMM_RULES
    template = (__package__, "implicit_gemm.hpp.j2")

    def claims(self, variant: str, record: GemmRecord) -> bool:
        """Say whether the record is an instance of this family: neither two-stage nor stream-K."""
        return variant in VARIANTS and not record.two_stage and not record.streamk_enabled

    def read_record(self, catalog: Catalog, direction: str, record: GemmRecord) -> ImplicitGemmInstance:
        """Return the instance that a claimed record describes.

        :raises InputError: a value is unknown, out of range or contradicts another one.
        """
        reject_stream_k_fields(record)
        return ImplicitGemmInstance(**gemm_fields(catalog, direction, record))

    def name_of(self, instance: ImplicitGemmInstance) -> str:
        """Return the name of the instance's kernel."""
        return name_of_instance(instance)

    def work_of(self, instance: ImplicitGemmInstance, problem: ConvProblem, splits: int) -> GemmWork | None:
        """Return the matrix products that the kernel makes of a problem."""
        from ckprof_plugins.pipelines._gemm.work import gemm_work

        return gemm_work(instance, self.operation_of(instance).kernel, problem, splits)

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of the kernel of an instance with these fields depends on."""
        return gemm_traits(fields)

    def traits_of_name(self, name: str) -> KernelTraits | None:
        """Return what a name in a table of times says about a kernel; ``None`` if it says nothing."""
        return traits_of_name(name)

    def fields_of_name(self, name: str) -> Mapping[str, Any] | None:
        """Return the fields of an instance that a name in a table of times tells; ``None`` if none."""
        return fields_of_name(name)

    def string_of(self, instance: ImplicitGemmInstance) -> str:
        """Return CK Builder's text for the instance."""
        return gemm_instance_string(instance, self.operation_of(instance).string_kind)

    def header_at(
        self, instance: ImplicitGemmInstance, request: HeaderRequest, api_level: str
    ) -> ImplicitGemmHeader | ImplicitGemmHeader202507:
        """Return what the template of an API level shows."""
        if api_level == API_LEVEL_2025_07:
            from ckprof_plugins.pipelines.implicit_gemm.template_values_2025_07 import (
                implicit_gemm_header_2025_07,
            )

            return implicit_gemm_header_2025_07(instance, request)
        return self.header_of(instance, request)

    def template_at(self, api_level: str) -> tuple[str, str]:
        """Return the template of an API level."""
        if api_level == API_LEVEL_2025_07:
            return self.template[0], "implicit_gemm_2025_07.hpp.j2"
        return self.template

    def header_of(self, instance: ImplicitGemmInstance, request: HeaderRequest) -> ImplicitGemmHeader:
        """Return what the template shows."""
        from ckprof_plugins.pipelines.implicit_gemm.template_values import implicit_gemm_header

        return implicit_gemm_header(instance, request)
