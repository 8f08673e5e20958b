"""What the package registers; named in the entry point group ``ckprof`` of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof.plugin.protocols import CatalogVariant
from ckprof_row_softmax.operation import RowSoftmax
from ckprof_row_softmax.pipeline import RowSoftmaxPipeline
from ckprof_row_softmax.problem import LAYOUTS
from ckprof_row_softmax.record import FAMILY, STRINGS, VARIANT, RowSoftmaxRecord

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the operation, and a kernel family for it with its catalogs, list lines and strings."""
    registry.add(
        RowSoftmax(),
        RowSoftmaxPipeline(),
        CatalogVariant(
            name=VARIANT,
            direction=RowSoftmax.id,
            record_type=RowSoftmaxRecord,
            pipeline=RowSoftmaxPipeline.id,
            layouts=LAYOUTS,
        ),
        FAMILY,
        STRINGS,
    )
