"""Readers of legacy instance lists; they reach ckprof through the registry alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.catalog import Catalog
    from ckprof.plugin.additions import Additions
    from ckprof.plugin.protocols import CatalogVariant
    from ckprof_converters.records import GemmRecord

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = ("ckprof_converters",)


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the readers of lists, the families of lines that two of them know, and what lists become."""
    from ckprof.model.strings.kind import StringKind
    from ckprof.plugin.protocols import BuilderReader, CatalogVariant, Converter
    from ckprof_converters.conf_family import CONF_FAMILIES, ConfFamily

    registry.add(CONF_FAMILIES)
    registry.add_lazy(ConfFamily, "ckprof_converters.families:FAMILIES")
    registry.add_lazy(Converter, "ckprof_converters.converter:ConfConverter")
    registry.add_lazy(Converter, "ckprof_converters.json_lists:ExportedInstances")
    registry.add_lazy(Converter, "ckprof_converters.json_lists:DispatcherCatalogs")
    registry.add_lazy(BuilderReader, "ckprof_converters.builder.reader:BuilderReader")
    registry.add_lazy(StringKind, "ckprof_converters.old_strings:KINDS")
    registry.add_lazy(CatalogVariant, "ckprof_converters:catalog_variants")


def catalog_variants() -> tuple[CatalogVariant, ...]:
    """Return the kinds of catalogs of all directions."""
    from ckprof.plugin.protocols import CatalogVariant
    from ckprof_converters.records import DepthwiseRecord, GemmRecord, record_values
    from ckprof_plugins.directions._convolution.layout import LAYOUTS

    return tuple(
        CatalogVariant(
            name=name,
            direction=direction,
            record_type=record_type,
            pipeline=pipeline,
            pipeline_of=None if pipeline else _gemm_pipeline,
            layouts=LAYOUTS,
            native=_native,
            record_values=None if pipeline else record_values,
        )
        for name, direction, record_type, pipeline in (
            ("forward", "fwd", GemmRecord, ""),
            ("forward_depthwise", "fwd", DepthwiseRecord, "depthwise"),
            ("bwd_data", "bwd_data", GemmRecord, ""),
            ("bwd_weight", "bwd_weight", GemmRecord, ""),
        )
    )


def _gemm_pipeline(record: GemmRecord) -> str:
    """Return the kernel family of a record; stream-K decides what is emitted, as upstream has it."""
    if record.streamk_enabled:
        return "stream_k"
    return "two_stage" if record.two_stage else "implicit_gemm"


def _native(catalog: Catalog) -> Sequence[str]:
    from ckprof_converters.native import to_native

    return to_native(catalog)
