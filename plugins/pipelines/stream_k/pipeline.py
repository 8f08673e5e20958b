"""The stream-K family behind the interface that ckprof expects of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError
from ckprof.model.kernel_traits import Schedule
from ckprof_plugins.directions.operation import ConvKernel
from ckprof_plugins.pipelines._base.base_pipeline import KernelFamily
from ckprof_plugins.pipelines._base.rules import WAVE_SIZE_RULE
from ckprof_plugins.pipelines._gemm.instance_string import gemm_instance_string
from ckprof_plugins.pipelines._gemm.record import VARIANTS, gemm_fields
from ckprof_plugins.pipelines._gemm.traits import gemm_traits
from ckprof_plugins.pipelines._gemm.validity import GEMM_RULES
from ckprof_plugins.pipelines._gemm.vocabulary import parse
from ckprof_plugins.pipelines.stream_k.instance import ReductionStrategy, StreamKInstance
from ckprof_plugins.pipelines.stream_k.kernel_name import kernel_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.catalog import Catalog
    from ckprof.model.kernel_traits import KernelTraits
    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest
    from ckprof_plugins.pipelines.stream_k.template_values import StreamKHeader


class StreamKPipeline(KernelFamily["GemmRecord", StreamKInstance]):
    """Backward weight whose workgroups share the iterations of all tiles evenly."""

    id = StreamKInstance.pipeline
    label = "stream-K: iterations are shared evenly, partial tiles are added up"
    kernels = frozenset({ConvKernel.BACKWARD_WEIGHT})
    instance_type = StreamKInstance
    rules = (*GEMM_RULES, WAVE_SIZE_RULE)
    template = (__package__, "stream_k.hpp.j2")

    def claims(self, variant: str, record: GemmRecord) -> bool:
        """Say whether the record asks for stream-K, which wins over two stages."""
        return variant in VARIANTS and bool(record.streamk_enabled)

    def read_record(self, catalog: Catalog, direction: str, record: GemmRecord) -> StreamKInstance:
        """Return the instance that a claimed record describes.

        :raises InputError: a value is unknown, out of range or missing.
        """
        if record.streamk_reduction_strategy is None:
            raise InputError("streamk_reduction_strategy is missing while streamk_enabled is true")
        return StreamKInstance(
            **gemm_fields(catalog, direction, record),
            strategy=parse(
                ReductionStrategy, "streamk_reduction_strategy", record.streamk_reduction_strategy
            ),
            persistent=record.streamk_persistent,
            two_stage=record.two_stage,
        )

    def name_of(self, instance: StreamKInstance) -> str:
        """Return the name of the instance's kernel."""
        return kernel_name(instance)

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of the kernel of an instance with these fields depends on."""
        return gemm_traits(fields, schedule=Schedule.STREAM)

    def string_of(self, instance: StreamKInstance) -> str:
        """Return CK Builder's text for the instance."""
        return gemm_instance_string(
            instance,
            self.operation_of(instance).string_kind,
            stream_k={
                "streamk_reduction_strategy": instance.strategy.number,
                "streamk_persistent": instance.persistent,
            },
        )

    def header_of(self, instance: StreamKInstance, request: HeaderRequest) -> StreamKHeader:
        """Return what the template shows."""
        from ckprof_plugins.pipelines.stream_k.template_values import stream_k_header

        return stream_k_header(instance, request)
