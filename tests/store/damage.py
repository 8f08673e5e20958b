"""Damaging stores in every way that disks, copies and hands do, by a seed."""

import random
import shutil
import sqlite3
from contextlib import suppress

from ckprof.store.row_types import ROW_TYPES, columns_of
from ckprof.store.writer import StoreWriter

#: what cells are given: of wrong types, outside of limits, no JSON, no UTF-8, other rows' numbers
HOSTILE = (
    *(None, 0, -1, -7, 1, 2, 3, 99_999_999, 2**62, -(2**63), 1.5, -2.5, 1e300, 1e-300, 0.0),
    *(float("inf"), float("-inf"), "", "ok", "okay", "unsupported", "{", "[]", "{}", "null", '"x"', "1e999"),
    *('{"direction": 3}', '{"process": "x", "scale": []}', "[" * 3000, "not_launched", "nan", "\x00\x07"),
    *(b"", b"\xff\xfe\x00", b"n\x04garbage", "x" * 5000, "\u202e<script>", f'{{"memory_bytes": {2**80}}}'),
)
_TRIGGERS = (
    "CREATE TRIGGER t1 AFTER INSERT ON attempts BEGIN DELETE FROM samples; END",
    "CREATE TRIGGER t2 BEFORE UPDATE ON measurements BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE TRIGGER t3 AFTER INSERT ON texts BEGIN UPDATE attempts SET time_ms = 1; END",
)
SCHEMA = (
    *_TRIGGERS,
    "DROP VIEW outcomes",
    "CREATE VIEW more AS SELECT * FROM nothing",
    "CREATE TABLE further (id INTEGER)",
    "DROP INDEX attempts_by_measurement",
    "DROP TABLE meta",
    "DROP TABLE samples",
    "ALTER TABLE attempts DROP COLUMN load",
    "ALTER TABLE methods RENAME TO ways",
    "ALTER TABLE methods RENAME TO ways; CREATE VIEW methods AS "
    "WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c) "
    "SELECT id, '{}' AS body, 0 AS digest FROM c",
    "PRAGMA user_version = 0",
    "PRAGMA user_version = -1",
    "PRAGMA user_version = 77",
    "PRAGMA application_id = 5",
)


def damage(path, seed):
    """Damage a store that no process has open; return what was done."""
    draw = random.Random(seed)
    return _KINDS[seed % len(_KINDS)](path, draw)


def leave_log(path, attempts):
    """Fill a store as a writer that was killed leaves it: with outcomes in its log."""
    made = path.with_name("written.db")
    with StoreWriter(made) as writer:
        writer.append_many(attempts[: len(attempts) // 2])
        writer.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for attempt in attempts[len(attempts) // 2 :]:
            writer.append(attempt)
        for kind in ("", "-wal", "-shm"):
            shutil.copy(f"{made}{kind}", f"{path}{kind}")


def _flip(path, draw):
    data = bytearray(path.read_bytes())
    places = [draw.randrange(len(data)) for _ in range(draw.choice((1, 3, 20, 200)))]
    for place in places:
        data[place] ^= 1 << draw.randrange(8)
    path.write_bytes(data)
    return f"{len(places)} bits flipped"


def _page(path, draw):
    data = bytearray(path.read_bytes())
    pages = draw.sample(range(len(data) // 4096), draw.choice((1, 2, 5)))
    for page in pages:
        data[page * 4096 : (page + 1) * 4096] = draw.choice((bytes(4096), draw.randbytes(4096)))
    path.write_bytes(data)
    return f"pages {pages} overwritten"


def _truncate(path, draw):
    size = int(path.stat().st_size * draw.uniform(0.05, 0.999))
    with path.open("r+b") as stream:
        stream.truncate(size)
    return f"cut to {size} bytes"


def _edit(path, draw):
    places = [(table, name) for table in ROW_TYPES for name in (*columns_of(table), "digest")]
    places += [("meta", "value"), ("meta", "name"), ("tags", "tag"), ("tags", "session_id")]
    table, column = draw.choice(places)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        rows = connection.execute(f"SELECT {column} FROM {table}").fetchall()  # noqa: S608
        for value in draw.sample(HOSTILE, len(HOSTILE)):
            one = draw.choice(rows)[0]
            where = draw.choice((f"WHERE {column} IS ?", "WHERE 1 OR ?"))
            with suppress(sqlite3.Error):
                connection.execute(f"UPDATE {table} SET {column} = ? {where}", (value, one))  # noqa: S608
                return f"{table}.{column} = {value!r:.40} {where} {one!r:.40}"
    finally:
        connection.close()
    return "nothing: no value fits"


def _delete(path, draw):
    table = draw.choice([*ROW_TYPES, "meta", "tags", "attempts", "attempts"])
    key = {"meta": "name", "tags": "tag"}.get(table) or columns_of(table)[0]
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        rows = connection.execute(f"SELECT {key} FROM {table}").fetchall()  # noqa: S608
        gone = draw.sample(rows, min(len(rows), draw.choice((1, 2, 21))))
        connection.executemany(f"DELETE FROM {table} WHERE {key} = ?", gone)  # noqa: S608
    finally:
        connection.close()
    return f"{len(gone)} rows of {table} deleted"


def _schema(path, draw):
    statement = draw.choice(SCHEMA)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA legacy_alter_table = ON")
        connection.executescript(statement)
    finally:
        connection.close()
    return statement[:60]


def _log(path, draw):
    log = path.with_name(f"{path.name}-wal")
    data = bytearray(log.read_bytes())
    way = draw.choice(("bit", "header", "frame", "cut", "page"))
    if way == "bit":
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif way == "header":
        size = draw.choice((4, 32))
        data[:size] = bytes(size)
    elif way == "frame":
        start = 32 + draw.randrange((len(data) - 32) // 4120) * 4120
        data[start : start + 24] = draw.randbytes(24)
    elif way == "page":
        start = 56 + draw.randrange((len(data) - 32) // 4120) * 4120
        data[start : start + 4096] = bytes(4096)
    else:
        del data[draw.randrange(32, len(data)) :]
    log.write_bytes(data)
    if draw.random() < 0.3:
        path.with_name(f"{path.name}-shm").unlink()
        return f"log: {way}, and its index removed"
    return f"log: {way}"


_KINDS = (*(_flip, _edit, _truncate, _edit, _page, _edit, _delete, _edit, _schema, _log),)


def kind_of(seed):
    """Return which way a seed means."""
    return _KINDS[seed % len(_KINDS)].__name__.lstrip("_")
