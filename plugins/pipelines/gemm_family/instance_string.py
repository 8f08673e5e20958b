"""CK Builder's text for a GEMM kernel: what ``GetInstanceString()`` of the built kernel says.

The text is put together here from the instance alone, so that it can be compared with what the kernel says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof_plugins.pipelines.kernel_family.operation import OPERATIONS

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.gemm_family.instance import GemmInstance

#: How the text spells an empty list of further tensors, and the operation on the result.
_NO_TENSORS = "EmptyTuple"
_ELEMENT_OPERATION = "PassThrough"
_ACCUMULATOR = "fp32"

#: Directions whose text says at its end whether the kernel is stream-K.
_TELLS_STREAM_K = frozenset({"bwd_weight"})


def gemm_instance_string(
    instance: GemmInstance, *, result_type: str | None = None, stream_k: tuple[int, ...] = (0,)
) -> str:
    """Return the text: the kernel class and its fields, separated by commas without spaces.

    There are 31 fields, and for backward weight the stream-K fields behind them.

    :param result_type: what the kernel itself stores; ``None`` for the type of the tensors.
    :param stream_k: 0, or 1 with the number of the reduction strategy and the persistence.
    :raises InputError: the instance's direction has no such text.
    """
    operation = OPERATIONS.get(instance.direction)
    if operation is None:
        raise InputError(f"direction is {instance.direction!r}, expected one of {', '.join(OPERATIONS)}")
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
        result_type or dtype,
        _NO_TENSORS,
        _ELEMENT_OPERATION,
        *(stream_k if instance.direction in _TELLS_STREAM_K else ()),
    )
    return f"{operation.kernel_class}<{','.join(map(str, fields))}>"
