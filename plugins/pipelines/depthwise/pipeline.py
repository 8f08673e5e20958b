"""The depthwise family: what its kernels are, and what their headers show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.model.gemm_work import KernelTraits, Schedule
from ckprof.model.strings.rendering import render
from ckprof.version import __version__
from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.directions._convolution.string_kinds import DEPTHWISE
from ckprof_plugins.pipelines._base.base_pipeline import (
    KernelFamily,
    KernelHeader,
    includes,
    split_k_requirements,
)
from ckprof_plugins.pipelines.depthwise.instance import BLOCK_SIZE, DILATION, SIZES, DepthwiseInstance
from ckprof_plugins.pipelines.depthwise.validity import DEPTHWISE_RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.catalog import Catalog
    from ckprof.model.instance import Instance
    from ckprof_converters.records import DepthwiseRecord
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.pipelines._base.base_pipeline import HeaderRequest

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


class DepthwisePipeline(KernelFamily["DepthwiseRecord", DepthwiseInstance]):
    """Convolutions with one channel per group, computed directly on tiles of the image."""

    id = DepthwiseInstance.pipeline
    label = "depthwise: one channel per group, tiles of the image in local memory"
    kernels = frozenset({ConvKernel.FORWARD})
    instance_type = DepthwiseInstance
    rules = DEPTHWISE_RULES

    def read_record(self, catalog: Catalog, direction: str, record: DepthwiseRecord) -> DepthwiseInstance:
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

    def name_of(self, instance: DepthwiseInstance) -> str:
        """Return the name of the instance's kernel. Every part is always present."""
        i = instance
        return (
            f"grouped_conv_{i.direction}_depthwise_{i.dtype.value}_{i.layout.name}_{i.ndim}d_{i.tile_h}x{i.tile_w}"
            f"_f{i.filt}_s{i.str_h}x{i.str_w}_p{i.pad_h}x{i.pad_w}_nb{i.nbatch}_sub{i.sub_h}x{i.sub_w}"
            f"_vec{i.in_vec}_{i.out_vec}"
        )

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of the kernel of an instance with these fields depends on."""
        filt, patch = fields["filt"], f"{fields['sub_h']}x{fields['sub_w']}"
        return KernelTraits(
            tile=(fields["tile_h"], fields["tile_w"], fields["nbatch"]),
            schedule=Schedule.WINDOW,
            labels=(f"{filt}x{filt}", patch, f"{fields['in_vec']},{fields['out_vec']}"),
        )

    def string_of(self, instance: DepthwiseInstance) -> str:
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

    def header_of(self, instance: DepthwiseInstance, request: HeaderRequest) -> DepthwiseHeader:
        """Return what the template shows; it does not record the architecture."""
        i = instance
        operation = request.operation
        return DepthwiseHeader(
            version=__version__,
            name=request.name,
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

    def default_problem(self, instance: Instance, usual: Convolution) -> Convolution:
        """Return a problem with the filter, strides and pads that the instance is made for.

        Where the kernel computes tiles of several images at once, an output must not exceed a tile.
        """
        i = self.checked(instance)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthwiseHeader(KernelHeader):
    """The values of one header."""

    template: ClassVar[tuple[str, str]] = (__package__, "depthwise.hpp.j2")
    literal_fields: ClassVar[tuple[str, ...]] = ("name", "key", "element", "in_vec", "out_vec", "traits")

    #: C++ type of the elements
    element: str
    ndim: int
    in_vec: int
    out_vec: int
    #: (what, value) of the traits' template arguments after the types
    traits: tuple[tuple[str, int], ...]
