"""The kernels of plain matrix products, with their lists, catalogs and rule set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the family and what reads and enumerates its instances."""
    from ckprof.model.strings.kind import StringKind
    from ckprof.plugin.protocols import CatalogVariant, Pipeline, RuleSet
    from ckprof_converters.conf_family import ConfFamily

    registry.add_lazy(Pipeline, "ckprof_plugins.pipelines.universal_gemm.pipeline:UniversalGemmPipeline")
    registry.add_lazy(CatalogVariant, "ckprof_plugins.pipelines.universal_gemm.reading:catalog_variant")
    registry.add_lazy(StringKind, "ckprof_plugins.pipelines.universal_gemm.old_strings:KIND")
    registry.add_lazy(ConfFamily, "ckprof_plugins.pipelines.universal_gemm.conf_families:FAMILIES")
    registry.add_lazy(RuleSet, "ckprof_plugins.pipelines.universal_gemm.rule_set:GemmRuleSet")
