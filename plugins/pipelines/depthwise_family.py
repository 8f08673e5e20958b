"""The depthwise family: what its kernels are, and what their headers show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.errors import InputError
from ckprof.model.gemm_work import KernelTraits, Schedule
from ckprof.model.instance import Instance
from ckprof.model.kernel import KEPT
from ckprof.model.strings.rendering import render
from ckprof.version import __version__
from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.directions._convolution.string_kinds import DEPTHWISE
from ckprof_plugins.pipelines.boundary_problems import drawn
from ckprof_plugins.pipelines.family import KernelFamily, KernelHeader, includes, split_k_requirements
from ckprof_plugins.pipelines.kernel_name import HEAD, OTHER, joined, parts_of
from ckprof_plugins.pipelines.rules import (
    Rules,
    RuleSubject,
    Violation,
    known_api_level,
    known_direction,
    latest_level,
    wide_waves,
)
from ckprof_plugins.pipelines.second_problems import Window, rounded_up, with_window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.catalog import Catalog
    from ckprof.model.kernel import NamePart
    from ckprof_converters.records import DepthwiseRecord
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.kernel import ConvOperation


#: The only layout that the kernel reads.
_LAYOUT = "ngchw"

#: Local memory that the kernel may use on every architecture.
_LDS_BYTES = 65536

#: Widest access to local memory, in elements.
_WIDEST_LDS_VECTOR = 4


def _layout(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    layout = candidate.instance.layout
    if layout.name == _LAYOUT and candidate.instance.ndim == layout.ndim:
        return None
    return Violation(
        f"depthwise kernels read {_LAYOUT} in 2 dimensions, not {layout.name} in {candidate.instance.ndim}",
        layout.name,
        _LAYOUT,
    )


def _filter(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    filt = candidate.instance.filt
    return None if filt % 2 else Violation(f"the filter's side must be odd, it is {filt}", filt, "odd")


def _vector_size(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    sizes = {"in_vec": candidate.instance.in_vec, "out_vec": candidate.instance.out_vec}
    wrong = {name: size for name, size in sizes.items() if size & (size - 1)}
    if not wrong:
        return None
    shown = ", ".join(f"{name} is {size}" for name, size in wrong.items())
    return Violation(
        f"vector sizes must be powers of two ({shown})", next(iter(wrong.values())), "a power of two"
    )


def _sub_tile(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    i = candidate.instance
    if i.sub_h > i.tile_h or i.sub_w > i.tile_w:
        sub, tile = f"{i.sub_h}x{i.sub_w}", f"{i.tile_h}x{i.tile_w}"
        return Violation(f"the sub-tile {sub} exceeds the tile {tile}", sub, tile)
    if i.repeats > BLOCK_SIZE:
        return Violation(
            f"a tile has {i.repeats} sub-tiles, more than the {BLOCK_SIZE} lanes of a block",
            i.repeats,
            BLOCK_SIZE,
        )
    return None


def _batch(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    i = candidate.instance
    # A tile with too many sub-tiles breaks the rule before this one.
    tiles = max(1, i.tiles_per_wave)
    if i.nbatch % tiles == 0:
        return None
    return Violation(f"nbatch {i.nbatch} is not a multiple of {tiles}, the tiles per wave", i.nbatch, tiles)


def _stride(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    stride = candidate.instance.str_w
    if stride == 1 or stride % 2 == 0:
        return None
    return Violation(f"str_w must be 1 or even, it is {stride}", stride, "1 or even")


def _pad(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    return None if candidate.instance.pad_w > 0 else Violation("pad_w must be positive, it is 0", 0, 1)


def _row_access(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    i = candidate.instance
    read = min(i.in_vec, _WIDEST_LDS_VECTOR)
    if i.sub_w * i.str_w % read:
        width = i.sub_w * i.str_w
        return Violation(
            f"sub_w * str_w is {width}, no multiple of the {read} elements read at once", width, read
        )
    written = min(i.out_vec, _WIDEST_LDS_VECTOR)
    if i.sub_w % written:
        return Violation(
            f"sub_w is {i.sub_w}, no multiple of the {written} elements written at once", i.sub_w, written
        )
    columns = i.lds_tile[1]
    accesses = -(-columns // i.in_vec)
    if accesses > BLOCK_SIZE:
        return Violation(
            f"a row of {columns} elements is more than {BLOCK_SIZE} accesses of {i.in_vec} elements",
            accesses,
            BLOCK_SIZE,
        )
    return None


def _lds(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    needed = candidate.instance.lds_bytes
    if needed <= _LDS_BYTES:
        return None
    return Violation(f"a block needs {needed} bytes of LDS, there are {_LDS_BYTES}", needed, _LDS_BYTES)


#: The rules of the family.
DEPTHWISE_RULES: Final[Rules] = {
    "api-level": known_api_level,
    "api-level-feature": latest_level("depthwise kernels"),
    "direction": known_direction,
    "wave-size": wide_waves,
    "layout": _layout,
    "filter": _filter,
    "vector-size": _vector_size,
    "sub-tile": _sub_tile,
    "batch": _batch,
    "stride": _stride,
    "pad": _pad,
    "row-access": _row_access,
    "lds": _lds,
}


#: Lanes of a block: one wave.
BLOCK_SIZE = 64

#: Distance between the taps of the filter.
DILATION = 1


#: Fields that are sizes, in the order of the columns of a list.
SIZES = (
    *("tile_h", "tile_w", "filt", "str_h", "str_w", "pad_h", "pad_w"),
    *("nbatch", "sub_h", "sub_w", "in_vec", "out_vec"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthwiseInstance(Instance):
    """A kernel for convolutions in which every channel is a group of its own.

    A block computes tiles of ``tile_h x tile_w`` outputs for ``nbatch`` images of one channel; each lane
    computes a patch of ``sub_h x sub_w``.

    :raises InputError: a size is not positive or a pad is negative.
    """

    pipeline: ClassVar[str] = "depthwise"

    tile_h: int
    tile_w: int
    #: side of the square filter
    filt: int
    str_h: int
    str_w: int
    pad_h: int
    pad_w: int
    nbatch: int
    sub_h: int
    sub_w: int
    #: elements per memory access of input and output
    in_vec: int
    out_vec: int

    def __post_init__(self) -> None:
        for name in SIZES:
            value = getattr(self, name)
            least = 0 if name.startswith("pad") else 1
            if value < least:
                raise InputError(f"{name} is {value}, expected {least} or more")

    @property
    def repeats(self) -> int:
        """Patches of a tile: cdiv(tile_h, sub_h) * cdiv(tile_w, sub_w)."""
        return -(-self.tile_h // self.sub_h) * -(-self.tile_w // self.sub_w)

    @property
    def tiles_per_wave(self) -> int:
        """Tiles, each of another image, that a wave computes at once; 0 if a tile has too many patches."""
        return BLOCK_SIZE // self.repeats

    @property
    def lds_tile(self) -> tuple[int, int]:
        """Rows and columns of the input that a tile needs: tile * stride + 2 * pad."""
        return self.tile_h * self.str_h + 2 * self.pad_h, self.tile_w * self.str_w + 2 * self.pad_w

    @property
    def lds_bytes(self) -> int:
        """Local memory of a block: rows * row stride * tiles per wave * bytes of an element.

        The row stride is the number of columns rounded up to ``in_vec``, with room for one more pad.
        """
        rows, columns = self.lds_tile
        stride = rounded_up(columns, self.in_vec)
        if stride < columns + self.pad_w:
            stride = rounded_up(columns + self.pad_w, self.in_vec)
        return rows * stride * self.tiles_per_wave * self.dtype.properties.size_bytes


#: The catalog variant whose records describe depthwise kernels.
VARIANT = "forward_depthwise"

#: fields of the instance string that the instance calls the same
_SAME_NAME: Final = (
    *("ndim", "in_vec", "out_vec", "tile_h", "tile_w", "str_h", "str_w"),
    *("nbatch", "sub_h", "sub_w"),
)

#: of the problem that instances are run on when none is given: a batch that is a multiple of the images per
#: block of every listed instance, and the output's length where an instance does not fix it, which is not a
#: multiple of the usual tiles
_GROUPS: Final = 64
_BATCH: Final = 32
_LENGTH: Final = 28


class DepthwisePipeline(KernelFamily):
    """Convolutions with one channel per group, computed directly on tiles of the image."""

    id = DepthwiseInstance.pipeline
    label = "depthwise: one channel per group, tiles of the image in local memory"
    kernels = frozenset({ConvKernel.FORWARD})
    rules = DEPTHWISE_RULES

    def make_instance(self, catalog: Catalog, direction: str, record: DepthwiseRecord) -> DepthwiseInstance:
        """Return the instance that a record describes.

        :raises InputError: a value is out of range.
        """
        return DepthwiseInstance(
            id=record.id,
            direction=direction,
            ndim=catalog.ndim,
            layout=catalog.layout,
            dtype=catalog.dtype,
            **{name: getattr(record, name) for name in SIZES},
        )

    def kernel_name(self, instance: DepthwiseInstance) -> str:
        """Return the name of the instance's kernel. Every part is always present."""
        return joined(self.name_parts(instance))

    def name_parts(self, instance: DepthwiseInstance) -> Sequence[NamePart]:
        """Return the parts of the name."""
        i = instance
        return (
            *parts_of(HEAD, direction=f"grouped_conv_{i.direction}", family="depthwise", dtype=i.dtype.value),
            *parts_of(HEAD, layout=i.layout.name, ndim=f"{i.ndim}d"),
            (KEPT, "tile", f"{i.tile_h}x{i.tile_w}"),
            *parts_of(
                OTHER,
                filt=f"f{i.filt}",
                str=f"s{i.str_h}x{i.str_w}",
                pad=f"p{i.pad_h}x{i.pad_w}",
                nbatch=f"nb{i.nbatch}",
                sub=f"sub{i.sub_h}x{i.sub_w}",
                vec=f"vec{i.in_vec}_{i.out_vec}",
            ),
        )

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of the kernel of an instance with these fields depends on."""
        filt, patch = fields["filt"], f"{fields['sub_h']}x{fields['sub_w']}"
        return KernelTraits(
            tile=(fields["tile_h"], fields["tile_w"], fields["nbatch"]),
            schedule=Schedule.WINDOW,
            labels=(f"{filt}x{filt}", patch, f"{fields['in_vec']},{fields['out_vec']}"),
        )

    def instance_string(self, instance: DepthwiseInstance) -> str:
        """Return CK Builder's text: the kernel class and 20 fields. Layout and pads are not among them."""
        i = instance
        dtype = i.dtype.value
        return render(
            DEPTHWISE,
            {
                **{name: getattr(i, name) for name in _SAME_NAME},
                "weight_vec": i.in_vec,
                "block_size": BLOCK_SIZE,
                "filt_h": i.filt,
                "filt_w": i.filt,
                "type_input": dtype,
                "type_weight": dtype,
                "type_output": dtype,
            },
        )

    def header_of(
        self, instance: DepthwiseInstance, operation: ConvOperation, name: str, arch: str, api_level: str
    ) -> DepthwiseHeader:
        """Return what the template shows; it does not record the architecture."""
        i = instance
        return DepthwiseHeader(
            template="depthwise.hpp.j2",
            version=__version__,
            name=name,
            key=i.key,
            variant=VARIANT,
            operation=operation,
            includes=includes(
                operation.kernel_header,
                "ck_tile/ops/grouped_convolution/pipeline/grouped_convolution_forward_depthwise_pipeline.hpp",
                "ck_tile/ops/elementwise/unary_element_wise_operation.hpp",
            ),
            unmet_requirements=split_k_requirements(operation),
            deduces_split_k=False,
            element=i.dtype.properties.cpp_type,
            ndim=i.ndim,
            in_vec=i.in_vec,
            out_vec=i.out_vec,
            traits=(
                ("block size", BLOCK_SIZE),
                ("tile height", i.tile_h),
                ("tile width", i.tile_w),
                ("filter height", i.filt),
                ("filter width", i.filt),
                ("stride height", i.str_h),
                ("stride width", i.str_w),
                ("dilation height", DILATION),
                ("dilation width", DILATION),
                ("pad height", i.pad_h),
                ("pad width", i.pad_w),
                ("images per block", i.nbatch),
                ("sub-tile height", i.sub_h),
                ("sub-tile width", i.sub_w),
                ("input vector", i.in_vec),
                ("output vector", i.out_vec),
            ),
        )

    def default_problem(self, instance: DepthwiseInstance, usual: Convolution) -> Convolution:
        """Return a problem with the filter, strides and pads that the instance is made for.

        Where the kernel computes tiles of several images at once, an output must not exceed a tile.
        """
        i = instance
        strides = (i.str_h, i.str_w)
        pads = (i.pad_h, i.pad_w)
        tile = (i.tile_h, i.tile_w)
        output = (
            tuple(min(_LENGTH, length) for length in tile) if i.tiles_per_wave > 1 else (_LENGTH, _LENGTH)
        )
        reach = (i.filt - 1) * DILATION + 1
        lengths = tuple(
            max(1, (out - 1) * stride + reach - 2 * pad)
            for out, stride, pad in zip(output, strides, pads, strict=True)
        )
        return ConvProblem(
            groups=_GROUPS,
            batch=_BATCH if _BATCH % i.nbatch == 0 else i.nbatch,
            out_channels=1,
            in_channels=1,
            filter=(i.filt, i.filt),
            input=lengths,
            strides=strides,
            dilations=(DILATION, DILATION),
            left_pads=pads,
            right_pads=pads,
        )

    def second_problems(self, instance: DepthwiseInstance) -> Sequence[Sequence[ConvProblem]]:
        """Return outputs that are no multiple of the tile, nor padded alike, and some drawn for the kernel.

        Kernels of one tile at a time have a second one along each axis. Drawn ones are of whole tiles, one
        pixel less, many rows or columns of tiles, a single pixel of many groups, and many images.
        """
        i = instance
        single, (rows, columns) = i.tiles_per_wave > 1, (i.tile_h, i.tile_w)
        pads = (i.pad_h, i.pad_w)
        less = tuple(max(0, pad - 1) for pad in pads)

        def of(
            output: tuple[int, int], images: int, groups: int, right: tuple[int, ...] = pads
        ) -> ConvProblem:
            window = Window((i.filt, i.filt), (i.str_h, i.str_w), (DILATION, DILATION), pads, right)
            return with_window(
                window, images * i.nbatch, tuple(max(1, one) for one in output), groups, (1, 1)
            )

        further = [
            [of((rows, columns), 3, 2)],
            [of((rows - 1, columns - 1) if single else (2 * rows - 1, 3 * columns - 1), 1, 5, less)],
            [of((rows, 1) if single else (9 * rows + 2, 1), 1, 1, less)],
            [of((1, columns) if single else (1, 9 * columns + 2), 1, 1)],
            [of((1, 1), 1, 4098)],
            [of((1, 2), 258, 1, less)],
        ]
        beyond = (-1, -1) if single else (3, 1)
        usual = [of((rows + beyond[0], columns + beyond[1]), 2, 3, less)]
        return [usual, *drawn(i.key, further)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthwiseHeader(KernelHeader):
    """The values of one header."""

    literal_fields: ClassVar[tuple[str, ...]] = ("name", "key", "element", "in_vec", "out_vec", "traits")

    #: C++ type of the elements
    element: str
    ndim: int
    in_vec: int
    out_vec: int
    #: (what, value) of the traits' template arguments after the types
    traits: tuple[tuple[str, int], ...]
