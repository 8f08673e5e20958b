"""Measurements that last: the record types, the SQLite store, shards, import and export."""
