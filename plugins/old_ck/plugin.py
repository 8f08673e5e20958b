"""The kernel family of the old library, the reader of its lines, and its catalogs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register them, where it is known what the library calls its classes."""
    from ckprof.plugin.protocols import CatalogVariant, Converter, Pipeline

    if find_spec("ckprof_plugins.extract") is not None:
        registry.add_lazy(Pipeline, "ckprof_plugins.old_ck.family:OldCkFamily")
        registry.add_lazy(Converter, "ckprof_plugins.old_ck.lines:OldLines")
        registry.add_lazy(CatalogVariant, "ckprof_plugins.old_ck.lines:catalog_variants")
