"""Measurements that last: the record types, the SQLite store, shards, import and export."""

from __future__ import annotations

from typing import Final

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = ("ckprof.store.plugin",)
