"""The hooks; named in the entry point group ``ckprof`` of the package."""

from __future__ import annotations

from ckprof import hookimpl
from ckprof.model.strings.kind import StringKind
from ckprof.plugin.protocols import CatalogVariant
from ckprof_row_softmax.operation import RowSoftmax
from ckprof_row_softmax.pipeline import RowSoftmaxPipeline
from ckprof_row_softmax.problem import LAYOUTS
from ckprof_row_softmax.record import FAMILY, STRINGS, VARIANT, RowSoftmaxRecord


@hookimpl
def ckprof_register_operations() -> list[RowSoftmax]:
    """Add the operation."""
    return [RowSoftmax()]


@hookimpl
def ckprof_register_pipelines() -> list[RowSoftmaxPipeline]:
    """Add a kernel family for it."""
    return [RowSoftmaxPipeline()]


@hookimpl
def ckprof_register_catalog_variants() -> list[CatalogVariant]:
    """Add the kind of catalogs that hold its instances."""
    return [
        CatalogVariant(
            name=VARIANT,
            direction=RowSoftmax.id,
            record_type=RowSoftmaxRecord,
            pipeline=RowSoftmaxPipeline.id,
            layouts=LAYOUTS,
        )
    ]


@hookimpl
def ckprof_register_conf_families() -> list[object]:
    """Add the grammar of its list lines."""
    return [FAMILY]


@hookimpl
def ckprof_register_string_kinds() -> list[StringKind]:
    """Add the strings that its kernels print, so that ``ckprof parity`` can compare them."""
    return [STRINGS]
