"""The store formats that ship with ckprof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register NDJSON."""
    from ckprof.plugin.protocols import StoreFormat

    registry.add_lazy(StoreFormat, "ckprof.store.shard:FORMAT")
