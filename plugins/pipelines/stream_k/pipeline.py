"""The stream-K family: what its kernels are, and what their headers show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ckprof.errors import InputError
from ckprof.kernels.source.c_interface import boolean
from ckprof.model.gemm_work import Schedule
from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.pipelines._base.template_values import rejection
from ckprof_plugins.pipelines._gemm.family import GemmFamily, gemm_instance_string
from ckprof_plugins.pipelines._gemm.kernel_name import gemm_kernel_name
from ckprof_plugins.pipelines._gemm.record import gemm_fields
from ckprof_plugins.pipelines._gemm.template_values import GemmHeader, gemm_values
from ckprof_plugins.pipelines._gemm.vocabulary import parse
from ckprof_plugins.pipelines.stream_k.instance import ReductionStrategy, StreamKInstance

if TYPE_CHECKING:
    from ckprof.model.catalog import Catalog
    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest


class StreamKPipeline(GemmFamily[StreamKInstance]):
    """Backward weight whose workgroups share the iterations of all tiles evenly."""

    id = StreamKInstance.pipeline
    label = "stream-K: iterations are shared evenly, partial tiles are added up"
    kernels = frozenset({ConvKernel.BACKWARD_WEIGHT})
    instance_type = StreamKInstance
    schedule = Schedule.STREAM

    def read_record(self, catalog: Catalog, direction: str, record: GemmRecord) -> StreamKInstance:
        """Return the instance that a record describes.

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
        reduction = instance.strategy.word + ("_persistent" if instance.persistent else "")
        return gemm_kernel_name(instance, two_stage=instance.two_stage, stream_k=reduction)

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
        values = gemm_values(
            instance,
            request,
            (
                "ck_tile/ops/gemm/kernel/streamk_gemm/streamk_gemm_tile_partitioner.hpp",
                "ckprof_workspace.hpp",
            ),
        )
        return StreamKHeader(
            **{
                **values,
                "unmet_requirements": (*values["unmet_requirements"], *_REQUIREMENTS),
                "deduces_split_k": False,
            },
            strategy=instance.strategy.enumerator,
            persistent=boolean(instance.persistent),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamKHeader(GemmHeader):
    """The values of one header."""

    template: ClassVar[tuple[str, str]] = (__package__, "stream_k.hpp.j2")

    #: enumerator of ``StreamKReductionStrategy``
    strategy: str
    persistent: str


_REQUIREMENTS = (
    rejection(
        "split-k",
        "k_batch != 1",
        "split_k = {k_batch}: stream-K divides the reduction by itself, there is nothing to choose",
    ),
    rejection(
        "stream-k-groups",
        "misses_tiles(param)",
        "stream-K would not reach all {param.G_} groups: the {param.K_ * Config::NumGroupsToMerge} rows of "
        "one do not fill tiles of {Config::M_Tile}",
    ),
)
