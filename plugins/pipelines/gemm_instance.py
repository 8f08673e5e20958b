"""What configurations of all GEMM kernels have in common: fields, records they are read from, D tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.errors import InputError
from ckprof.model.instance import Instance
from ckprof.model.types import ComputeType, DataType, TypeSet
from ckprof_plugins.directions._convolution.layout import CHANNEL_AXES, TENSORS, types_of
from ckprof_plugins.elementwise.combination import MOST_D_TENSORS
from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.pipelines.vocabulary import (
    GEMM_PIPELINE_ALIASES,
    ChannelPadding,
    Epilogue,
    GemmPipeline,
    Scheduler,
    SmemBuffering,
    Specialization,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.directions._convolution.layout import ConvLayout
    from ckprof_plugins.pipelines.universal_gemm.reading import UniversalGemmRecord


#: upstream's name of a field -> the field
UPSTREAM_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"pipeline": "gemm_pipeline", "data_type": "dtype", "ndim_spatial": "ndim"}
)

#: result of a convolution -> layout of a D tensor with one element per channel of it
CHANNEL_LAYOUTS: Final[Mapping[str, str]] = MappingProxyType(
    {result: "_".join(axes) for result, axes in CHANNEL_AXES.items()}
)


def per_channel(name: str) -> bool:
    """Say whether a layout of a D tensor is one of those with one element per channel."""
    return name in CHANNEL_LAYOUTS.values()


def d_layouts_of(result: str, layout: ConvLayout) -> tuple[str, ...]:
    """Return the layouts that D tensors of kernels can have: that of the result first.

    :param result: which tensor of the convolution they compute.
    """
    return (layout.order(result), *filter(None, [CHANNEL_LAYOUTS.get(result)]))


def check_d_layouts(operation: ElementwiseOp | None, layouts: Sequence[str], known: Collection[str]) -> None:
    """Check the layouts of the D tensors of a kernel.

    :param layouts: one for each of them.
    :param known: those that there are.
    :raises InputError: the operation takes another number of them, or there is no such layout.
    """
    if operation is None:
        if layouts:
            raise InputError(f"d_layouts is {','.join(layouts)}, but there is no elementwise_op to use them")
        return
    properties = operation.properties
    counts = range(1, MOST_D_TENSORS + 1) if properties.variadic else (len(properties.d_tensors),)
    if len(layouts) not in counts:
        expected = " or ".join(map(str, counts))
        raise InputError(
            f"{operation.value} takes {expected} D tensors, d_layouts has {len(layouts)}: "
            f"{','.join(layouts) or 'none'}"
        )
    for name in layouts:
        if name not in known:
            raise InputError(f"d_layouts has {name}, expected {' or '.join(known)}")


def check_d_types(types: Sequence[DataType], layouts: Sequence[str]) -> None:
    """Check that D tensors have as many types as layouts, if they have any of their own.

    :raises InputError: they have not.
    """
    if types and len(types) != len(layouts):
        raise InputError(f"d_dtypes has {len(types)} types, the kernel has {len(layouts)} D tensors")


def usual_d_layouts(operation: ElementwiseOp, layout: ConvLayout, result: str) -> str | None:
    """Return those of the factories, separated by commas; ``None`` if the operation takes no D tensors.

    :param result: which tensor of the convolution is computed.
    """
    properties = operation.properties
    full = layout.order(result)
    if properties.variadic:
        return full
    channel = CHANNEL_LAYOUTS.get(result, full)
    names = (full if d.extent is DExtent.FULL else channel for d in properties.d_tensors)
    return ",".join(names) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Sizes along the three axes of a matrix product.

    :raises InputError: a size is not positive.
    """

    m: int
    n: int
    k: int

    def __post_init__(self) -> None:
        for axis in "mnk":
            _check_positive(f"size along {axis}", getattr(self, axis))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The sizes in the order m, n, k."""
        return self.m, self.n, self.k

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmInstance(Instance):
    """A convolution kernel that multiplies matrices without building them in memory.

    Each family derives its own class and sets ``pipeline``.

    :raises InputError: a size or count is not positive.
    """

    field_aliases: ClassVar[Mapping[str, str]] = {
        **{f"wave_{axis}": f"wave_grid_{axis}" for axis in "mnk"},
        **{f"warp_{axis}": f"wave_grid_{axis}" for axis in "mnk"},
        **{f"warp_tile_{axis}": f"mma_tile_{axis}" for axis in "mnk"},
        **UPSTREAM_NAMES,
    }

    value_aliases: ClassVar[Mapping[str, str]] = {
        name: pipeline.value for name, pipeline in GEMM_PIPELINE_ALIASES.items()
    }

    optional_fields: ClassVar[frozenset[str]] = frozenset(
        {
            *("compute_type", "elementwise_op", "d_layouts", "dtype_b", "dtype_result", "d_dtypes"),
            *("fold_stride", "store_immediate", "channel_padding"),
        }
    )

    layout: ConvLayout

    #: block tile in elements
    tile: Extent
    #: waves of a block along each axis; catalogs call it ``warp_m/n/k``
    wave_grid: Extent
    #: tile of one matrix instruction; catalogs call it ``warp_tile_m/n/k``
    mma_tile: Extent
    #: elements per memory access of the first operand, the second operand and the result
    vector_size_a: int
    vector_size_b: int
    vector_size_c: int
    gemm_pipeline: GemmPipeline
    scheduler: Scheduler
    epilogue: Epilogue
    double_smem_buffer: bool
    num_groups_to_merge: int
    num_wave_groups: int
    specialization: Specialization
    explicit_gemm: bool
    split_image: bool
    pad_m: bool = True
    pad_n: bool = True
    pad_k: bool = True
    #: what operands are rounded to before they are multiplied; ``None`` for their own type
    compute_type: ComputeType | None = None
    #: what is done with the elements of the result; ``None``: they are stored as they are
    elementwise_op: ElementwiseOp | None = None
    #: layouts of the D tensors that it takes, as strings spell them, separated by commas; ``None``: it takes
    #: none
    d_layouts: str | None = None
    #: types of the second operand and of the result; ``None``: the usual ones of :attr:`dtype`
    dtype_b: DataType | None = None
    dtype_result: DataType | None = None
    #: types of the D tensors, separated by commas; ``None``: that of the result
    d_dtypes: str | None = None
    #: true: the stride along the last axis is seen as channels, see ``ckprof_folded_stride.hpp``
    fold_stride: bool | None = None
    #: true: its name in upstream's table of variants ends in ``_si``; no kernel does anything about it
    store_immediate: bool | None = None
    #: channels are padded with zeros to what the vectors need, see ``ckprof_padded_channels.hpp``
    channel_padding: ChannelPadding | None = None
    #: types of all tensors and of the sums, and of the products
    types: TypeSet = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in (
            "vector_size_a",
            "vector_size_b",
            "vector_size_c",
            "num_groups_to_merge",
            "num_wave_groups",
        ):
            _check_positive(name, getattr(self, name))
        if self.elementwise_op is not None or self.d_layouts:
            # which of them the direction has is a rule
            known = dict.fromkeys(name for result in TENSORS for name in d_layouts_of(result, self.layout))
            check_d_layouts(self.elementwise_op, self.d_tensors, tuple(known))
        check_d_types(self.d_types, self.d_tensors)
        types = types_of(self.dtype, self.dtype_b, self.dtype_result, self.d_types)
        if self.compute_type is not None:
            types = replace(types, compute_type=self.compute_type)
        object.__setattr__(self, "types", types)  # of a frozen class; asked for again and again

    @property
    def d_tensors(self) -> tuple[str, ...]:
        """Layout of each D tensor."""
        return tuple(self.d_layouts.split(",")) if self.d_layouts else ()

    @property
    def d_types(self) -> tuple[DataType, ...]:
        """Type of each D tensor; empty if all have that of the result."""
        return tuple(map(DataType.parse, self.d_dtypes.split(","))) if self.d_dtypes else ()

    @property
    def vector_sizes(self) -> tuple[int, int, int]:
        """Elements per memory access of first operand, second operand and result."""
        return self.vector_size_a, self.vector_size_b, self.vector_size_c

    def channel_multiples(self, tensors: Sequence[str]) -> tuple[int, int]:
        """Return what the vectors need with channels last: multiples of C and of K per group.

        :param tensors: which of input, weight and output are first operand, second operand and result.
        """
        # those of input and weight run along C, those of the output along K
        widths = dict(zip(tensors, self.vector_sizes, strict=True))
        return math.lcm(widths["input"], widths["weight"]), widths["output"]

    @property
    def preparation(self) -> tuple[str, bool]:
        """Padding of channels."""
        if self.channel_padding is None:
            return "", True
        from ckprof_plugins.pipelines.family import tensors_of

        c, k = self.channel_multiples(tensors_of(self.direction))
        text = f"C to multiples of {c}, K of {k}, {self.channel_padding.value}"
        return text, self.channel_padding is ChannelPadding.INSIDE

    @property
    def can_pad_channels(self) -> bool:
        """Whether a launcher can pad its channels: they are last, and no further tensor has any."""
        last = self.layout.input.endswith("GC") and self.layout.weight.endswith("C")
        return last and self.elementwise_op is None and not self.fold_stride

    @property
    def pads(self) -> tuple[bool, bool, bool]:
        """Whether M, N and K are padded up to the tile."""
        return self.pad_m, self.pad_n, self.pad_k

    @property
    def block_per_cu(self) -> int:
        """Blocks that share a compute unit: one with two LDS buffers, else two."""
        buffering = self.gemm_pipeline.properties.buffering
        if buffering is SmemBuffering.EITHER:
            return 1 if self.double_smem_buffer else 2
        return 1 if buffering is SmemBuffering.DOUBLE else 2


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise InputError(f"{name} is {value}, expected 1 or more")


#: start of a record's fields -> start of those of an instance
_EXTENTS: Final = {"tile": "tile", "warp_tile": "mma_tile", "warp": "wave_grid"}


def tiled_values(_: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an instance under the names that records have; see :func:`tiled_fields`."""
    names = {f"{own}_{axis}": f"{name}_{axis}" for name, own in _EXTENTS.items() for axis in "mnk"}
    names["gemm_pipeline"] = "pipeline"
    return {names.get(name, name): value for name, value in fields.items()}


def tiled_fields(record: GemmRecord | UniversalGemmRecord) -> dict[str, Any]:
    """Return what records of convolutions and of plain matrix products say alike.

    :raises InputError: a value is unknown or out of range.
    """
    extents = {}
    for in_records, name in _EXTENTS.items():
        sizes = {axis: getattr(record, f"{in_records}_{axis}") for axis in "mnk"}
        for axis, size in sizes.items():
            _check_positive(f"{in_records}_{axis}", size)
        extents[name] = Extent(**sizes)
    return {
        **extents,
        "id": record.id,
        "vector_size_a": record.vector_size_a,
        "vector_size_b": record.vector_size_b,
        "vector_size_c": record.vector_size_c,
        "gemm_pipeline": parse(GemmPipeline, "pipeline", record.pipeline, GEMM_PIPELINE_ALIASES),
        "scheduler": parse(Scheduler, "scheduler", record.scheduler),
        "epilogue": parse(Epilogue, "epilogue", record.epilogue),
    }
