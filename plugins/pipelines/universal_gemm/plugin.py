"""Announces the kernels of plain matrix products and their catalogs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.strings.kind import StringKind
    from ckprof.plugin.protocols import CatalogVariant, Pipeline, RuleSet
    from ckprof_converters.conf_family import ConfFamily
    from ckprof_plugins.pipelines.universal_gemm.record import UniversalGemmRecord


@hookimpl
def ckprof_register_pipelines() -> Sequence[Pipeline[UniversalGemmRecord]]:
    """Add the family."""
    from ckprof_plugins.pipelines.universal_gemm.pipeline import UniversalGemmPipeline

    return [UniversalGemmPipeline()]


@hookimpl
def ckprof_register_catalog_variants() -> Sequence[CatalogVariant]:
    """Add its catalogs."""
    from ckprof.plugin.protocols import CatalogVariant
    from ckprof_plugins.operations.gemm.problem import GEMM_TYPES, LAYOUTS
    from ckprof_plugins.pipelines.universal_gemm.record import VARIANT, UniversalGemmRecord

    return [
        CatalogVariant(
            name=VARIANT,
            direction="gemm",
            record_type=UniversalGemmRecord,
            pipeline="universal_gemm",
            layouts=LAYOUTS,
            dtypes=GEMM_TYPES,
        )
    ]


@hookimpl
def ckprof_register_string_kinds() -> Sequence[StringKind]:
    """Add what the old library prints, which is compared with names of kernels."""
    from ckprof_plugins.pipelines.universal_gemm.old_strings import KIND

    return [KIND]


@hookimpl
def ckprof_register_conf_families() -> Sequence[ConfFamily]:
    """Add the lines of the old library's lists."""
    from ckprof_plugins.pipelines.universal_gemm.conf_families import FAMILIES

    return FAMILIES


@hookimpl
def ckprof_register_rule_sets() -> Sequence[RuleSet]:
    """Add the dispatcher's default configuration."""
    from ckprof_plugins.pipelines.universal_gemm.rule_set import GemmRuleSet

    return [GemmRuleSet()]
