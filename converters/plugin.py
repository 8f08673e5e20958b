"""The hooks of the list converters: converters, line families, catalog variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof import hookimpl
from ckprof.plugin.protocols import CatalogVariant
from ckprof_converters.records import DepthwiseRecord, GemmRecord
from ckprof_plugins.directions._convolution.layout import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.catalog import Catalog
    from ckprof.model.strings.kind import StringKind
    from ckprof.plugin.protocols import BuilderReader, Converter
    from ckprof_converters.conf_family import ConfFamily


def _native(catalog: Catalog) -> Sequence[str]:
    from ckprof_converters.native import to_native

    return to_native(catalog)


def _gemm_pipeline(record: GemmRecord) -> str:
    """Return the kernel family of a record; stream-K decides what is emitted, as upstream has it."""
    if record.streamk_enabled:
        return "stream_k"
    return "two_stage" if record.two_stage else "implicit_gemm"


VARIANTS: Final = tuple(
    CatalogVariant(
        name=name,
        direction=direction,
        record_type=record_type,
        pipeline=pipeline,
        pipeline_of=None if pipeline else _gemm_pipeline,
        layouts=LAYOUTS,
        native=_native,
    )
    for name, direction, record_type, pipeline in (
        ("forward", "fwd", GemmRecord, ""),
        ("forward_depthwise", "fwd", DepthwiseRecord, "depthwise"),
        ("bwd_data", "bwd_data", GemmRecord, ""),
        ("bwd_weight", "bwd_weight", GemmRecord, ""),
    )
)


@hookimpl
def ckprof_register_converters() -> Sequence[Converter]:
    """Entry the converter of instance lists; the registry gives it the families of all plugins."""
    from ckprof_converters.converter import ConfConverter

    return [ConfConverter()]


@hookimpl
def ckprof_register_builder_readers() -> Sequence[BuilderReader]:
    """Entry the second reading of the same lists: what CK Builder makes of them."""
    from ckprof_converters.builder.reader import BuilderReader

    return [BuilderReader()]


@hookimpl
def ckprof_register_string_kinds() -> Sequence[StringKind]:
    """Entry the instance strings of the old library."""
    from ckprof_converters.old_strings import KINDS

    return KINDS


@hookimpl
def ckprof_register_conf_families() -> Sequence[ConfFamily]:
    """Entry the families of Composable Kernel's own lists."""
    from ckprof_converters.families import FAMILIES

    return FAMILIES


@hookimpl
def ckprof_register_catalog_variants() -> Sequence[CatalogVariant]:
    """Entry the catalogs of all directions."""
    return VARIANTS
