"""From a catalog record to the fields that all GEMM instances have.

The record type belongs to the catalogs; only its attributes are read here, by the names of the catalog keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError
from ckprof.model.types import ComputeType, DataType
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.pipelines.gemm_instance import Extent
from ckprof_plugins.pipelines.vocabulary import (
    GEMM_PIPELINE_ALIASES,
    Epilogue,
    GemmPipeline,
    Scheduler,
    Specialization,
    parse,
)

if TYPE_CHECKING:
    from ckprof.model.catalog import Catalog
    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.pipelines.universal_gemm.reading import UniversalGemmRecord


def gemm_fields(catalog: Catalog, direction: str, record: GemmRecord) -> dict[str, Any]:
    """Return the arguments of :class:`GemmInstance` that one record of a catalog describes.

    :raises InputError: a value is unknown or out of range.
    """
    return {
        **tiled_fields(record),
        "direction": direction,
        "ndim": catalog.ndim,
        "layout": catalog.layout,
        "dtype": catalog.dtype,
        "double_smem_buffer": record.double_smem_buffer,
        "num_groups_to_merge": record.num_groups_to_merge,
        "num_wave_groups": record.num_wave_groups,
        "specialization": parse(Specialization, "specialization", record.specialization),
        "explicit_gemm": record.explicit_gemm,
        "split_image": record.split_image,
        "compute_type": _compute_type(record.compute_type, catalog.dtype),
        "elementwise_op": ElementwiseOp.parse(record.elementwise_op) if record.elementwise_op else None,
        "d_layouts": record.d_layouts,
        "dtype_b": _type("dtype_b", record.dtype_b),
        "dtype_result": _type("dtype_result", record.dtype_result),
        "d_dtypes": record.d_dtypes,
        "fold_stride": record.fold_stride or None,
    }


def tiled_fields(record: GemmRecord | UniversalGemmRecord) -> dict[str, Any]:
    """Return what records of convolutions and of plain matrix products say alike.

    :raises InputError: a value is unknown or out of range.
    """
    return {
        "id": record.id,
        "tile": _extent(record, "tile"),
        "wave_grid": _extent(record, "warp"),
        "mma_tile": _extent(record, "warp_tile"),
        **{f"vector_size_{name}": getattr(record, f"vector_size_{name}") for name in "abc"},
        "gemm_pipeline": parse(GemmPipeline, "pipeline", record.pipeline, GEMM_PIPELINE_ALIASES),
        "scheduler": parse(Scheduler, "scheduler", record.scheduler),
        "epilogue": parse(Epilogue, "epilogue", record.epilogue),
    }


def _compute_type(text: str | None, dtype: DataType) -> ComputeType | None:
    """Return what a record asks for; the operands' own type is the same as nothing."""
    if text in (None, dtype.value):
        return None
    return parse(ComputeType, "compute_type", text)


def _type(field: str, text: str | None) -> DataType | None:
    return None if text is None else parse(DataType, field, text)


def _extent(record: GemmRecord | UniversalGemmRecord, prefix: str) -> Extent:
    sizes = {}
    for axis in "mnk":
        field = f"{prefix}_{axis}"
        size = getattr(record, field)
        if size < 1:
            raise InputError(f"{field} is {size}, expected 1 or more")
        sizes[axis] = size
    return Extent(**sizes)
