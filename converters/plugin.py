"""The hooks of the list converters: converters, line families, catalog variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof import hookimpl
from ckprof.plugin.protocols import CatalogVariant
from ckprof_converters.records import DepthwiseRecord, GemmRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Converter
    from ckprof_converters.family import ConfFamily

VARIANTS: Final = (
    CatalogVariant(name="forward", direction="fwd", record_type=GemmRecord),
    CatalogVariant(name="forward_depthwise", direction="fwd", record_type=DepthwiseRecord),
    CatalogVariant(name="bwd_data", direction="bwd_data", record_type=GemmRecord),
    CatalogVariant(name="bwd_weight", direction="bwd_weight", record_type=GemmRecord),
)


@hookimpl
def ckprof_register_converters() -> Sequence[Converter]:
    """Offer the converter of instance lists; the registry gives it the families of all plugins."""
    from ckprof_converters.converter import ConfConverter

    return [ConfConverter()]


@hookimpl
def ckprof_register_conf_families() -> Sequence[ConfFamily]:
    """Offer the families of Composable Kernel's own lists."""
    from ckprof_converters.families import FAMILIES

    return FAMILIES


@hookimpl
def ckprof_register_catalog_variants() -> Sequence[CatalogVariant]:
    """Offer the catalogs of all directions."""
    return VARIANTS
