"""The store formats that ship with ckprof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl

if TYPE_CHECKING:
    from ckprof.store.format import StoreFormat


@hookimpl
def ckprof_register_store_formats() -> list[StoreFormat]:
    """Enter CSV of CK Tile's sweep, run reports, NDJSON, Parquet and T4."""
    from ckprof.store.formats import ndjson, parquet, run_json, t4, upstream_csv

    return [module.FORMAT for module in (ndjson, parquet, run_json, t4, upstream_csv)]
