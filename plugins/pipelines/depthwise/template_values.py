"""What the header of a depthwise kernel shows, as plain strings and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ckprof.version import __version__
from ckprof_plugins.pipelines._base.template_values import KernelHeader, includes, split_k_requirements
from ckprof_plugins.pipelines.depthwise.instance import BLOCK_SIZE, DILATION

if TYPE_CHECKING:
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest
    from ckprof_plugins.pipelines.depthwise.instance import DepthwiseInstance


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthwiseHeader(KernelHeader):
    """The values of one header."""

    literal_fields: ClassVar[tuple[str, ...]] = ("name", "key", "element", "in_vec", "out_vec", "traits")

    #: C++ type of the elements
    element: str
    ndim: int
    in_vec: int
    out_vec: int
    #: (what, value) of the traits' template arguments behind the types
    traits: tuple[tuple[str, int], ...]


def depthwise_header(instance: DepthwiseInstance, request: HeaderRequest, variant: str) -> DepthwiseHeader:
    """Return the values of an instance's header.

    :param variant: catalog variant, for the comment on top.
    """
    i = instance
    operation = request.operation
    return DepthwiseHeader(
        version=__version__,
        name=request.name,
        key=i.key,
        variant=variant,
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
