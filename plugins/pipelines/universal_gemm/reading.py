"""From a record of a catalog to the kernel that it describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof_plugins.operations.gemm.layout import MatrixLayout
from ckprof_plugins.pipelines._gemm.instance import Extent
from ckprof_plugins.pipelines._gemm.vocabulary import (
    GEMM_PIPELINE_ALIASES,
    Epilogue,
    GemmPipeline,
    Scheduler,
    parse,
)
from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance

if TYPE_CHECKING:
    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout
    from ckprof_plugins.pipelines.universal_gemm.record import UniversalGemmRecord


def instance_of(
    record: UniversalGemmRecord, layout: Layout, dtype: DataType, direction: str
) -> UniversalGemmInstance:
    """Return the instance that a record describes.

    :raises InputError: a value is unknown or out of range.
    """
    if record.num_d_tensors or record.elementwise_op != "PassThrough":
        raise InputError(
            f"elementwise_op is {record.elementwise_op} with {record.num_d_tensors} D tensors: this family "
            "multiplies two matrices and nothing else (unsupported-family)"
        )

    if not isinstance(layout, MatrixLayout):
        raise InputError(f"layout {layout.name} is not one of matrices")

    def extent(prefix: str) -> Extent:
        return Extent(**{axis: getattr(record, f"{prefix}_{axis}") for axis in "mnk"})

    return UniversalGemmInstance(
        id=record.id,
        direction=direction,
        ndim=layout.ndim,
        layout=layout,
        dtype=dtype,
        tile=extent("tile"),
        wave_grid=extent("warp"),
        mma_tile=extent("warp_tile"),
        gemm_pipeline=parse(GemmPipeline, "pipeline", record.pipeline, GEMM_PIPELINE_ALIASES),
        scheduler=parse(Scheduler, "scheduler", record.scheduler),
        epilogue=parse(Epilogue, "epilogue", record.epilogue),
        pad_m=record.pad_m,
        pad_n=record.pad_n,
        pad_k=record.pad_k,
        persistent=record.persistent,
        vector_size_a=record.vector_size_a,
        vector_size_b=record.vector_size_b,
        vector_size_c=record.vector_size_c,
    )
