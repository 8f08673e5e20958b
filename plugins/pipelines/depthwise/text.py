"""Name and instance string of a depthwise kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof_plugins.pipelines.depthwise.instance import BLOCK_SIZE
from ckprof_plugins.pipelines.kernel_family.operation import OPERATIONS

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.depthwise.instance import DepthwiseInstance

_ACCUMULATOR = "fp32"


def kernel_name(instance: DepthwiseInstance) -> str:
    """Return the name of an instance's kernel, a C++ identifier. Every part is always present."""
    i = instance
    return (
        f"grouped_conv_{i.direction}_depthwise_{i.dtype.value}_{i.layout.name}_{i.ndim}d_{i.tile_h}x{i.tile_w}"
        f"_f{i.filt}_s{i.str_h}x{i.str_w}_p{i.pad_h}x{i.pad_w}_nb{i.nbatch}_sub{i.sub_h}x{i.sub_w}"
        f"_vec{i.in_vec}_{i.out_vec}"
    )


def instance_string(instance: DepthwiseInstance) -> str:
    """Return CK Builder's text: the kernel class and 20 fields. Layout and pads are not among them."""
    i = instance
    dtype = i.dtype.value
    fields = (
        *(i.ndim, "Default", "Depthwise", i.in_vec, i.in_vec, i.out_vec, BLOCK_SIZE, i.tile_h, i.tile_w),
        *(i.filt, i.filt, i.str_h, i.str_w, i.nbatch, i.sub_h, i.sub_w, dtype, dtype, _ACCUMULATOR, dtype),
    )
    return f"{OPERATIONS[i.direction].kernel_class}<{','.join(map(str, fields))}>"
