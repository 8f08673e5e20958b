"""The families implicit GEMM, two-stage and stream-K: their kernels, and what the headers show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from ckprof.errors import InputError
from ckprof.kernels.c_interface import boolean
from ckprof.model.gemm_work import Reduction, Schedule
from ckprof.model.problem import MAX_LENGTH
from ckprof.model.types import DataType, SplitSum
from ckprof_plugins.directions._convolution.kernel import ConvKernel, Zeroing
from ckprof_plugins.pipelines.family import rejection
from ckprof_plugins.pipelines.fixed_tails import (
    FIXED_TAILS_LEVELS,
    fixed_tails_values,
)
from ckprof_plugins.pipelines.gemm_family import GemmFamily
from ckprof_plugins.pipelines.gemm_instance import GemmInstance
from ckprof_plugins.pipelines.kernel_name import fields_of_name, gemm_name_parts, traits_of_name
from ckprof_plugins.pipelines.rules import wide_waves
from ckprof_plugins.pipelines.second_problems import dividing_convolutions
from ckprof_plugins.pipelines.template_values import ZEROING_COMMENTS, GemmHeader, gemm_values
from ckprof_plugins.pipelines.validity import GEMM_RULES
from ckprof_plugins.pipelines.vocabulary import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.kernel import NamePart
    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.directions._convolution.kernel import ConvOperation
    from ckprof_plugins.directions._convolution.problem import ConvProblem
    from ckprof_plugins.pipelines.rules import RuleSubject, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplicitGemmInstance(GemmInstance):
    """A kernel that stores its result directly, or adds to it when the reduction is split."""

    pipeline: ClassVar[str] = "implicit_gemm"


class ImplicitGemmPipeline(GemmFamily):
    """Convolutions as matrix products whose operands are gathered while they are read."""

    id = ImplicitGemmInstance.pipeline
    label = "implicit GEMM: the image is read as a matrix, tile by tile"
    kernels = frozenset(ConvKernel)
    instance_type = ImplicitGemmInstance
    rules = GEMM_RULES

    def traits_of_name(self, name: str) -> KernelTraits | None:
        """Return what a name in a table of times says about a kernel; ``None`` if it says nothing."""
        return traits_of_name(name)

    def fields_of_name(self, name: str) -> Mapping[str, Any] | None:
        """Return the fields of an instance that a name in a table of times tells; ``None`` if none."""
        return fields_of_name(name)

    def header_of(
        self, instance: ImplicitGemmInstance, operation: ConvOperation, name: str, arch: str, api_level: str
    ) -> GemmHeader:
        """Return what the template of the request's API level shows."""
        if api_level in FIXED_TAILS_LEVELS:
            return GemmHeader(**fixed_tails_values(instance, operation, name, arch, api_level))
        zeroing = operation.zeroing
        return GemmHeader(
            template="implicit_gemm.hpp.j2",
            **gemm_values(instance, operation, name, arch),
            zeroes=zeroing is not Zeroing.NEVER,
            zeroes_if="kargs.k_batch > 1" if zeroing is Zeroing.IF_SPLIT else "",
            zeroing_comment=ZEROING_COMMENTS[zeroing],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStageInstance(GemmInstance):
    """A kernel that sums into a workspace of fp32 and a second one that converts to the result's type."""

    pipeline: ClassVar[str] = "two_stage"
    split_sum: ClassVar[SplitSum] = SplitSum.ACCUMULATOR


class TwoStagePipeline(GemmFamily):
    """Backward weight that sums in fp32, whatever the type of the weight, and converts at the end."""

    id = TwoStageInstance.pipeline
    label = "two-stage: sums in an fp32 workspace, then converts"
    kernels = frozenset({ConvKernel.BACKWARD_WEIGHT})
    instance_type = TwoStageInstance
    reduction = Reduction.WORKSPACE
    two_stage = True
    # the first stage's, which stores fp32: nothing else tells the stages
    string_type = DataType.FP32.value

    def header_of(
        self, instance: TwoStageInstance, operation: ConvOperation, name: str, arch: str, api_level: str
    ) -> GemmHeader:
        """Return what the template of the request's API level shows."""
        further = ("ck_tile/ops/elementwise.hpp", "ckprof_workspace.hpp")
        fixed = api_level in FIXED_TAILS_LEVELS
        values = (
            fixed_tails_values(instance, operation, name, arch, api_level, further)
            if fixed
            else gemm_values(instance, operation, name, arch, further)
        )
        too_large = rejection(
            "index-range",
            f"result_elements(param) > {MAX_LENGTH}",
            "the weight has {result_elements(param)} elements, the second stage counts them in 32 bits",
        )
        values["stored_type"] = "WorkspaceDataType"
        combines = values.get("combines", False)
        if not combines:
            values["unmet_requirements"] = (*values["unmet_requirements"], too_large)
        if fixed:
            # the second stage clears what splits add to, and is a device function as well
            values |= {"zeroes": False, "device_functions": values["device_functions"] + (not combines)}
            return GemmHeader(**values | {"template": "two_stage_2025_11.hpp.j2"})
        return GemmHeader(template="two_stage.hpp.j2", **values)


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


def _wave_size(candidate: RuleSubject[GemmInstance]) -> Violation | None:
    """Waves have 64 lanes, but for the pipelines of a device whose waves have 32."""
    return None if candidate.instance.gemm_pipeline.properties.uses_mover else wide_waves(candidate)


class StreamKPipeline(GemmFamily):
    """Backward weight whose workgroups share the iterations of all tiles evenly."""

    id = StreamKInstance.pipeline
    label = "stream-K: iterations are shared evenly, partial tiles are added up"
    kernels = frozenset({ConvKernel.BACKWARD_WEIGHT})
    instance_type = StreamKInstance
    rules = MappingProxyType({**GEMM_RULES, "wave-size": _wave_size})
    schedule = Schedule.STREAM

    def further_fields(self, record: GemmRecord) -> Mapping[str, Any]:
        """Return how the kernel reduces.

        :raises InputError: the record does not say it.
        """
        if record.streamk_reduction_strategy is None:
            raise InputError("streamk_reduction_strategy is missing while streamk_enabled is true")
        return {
            "strategy": parse(
                ReductionStrategy, "streamk_reduction_strategy", record.streamk_reduction_strategy
            ),
            "persistent": record.streamk_persistent,
            "two_stage": record.two_stage,
        }

    def name_parts(self, instance: StreamKInstance) -> Sequence[NamePart]:
        """Return the parts of the kernel's name."""
        reduction = instance.strategy.word + ("_persistent" if instance.persistent else "")
        return gemm_name_parts(instance, two_stage=instance.two_stage, stream_k=reduction)

    def second_convolutions(self, instance: StreamKInstance) -> Iterator[Sequence[ConvProblem]]:
        """Yield what its workgroups divide, and what all other kernels are verified on."""
        multiples = instance.channel_multiples(self.operation_of(instance).tensors)
        yield dividing_convolutions(instance, multiples)
        yield from super().second_convolutions(instance)

    def stream_k_fields(self, instance: StreamKInstance) -> Mapping[str, object]:
        """Return reduction strategy and persistence as texts name them."""
        return {
            "streamk_reduction_strategy": instance.strategy.number,
            "streamk_persistent": instance.persistent,
        }

    def header_of(
        self, instance: StreamKInstance, operation: ConvOperation, name: str, arch: str, api_level: str
    ) -> GemmHeader:
        """Return what the template shows."""
        values = gemm_values(
            instance,
            operation,
            name,
            arch,
            (
                "ck_tile/ops/gemm/kernel/streamk_gemm/streamk_gemm_tile_partitioner.hpp",
                "ckprof_workspace.hpp",
            ),
        )
        return GemmHeader(
            template="stream_k.hpp.j2",
            **{
                **values,
                "unmet_requirements": (*values["unmet_requirements"], *_REQUIREMENTS),
                "deduces_split_k": False,
            },
            strategy=instance.strategy.enumerator,
            persistent=boolean(instance.persistent),
        )


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
