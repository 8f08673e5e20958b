"""The stream-K family: what its kernels are, and what their headers show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from ckprof.errors import InputError
from ckprof.kernels.source.c_interface import boolean
from ckprof.model.gemm_work import Schedule
from ckprof.model.types import SplitSum
from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.pipelines._base.base_pipeline import rejection
from ckprof_plugins.pipelines._gemm.family import GemmFamily, gemm_instance_string
from ckprof_plugins.pipelines._gemm.instance import GemmInstance
from ckprof_plugins.pipelines._gemm.kernel_name import gemm_kernel_name
from ckprof_plugins.pipelines._gemm.record import gemm_fields
from ckprof_plugins.pipelines._gemm.template_values import GemmHeader, gemm_values
from ckprof_plugins.pipelines._gemm.vocabulary import parse

if TYPE_CHECKING:
    from ckprof.model.catalog import Catalog
    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.pipelines._base.base_pipeline import HeaderRequest


class ReductionStrategy(Enum):
    """In which order the partial sums of a tile are added; the value is the spelling of catalogs."""

    TREE = "TREE"
    LINEAR = "LINEAR"

    @property
    def enumerator(self) -> str:
        """Enumerator of ``StreamKReductionStrategy``."""
        return _STRATEGIES[self][0]

    @property
    def number(self) -> int:
        """Value of that enumerator, which instance strings print."""
        return _STRATEGIES[self][1]

    @property
    def word(self) -> str:
        """What kernel names say."""
        return self.value.lower()


_STRATEGIES = {ReductionStrategy.TREE: ("Tree", 2), ReductionStrategy.LINEAR: ("Linear", 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamKInstance(GemmInstance):
    """A kernel that hands each workgroup the same number of iterations, wherever tiles begin and end."""

    pipeline: ClassVar[str] = "stream_k"
    split_sum: ClassVar[SplitSum] = SplitSum.ACCUMULATOR

    strategy: ReductionStrategy
    #: as many workgroups as fit on the device, each of which takes several tiles
    persistent: bool
    #: the record asks for a second stage as well, which a stream-K kernel does not have
    two_stage: bool = False


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
