"""Extractors of lists as a kind of objects, of what reads installed libraries and what CK Builder prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof_plugins.extract.protocols import EXTRACTORS, ListExtractor

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the kind and its objects."""
    registry.add(EXTRACTORS)
    registry.add_lazy(
        ListExtractor,
        "ckprof_plugins.extract.extractors:LibraryExtractor",
        "ckprof_plugins.extract.extractors:BuilderExtractor",
    )
