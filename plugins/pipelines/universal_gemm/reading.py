"""From a record of a catalog to the kernel that it describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError
from ckprof_plugins.elementwise.operation import STORED_AS_IT_IS
from ckprof_plugins.operations.gemm.elementwise import (
    check_d_tensors,
    elementwise_op_named,
)
from ckprof_plugins.operations.gemm.layout import MatrixLayout
from ckprof_plugins.pipelines._gemm.record import tiled_fields
from ckprof_plugins.pipelines.universal_gemm.instance import (
    BatchedGemmInstance,
    MultiDGemmInstance,
    UniversalGemmInstance,
)
from ckprof_plugins.pipelines.universal_gemm.record import UniversalGemmRecord

if TYPE_CHECKING:
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType
    from ckprof_plugins.pipelines._gemm.instance import Extent


def instance_of(
    record: UniversalGemmRecord, layout: Layout, dtype: DataType, direction: str
) -> UniversalGemmInstance:
    """Return the instance that a record describes.

    :raises InputError: a value is unknown or out of range.
    """
    if not isinstance(layout, MatrixLayout):
        raise InputError(f"layout {layout.name} is not one of matrices")
    kind, further = _kind_of(record)
    return kind(
        **further,
        **tiled_fields(record),
        direction=direction,
        ndim=layout.ndim,
        layout=layout,
        dtype=dtype,
        **{f"pad_{axis}": getattr(record, f"pad_{axis}") for axis in "mnk"},
        persistent=record.persistent,
    )


def record_of(instance: UniversalGemmInstance) -> UniversalGemmRecord:
    """Return the record that describes an instance, with the id 0."""

    def sizes(prefix: str, extent: Extent) -> dict[str, int]:
        return {f"{prefix}_{axis}": size for axis, size in zip("mnk", extent.sizes, strict=True)}

    values: dict[str, Any] = {
        "id": 0,
        **sizes("tile", instance.tile),
        **sizes("warp", instance.wave_grid),
        **sizes("warp_tile", instance.mma_tile),
        "pipeline": instance.gemm_pipeline.value,
        "scheduler": instance.scheduler.value,
        "epilogue": instance.epilogue.value,
        **{f"pad_{axis}": pad for axis, pad in zip("mnk", instance.pads, strict=True)},
        "persistent": instance.persistent,
        **{f"vector_size_{name}": size for name, size in zip("abc", instance.vector_sizes, strict=True)},
    }
    if isinstance(instance, MultiDGemmInstance):
        values |= {"elementwise_op": instance.elementwise_op.value, "num_d_tensors": instance.num_d_tensors}
    elif isinstance(instance, BatchedGemmInstance):
        values["batched"] = True
    return UniversalGemmRecord(**values)


def _kind_of(record: UniversalGemmRecord) -> tuple[type[UniversalGemmInstance], dict[str, Any]]:
    """Return the type of the instance and the fields that only it has."""
    batched = record.batched is True
    if record.elementwise_op == STORED_AS_IT_IS:
        if record.num_d_tensors:
            raise InputError(
                f"num_d_tensors is {record.num_d_tensors}, but elementwise_op {STORED_AS_IT_IS} uses none"
            )
        return (BatchedGemmInstance, {"batched": True}) if batched else (UniversalGemmInstance, {})
    operation = elementwise_op_named(record.elementwise_op)
    if batched:
        raise InputError(
            f"elementwise_op is {operation.value} in a batched kernel: batches of products that are combined "
            "with D tensors are an unsupported family (unsupported-family)"
        )
    return MultiDGemmInstance, {
        "elementwise_op": operation,
        "num_d_tensors": check_d_tensors(record.num_d_tensors),
    }
