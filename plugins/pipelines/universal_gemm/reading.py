"""The records of catalogs of plain matrix products, and the kernels that they describe.

The order of a record's fields is the key order of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from ckprof.errors import InputError
from ckprof.model.catalog import CatalogRecord
from ckprof_plugins.elementwise.operation import STORED_AS_IT_IS
from ckprof_plugins.operations.gemm.problem import MatrixLayout, check_d_tensors, elementwise_op_named
from ckprof_plugins.pipelines.gemm_instance import tiled_fields, tiled_values
from ckprof_plugins.pipelines.rules import native_width
from ckprof_plugins.pipelines.universal_gemm.instance import (
    BatchedGemmInstance,
    MultiDGemmInstance,
    UniversalGemmInstance,
)
from ckprof_plugins.pipelines.vocabulary import GemmPipeline

if TYPE_CHECKING:
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType
    from ckprof.plugin.protocols import CatalogVariant
    from ckprof_plugins.pipelines.gemm_instance import Extent


#: catalog variant whose records these are
VARIANT: Final = "gemm"

Number = Annotated[int, msgspec.Meta(ge=0)]
Size = Annotated[int, msgspec.Meta(ge=1)]


class UniversalGemmRecord(CatalogRecord, frozen=True, forbid_unknown_fields=True, gc=False):
    """One kernel. ``warp_*`` is the grid of waves of a block, ``warp_tile_*`` the tile of one MMA.

    A vector size of 0 leaves it to the kernel; either all of them are 0 or none. A kernel of one product does
    not say that it is not batched.
    """

    id: Number
    tile_m: Size
    tile_n: Size
    tile_k: Size
    warp_m: Size
    warp_n: Size
    warp_k: Size
    warp_tile_m: Size
    warp_tile_n: Size
    warp_tile_k: Size
    pipeline: str
    scheduler: str
    epilogue: str
    pad_m: bool
    pad_n: bool
    pad_k: bool
    persistent: bool = False
    vector_size_a: Number = 0
    vector_size_b: Number = 0
    vector_size_c: Number = 0
    elementwise_op: str = "PassThrough"
    num_d_tensors: Number = 0
    batched: bool | msgspec.UnsetType = msgspec.UNSET


def catalog_variant() -> CatalogVariant:
    """Return the kind of catalogs that hold the records."""
    from ckprof.plugin.protocols import CatalogVariant
    from ckprof_plugins.operations.gemm.problem import GEMM_TYPES, LAYOUTS

    return CatalogVariant(
        name=VARIANT,
        direction="gemm",
        record_type=UniversalGemmRecord,
        pipeline="universal_gemm",
        layouts=LAYOUTS,
        dtypes=GEMM_TYPES,
        record_values=tiled_values,
    )


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


#: bytes of the widest access
_WIDEST: Final = 16


def native_vectors(instance: UniversalGemmInstance, lanes: int) -> tuple[int, int, int]:
    """Return the elements per access to A, B and E.

    A thread loads as much at once as the fast axis of the block tile and the thread's share of it are whole
    multiples of. The first GEMM pipeline loads single elements where an axis is padded, and else 16 bytes.

    :param lanes: of a wave.
    """
    threads = instance.waves * lanes
    element = instance.dtype.properties.size_bytes
    tile, layout = instance.tile, instance.layout
    # the fast axis of each operand's tile, its other axis, and whether padding narrows the first pipeline
    rows = tile.k, tile.m, instance.pad_k
    columns = tile.m, tile.k, instance.pad_m
    a = rows if layout.a == "MK" else columns
    # of B, it is the pad of the other axis that the first pipeline looks at
    b = (tile.n, tile.k, instance.pad_k) if layout.b == "KN" else (tile.k, tile.n, instance.pad_n)
    # where the fast axis is not that of the product, a thread's share bounds the access
    capped = layout.a != "MK", layout.b == "KN"
    loads = [
        _first_pipeline(fast * other // threads, padded, element, is_capped)
        if instance.gemm_pipeline is GemmPipeline.COMPV1
        else native_width(fast, fast * other // threads, element)
        for (fast, other, padded), is_capped in zip((a, b), capped, strict=True)
    ]
    result = instance.types.result.properties.size_bytes
    store = min(instance.mma_tile.n * instance.wave_grid.n, _WIDEST // result)
    return loads[0], loads[1], store


def _first_pipeline(share: int, padded: bool, element: int, capped: bool) -> int:
    if padded:
        return 1
    widest = _WIDEST // element
    return min(widest, max(share, 1)) if capped else widest
