"""CK Builder's text for an implicit-GEMM kernel: what ``GetInstanceString()`` of the built kernel says.

The text is put together here from the instance alone, so that it can be compared with what the kernel says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import InputError

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.implicit_gemm.instance import ImplicitGemmInstance

#: Kernel class of each direction whose text has the 31 fields below.
_KERNEL_CLASSES = {
    "fwd": "GroupedConvolutionForwardKernel",
    "bwd_data": "GroupedConvolutionBackwardDataKernel",
}

#: How the text spells an empty list of further tensors, and the operation on the result.
_NO_TENSORS = "EmptyTuple"
_ELEMENT_OPERATION = "PassThrough"
_ACCUMULATOR = "fp32"


def instance_string(instance: ImplicitGemmInstance) -> str:
    """Return the text: the kernel class and its 31 fields, separated by commas without spaces.

    :raises InputError: the instance's direction has no such text.
    """
    if instance.direction not in _KERNEL_CLASSES:
        known = ", ".join(_KERNEL_CLASSES)
        raise InputError(f"direction is {instance.direction!r}, expected one of {known}")
    dtype = instance.dtype.value
    fields = (
        instance.ndim,
        instance.specialization.enumerator,
        instance.layout.input,
        instance.layout.weight,
        _NO_TENSORS,
        instance.layout.output,
        *instance.vector_sizes,
        instance.num_groups_to_merge,
        int(instance.split_image),
        int(instance.explicit_gemm),
        *instance.tile.sizes,
        *instance.wave_grid.sizes,
        *instance.mma_tile.sizes,
        dtype,
        dtype,
        instance.gemm_pipeline.facts.enumerator,
        instance.scheduler.enumerator,
        int(instance.double_smem_buffer),
        instance.num_wave_groups,
        _ACCUMULATOR,
        dtype,
        _NO_TENSORS,
        _ELEMENT_OPERATION,
    )
    return f"{_KERNEL_CLASSES[instance.direction]}<{','.join(map(str, fields))}>"
