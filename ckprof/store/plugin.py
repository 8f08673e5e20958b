"""The store formats that ship with ckprof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.protocols import StoreFormat


@hookimpl
def ckprof_register_store_formats() -> list[StoreFormat]:
    """Enter run reports, NDJSON, Parquet and T4."""
    from ckprof.store import shard
    from ckprof.store.formats import parquet, run_json, t4

    return [module.FORMAT for module in (shard, parquet, run_json, t4)]
