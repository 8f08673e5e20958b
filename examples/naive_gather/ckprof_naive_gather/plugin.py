"""What the package registers; named in the entry point group ``ckprof`` of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof.plugin.protocols import CatalogVariant
from ckprof_naive_gather.pipeline import NaiveGatherPipeline
from ckprof_naive_gather.record import DTYPES, FAMILY, STRINGS, VARIANT, NaiveGatherRecord
from ckprof_plugins.directions._convolution.layout import LAYOUTS

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the family, its catalogs, its list lines, and the strings that parity compares."""
    registry.add(
        NaiveGatherPipeline(),
        CatalogVariant(
            name=VARIANT,
            direction="fwd",
            record_type=NaiveGatherRecord,
            pipeline=NaiveGatherPipeline.id,
            layouts=LAYOUTS,
            dtypes=DTYPES,
        ),
        FAMILY,
        STRINGS,
    )
