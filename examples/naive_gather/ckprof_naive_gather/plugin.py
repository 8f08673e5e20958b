"""The hooks; named in the entry point group ``ckprof`` of the package."""

from __future__ import annotations

from ckprof import hookimpl
from ckprof.model.strings.kind import StringKind
from ckprof.plugin.protocols import CatalogVariant
from ckprof_naive_gather.pipeline import NaiveGatherPipeline
from ckprof_naive_gather.record import DTYPES, FAMILY, STRINGS, VARIANT, NaiveGatherRecord
from ckprof_plugins.directions._convolution.layout import LAYOUTS


@hookimpl
def ckprof_register_pipelines() -> list[NaiveGatherPipeline]:
    """Add the family."""
    return [NaiveGatherPipeline()]


@hookimpl
def ckprof_register_catalog_variants() -> list[CatalogVariant]:
    """Add the kind of catalogs that hold its instances."""
    return [
        CatalogVariant(
            name=VARIANT,
            direction="fwd",
            record_type=NaiveGatherRecord,
            pipeline=NaiveGatherPipeline.id,
            layouts=LAYOUTS,
            dtypes=DTYPES,
        )
    ]


@hookimpl
def ckprof_register_conf_families() -> list[object]:
    """Add the grammar of its conf lines."""
    return [FAMILY]


@hookimpl
def ckprof_register_string_kinds() -> list[StringKind]:
    """Add the strings that its kernels print, so that ``ckprof parity`` can compare them."""
    return [STRINGS]
