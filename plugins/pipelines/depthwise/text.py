"""Name and instance string of a depthwise kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.strings.rendering import render
from ckprof_plugins.directions.string_kinds import DEPTHWISE
from ckprof_plugins.pipelines.depthwise.instance import BLOCK_SIZE

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.depthwise.instance import DepthwiseInstance

#: fields of the text that the instance calls the same
_SAME_NAME = (
    *("ndim", "in_vec", "out_vec", "tile_h", "tile_w", "str_h", "str_w"),
    *("nbatch", "sub_h", "sub_w"),
)


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
