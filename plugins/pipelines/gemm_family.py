"""What the families of convolution kernels that multiply matrices have in common.

CK Builder's text for a kernel, what ``GetInstanceString()`` of the built one says, is composed here from the
instance alone, so that it can be compared with what the kernel says.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from ckprof.errors import InputError
from ckprof.model.gemm_work import GemmWork, Reduction, Schedule
from ckprof.model.strings.rendering import render
from ckprof.model.types import ComputeType, DataType
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.gemm_sizes import (
    backward_data_sizes,
    backward_weight_sizes,
    forward_sizes,
)
from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.pipelines.boundary_problems import drawn_convolutions
from ckprof_plugins.pipelines.family import KernelFamily
from ckprof_plugins.pipelines.gemm_instance import GemmInstance, per_channel, tiled_fields
from ckprof_plugins.pipelines.kernel_name import gemm_name_parts, gemm_traits, joined
from ckprof_plugins.pipelines.rules import Rules, wide_waves
from ckprof_plugins.pipelines.second_problems import second_convolutions
from ckprof_plugins.pipelines.validity import GEMM_RULES
from ckprof_plugins.pipelines.vocabulary import ChannelPadding, Specialization, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.catalog import Catalog
    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.kernel import NamePart
    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.layout import ConvLayout
    from ckprof_plugins.directions._convolution.problem import ConvProblem


_GEMM_SIZES: Final = {
    ConvKernel.FORWARD: forward_sizes,
    ConvKernel.BACKWARD_DATA: backward_data_sizes,
    ConvKernel.BACKWARD_WEIGHT: backward_weight_sizes,
}


class GemmFamily(KernelFamily):
    """A family whose instances are read from records of GEMM kernels."""

    rules: ClassVar[Rules] = MappingProxyType({**GEMM_RULES, "wave-size": wide_waves})
    instance_type: ClassVar[type[GemmInstance]]
    schedule: ClassVar[Schedule] = Schedule.TILES
    reduction: ClassVar[Reduction] = Reduction.ATOMIC
    #: the family sums in fp32 first
    two_stage: ClassVar[bool] = False
    #: type of the result in texts, where the kernel itself stores another one than that of the tensors
    string_type: ClassVar[str] = ""

    def make_instance(self, catalog: Catalog, direction: str, record: GemmRecord) -> GemmInstance:
        """Return the instance that a record describes.

        :raises InputError: a value is unknown, out of range or contradicts another one.
        """
        return self.instance_type(
            **tiled_fields(record),
            direction=direction,
            ndim=catalog.ndim,
            layout=cast("ConvLayout", catalog.layout),
            dtype=catalog.dtype,
            double_smem_buffer=record.double_smem_buffer,
            num_groups_to_merge=record.num_groups_to_merge,
            num_wave_groups=record.num_wave_groups,
            specialization=parse(Specialization, "specialization", record.specialization),
            explicit_gemm=record.explicit_gemm,
            split_image=record.split_image,
            compute_type=_compute_type(record.compute_type, catalog.dtype),
            elementwise_op=ElementwiseOp.parse(record.elementwise_op) if record.elementwise_op else None,
            d_layouts=record.d_layouts,
            dtype_b=_type("dtype_b", record.dtype_b),
            dtype_result=_type("dtype_result", record.dtype_result),
            d_dtypes=record.d_dtypes,
            fold_stride=record.fold_stride or None,
            store_immediate=record.store_immediate or None,
            channel_padding=_padding(record.channel_padding),
            **self.further_fields(record),
        )

    def further_fields(self, record: GemmRecord) -> Mapping[str, Any]:
        """Return what the instances of this family have beside the fields of all.

        :raises InputError: the record says what the family does not have.
        """
        # dropping fields of stream-K would hide what was meant
        for field in ("streamk_reduction_strategy", "streamk_persistent"):
            if value := getattr(record, field):
                raise InputError(f"{field} is {value!r} while streamk_enabled is false")
        return {}

    def kernel_name(self, instance: Any) -> str:
        """Return the name of the instance's kernel."""
        return joined(self.name_parts(instance))

    def name_parts(self, instance: Any) -> Sequence[NamePart]:
        """Return the parts of the name."""
        return gemm_name_parts(instance, two_stage=self.two_stage)

    def default_problem(self, instance: GemmInstance, usual: Convolution) -> Convolution:
        """Return the direction's problem, with what the kernel does besides and its usual parameters."""
        if instance.elementwise_op is None:
            return usual
        extents = [DExtent.CHANNEL if per_channel(layout) else DExtent.FULL for layout in instance.d_tensors]
        combination = Combination.usual(instance.elementwise_op, extents)
        return FusedConvProblem.of(usual, combination, self.operation_of(instance).result)

    def second_problems(self, instance: GemmInstance) -> Sequence[Sequence[Convolution]]:
        """Return problems of several tiles and of less than one, and such as are drawn for the kernel.

        See :mod:`.second_problems` and :mod:`.boundary_problems`.

        In every second one D tensors are full where they usually have an element per channel, and the other
        way round, if the kernel takes that.
        """
        kinds = [
            [self.default_problem(instance, problem) for problem in alternatives]
            for alternatives in self.second_convolutions(instance)
        ]
        if instance.elementwise_op is not None and instance.d_tensors:
            kinds[1::2] = [[*_with_other_extents(others), *others] for others in kinds[1::2]]
        return kinds

    def second_convolutions(self, instance: Any) -> Iterator[Sequence[ConvProblem]]:
        """Yield these problems without what else the kernel does."""
        tensors = self.operation_of(instance).tensors
        padded = instance.channel_padding is not None
        multiples = (1, 1) if padded else instance.channel_multiples(tensors)
        yield from second_convolutions(instance, multiples, sums_outputs=tensors[-1] == "input")
        yield from drawn_convolutions(instance, multiples, tensors[-1])

    def unfused(self, instance: GemmInstance) -> GemmInstance | None:
        """Return the same instance without what is fused to its sums; ``None`` if nothing is."""
        if instance.elementwise_op is None:
            return None
        return replace(instance, elementwise_op=None, d_layouts=None, d_dtypes=None)

    def instance_string(self, instance: Any) -> str:
        """Return CK Builder's text: the kernel class and its fields, separated by commas without spaces."""
        stream_k = self.stream_k_fields(instance)
        types = instance.types
        combined: dict[str, str] = {}
        # those of most kernels are fixed; texts have none for what is done with operands
        if instance.elementwise_op is not None and not instance.elementwise_op.properties.operands:
            combined["operation_result"] = instance.elementwise_op.value
            if instance.d_tensors:
                further = types.further_of(len(instance.d_tensors))
                combined["layout_extra"] = f"tuple({instance.d_layouts})"
                combined["type_extra"] = f"tuple({','.join(dtype.spelled for dtype in further)})"
        tile, waves, mma = instance.tile, instance.wave_grid, instance.mma_tile
        return render(
            self.operation_of(instance).string_kind,
            {
                "ndim": instance.ndim,
                "specialization": instance.specialization.enumerator,
                "layout_input": instance.layout.input,
                "layout_weight": instance.layout.weight,
                "layout_output": instance.layout.output,
                **combined,
                "vector_size_a": instance.vector_size_a,
                "vector_size_b": instance.vector_size_b,
                "vector_size_c": instance.vector_size_c,
                "num_groups_to_merge": instance.num_groups_to_merge,
                "split_image": instance.split_image,
                "explicit_gemm": instance.explicit_gemm,
                "tile_m": tile.m,
                "tile_n": tile.n,
                "tile_k": tile.k,
                "warp_m": waves.m,
                "warp_n": waves.n,
                "warp_k": waves.k,
                "warp_tile_m": mma.m,
                "warp_tile_n": mma.n,
                "warp_tile_k": mma.k,
                "type_a": types.operands[0].spelled,
                "type_b": types.operands[1].spelled,
                "pipeline_name": instance.gemm_pipeline.properties.enumerator,
                "scheduler": instance.scheduler.enumerator,
                "double_smem_buffer": instance.double_smem_buffer,
                "num_wave_groups": instance.num_wave_groups,
                "type_accumulator": types.acc.spelled,
                "type_result": self.string_type or types.result.spelled,
                "streamk_enabled": bool(stream_k),
                **stream_k,
            },
        )

    def stream_k_fields(self, instance: Any) -> Mapping[str, object]:
        """Return how a stream-K kernel reduces, as texts name it; empty for other kernels."""
        return {}

    def work(self, instance: GemmInstance, problem: Convolution, splits: int) -> GemmWork | None:
        """Return the matrix products that the kernel makes of a problem; ``None`` if it makes none."""
        if self.schedule is Schedule.STREAM:
            return None
        if instance.ndim != problem.ndim or instance.num_groups_to_merge != 1 or instance.fold_stride:
            return None
        m, n, k = _GEMM_SIZES[self.operation_of(instance).kernel](problem)
        size = instance.dtype.properties.size_bytes
        elements = problem.input_elements + problem.weight_elements + problem.output_elements
        grid = instance.wave_grid
        return GemmWork(
            m=m,
            n=n,
            k=k,
            batch=problem.groups,
            tile_m=instance.tile.m,
            tile_n=instance.tile.n,
            tile_k=instance.tile.k,
            waves=grid.m * grid.n * grid.k,
            splits=splits,
            tensor_bytes=elements * size,
            element_bytes=size,
        )

    def automatic_splits(self, instance: GemmInstance, problem: Convolution, workgroups: int) -> int | None:
        """Return how many splits fill the device: its workgroups divided by the tiles of the result.

        At least 1, and at most the length of the reduction; ``None`` for kernels that do not choose.
        """
        if not self.operation_of(instance).deduces_split_k:
            return None
        work = self.work(instance, problem, 1)
        if work is None:
            return None
        tiles = -(-work.m // work.tile_m) * -(-work.n // work.tile_n) * work.batch
        return min(max(1, workgroups // tiles), work.k)

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of the kernel of an instance with these fields depends on."""
        return gemm_traits(fields, schedule=self.schedule, reduction=self.reduction)


def _compute_type(text: str | None, dtype: DataType) -> ComputeType | None:
    """Return what a record asks for; the operands' own type is the same as nothing."""
    if text in (None, dtype.value):
        return None
    return parse(ComputeType, "compute_type", text)


def _padding(text: str | None) -> ChannelPadding | None:
    return parse(ChannelPadding, "channel_padding", text) if text else None


def _type(field: str, text: str | None) -> DataType | None:
    return None if text is None else parse(DataType, field, text)


def _with_other_extents(problems: Sequence[Any]) -> Iterator[Any]:
    """Yield problems whose D tensors are full instead of per channel, and the other way round."""
    for problem in problems:
        usual = problem.elementwise
        extents = [DExtent.FULL if one is DExtent.CHANNEL else DExtent.CHANNEL for one in usual.extents]
        with suppress(InputError):  # the gradient of a weight has no channels of its own
            yield replace(problem, elementwise=replace(usual, extents=tuple(extents)))
