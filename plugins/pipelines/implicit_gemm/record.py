"""From a catalog record to an instance.

The record type belongs to the catalogs; only its attributes are read here, by the names of the catalog keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError
from ckprof_plugins.pipelines.implicit_gemm.instance import Extent, ImplicitGemmInstance
from ckprof_plugins.pipelines.implicit_gemm.vocabulary import (
    GEMM_PIPELINE_ALIASES,
    Epilogue,
    GemmPipeline,
    Scheduler,
    Specialization,
    parse,
)

if TYPE_CHECKING:
    from ckprof.model.catalog import Catalog


def instance_of_record(catalog: Catalog, direction: str, record: Any) -> ImplicitGemmInstance:
    """Return the instance that one record of a catalog describes.

    :raises InputError: a value is unknown, out of range or contradicts another one.
    """
    try:
        return _instance(catalog, direction, record)
    except InputError as error:
        raise InputError(f"instance {record.id}: {error.message}") from None


def _instance(catalog: Catalog, direction: str, record: Any) -> ImplicitGemmInstance:
    # A record of this family has no use for these; dropping them would hide what its author meant.
    for field in ("streamk_reduction_strategy", "streamk_persistent"):
        value = getattr(record, field)
        if value:
            raise InputError(f"{field} is {value!r} while streamk_enabled is false")
    return ImplicitGemmInstance(
        id=record.id,
        direction=direction,
        ndim=catalog.ndim,
        layout=catalog.layout,
        dtype=catalog.dtype,
        tile=_extent(record, "tile"),
        wave_grid=_extent(record, "warp"),
        mma_tile=_extent(record, "warp_tile"),
        vector_size_a=record.vector_size_a,
        vector_size_b=record.vector_size_b,
        vector_size_c=record.vector_size_c,
        gemm_pipeline=parse(GemmPipeline, "pipeline", record.pipeline, GEMM_PIPELINE_ALIASES),
        scheduler=parse(Scheduler, "scheduler", record.scheduler),
        epilogue=parse(Epilogue, "epilogue", record.epilogue),
        double_smem_buffer=record.double_smem_buffer,
        num_groups_to_merge=record.num_groups_to_merge,
        num_wave_groups=record.num_wave_groups,
        specialization=parse(Specialization, "specialization", record.specialization),
        explicit_gemm=record.explicit_gemm,
        split_image=record.split_image,
    )


def _extent(record: Any, prefix: str) -> Extent:
    sizes = {}
    for axis in "mnk":
        field = f"{prefix}_{axis}"
        size = getattr(record, field)
        if size < 1:
            raise InputError(f"{field} is {size}, expected 1 or more")
        sizes[axis] = size
    return Extent(**sizes)
