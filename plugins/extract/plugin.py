"""The extractors of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register what reads installed libraries, and what CK Builder prints."""
    from ckprof.plugin.protocols import ListExtractor

    registry.add_lazy(ListExtractor, "ckprof_plugins.extract.extractors:LibraryExtractor")
    registry.add_lazy(ListExtractor, "ckprof_plugins.extract.extractors:BuilderExtractor")
