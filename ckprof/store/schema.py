"""The tables of a store.

Texts and records that many attempts share are stored once and referred to by number, which keeps an outcome
small: kernels, problems, devices, toolchains, methods and reasons are rows of their own. Every row has a
digest of its other cells (:mod:`ckprof.store.row_types`), and the store says how many attempts it has.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

from ckprof.store.errors import DamagedStoreError, NewerStoreError, NotAStoreError, OlderStoreError

#: "ckpf": tells stores from other SQLite databases
APPLICATION_ID: Final = 0x636B7066

#: version of the tables below
SCHEMA_VERSION: Final = 7

#: Tables of parts: a number and the part's canonical JSON.
PART_TABLES: Final = ("operations", "problems", "devices", "toolchains", "methods")

_PARTS: Final = "".join(
    f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE, digest INTEGER);\n"
    for table in PART_TABLES
)

#: what became of baselines, in the sessions that measured them
_BASELINES: Final = """
CREATE TABLE baselines (
    id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES sessions, sequence INTEGER NOT NULL,
    baseline TEXT NOT NULL, description_id INTEGER REFERENCES texts,
    operation_id INTEGER NOT NULL REFERENCES operations, problem_id INTEGER NOT NULL REFERENCES problems,
    device_id INTEGER NOT NULL REFERENCES devices, method_id INTEGER NOT NULL REFERENCES methods,
    dtype TEXT NOT NULL, layout TEXT NOT NULL, status TEXT NOT NULL, reason_id INTEGER REFERENCES texts,
    time_ms REAL, spread_ms REAL, max_error REAL, wrong_elements INTEGER, started REAL NOT NULL,
    digest INTEGER, UNIQUE (session_id, sequence)
);
"""

_TABLES: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- reasons, requirement lists, marks and the like
CREATE TABLE texts (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE, digest INTEGER);

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, started REAL NOT NULL, body TEXT NOT NULL,
    digest INTEGER
);
CREATE TABLE tags (
    session_id INTEGER NOT NULL REFERENCES sessions, tag TEXT NOT NULL, PRIMARY KEY (tag, session_id)
) WITHOUT ROWID;

CREATE TABLE instances (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    dtype TEXT NOT NULL, layout TEXT NOT NULL, body TEXT NOT NULL, digest INTEGER
);
CREATE TABLE kernels (
    id INTEGER PRIMARY KEY, instance_id INTEGER NOT NULL REFERENCES instances, object_digest TEXT NOT NULL,
    digest INTEGER, UNIQUE (instance_id, object_digest)
);

-- the parts of a key that all measurements of one ranking share, with what follows from the instance
CREATE TABLE contexts (
    id INTEGER PRIMARY KEY,
    operation_id INTEGER NOT NULL REFERENCES operations, device_id INTEGER NOT NULL REFERENCES devices,
    toolchain_id INTEGER NOT NULL REFERENCES toolchains, method_id INTEGER NOT NULL REFERENCES methods,
    dtype TEXT NOT NULL, layout TEXT NOT NULL,
    digest INTEGER, UNIQUE (operation_id, device_id, toolchain_id, method_id, dtype, layout)
);

-- one row per measurement key; the figures sum up its attempts and are kept up to date with them
CREATE TABLE measurements (
    id INTEGER PRIMARY KEY,
    context_id INTEGER NOT NULL REFERENCES contexts, problem_id INTEGER NOT NULL REFERENCES problems,
    kernel_id INTEGER NOT NULL REFERENCES kernels, split_k INTEGER NOT NULL,
    status TEXT NOT NULL, attempts INTEGER NOT NULL, ranked INTEGER NOT NULL, pruned INTEGER NOT NULL,
    -- the median of the trials, its limits at 95 %, and the fastest round
    time_ms REAL, low_ms REAL, high_ms REAL, min_ms REAL,
    digest INTEGER, UNIQUE (context_id, problem_id, kernel_id, split_k)
);
CREATE INDEX measurements_by_time ON measurements (context_id, problem_id, pruned, time_ms)
    WHERE time_ms IS NOT NULL;

CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    measurement_id INTEGER NOT NULL REFERENCES measurements,
    session_id INTEGER NOT NULL REFERENCES sessions, sequence INTEGER NOT NULL,
    status TEXT NOT NULL, reason_id INTEGER REFERENCES texts, requirements_id INTEGER REFERENCES texts,
    split_chosen INTEGER, workspace_bytes INTEGER, marks_id INTEGER REFERENCES texts,
    time_ms REAL, spread_ms REAL, min_ms REAL, mean_ms REAL, samples INTEGER,
    stopped_by_id INTEGER REFERENCES texts,
    max_error REAL, wrong_elements INTEGER, tolerance_id INTEGER REFERENCES texts,
    started REAL NOT NULL, round INTEGER NOT NULL, position INTEGER NOT NULL, wall_s REAL,
    load REAL, clock_mhz REAL, temperature_c REAL, extra TEXT, digest INTEGER,
    UNIQUE (session_id, sequence)
);
CREATE INDEX attempts_by_measurement ON attempts (measurement_id);

-- raw samples, compressed; apart from the attempts, so that reading these does not touch them
CREATE TABLE samples (attempt_id INTEGER PRIMARY KEY REFERENCES attempts, data BLOB NOT NULL,
    digest INTEGER);

CREATE VIEW outcomes AS
SELECT a.id, o.body AS operation, p.body AS problem, m.split_k, i.key AS instance, i.dtype, i.layout,
    i.body AS kernel, k.object_digest, d.body AS device, t.body AS toolchain, h.body AS method,
    a.status, r.body AS reason, a.time_ms, a.min_ms, a.samples, a.max_error, a.wrong_elements, a.started,
    a.round, s.uid AS session
FROM attempts a JOIN measurements m ON m.id = a.measurement_id JOIN contexts c ON c.id = m.context_id
    JOIN operations o ON o.id = c.operation_id JOIN problems p ON p.id = m.problem_id
    JOIN kernels k ON k.id = m.kernel_id JOIN instances i ON i.id = k.instance_id
    JOIN devices d ON d.id = c.device_id JOIN toolchains t ON t.id = c.toolchain_id
    JOIN methods h ON h.id = c.method_id JOIN sessions s ON s.id = a.session_id
    LEFT JOIN texts r ON r.id = a.reason_id;
"""


#: in the table ``meta``: how many attempts there are, and how many of them with raw samples
_COUNT: Final = "stored"


def counted(connection: sqlite3.Connection) -> Counter[str]:
    """Return how many rows there are of the tables whose rows are counted, so that missing ones show."""
    tables = ("attempts", "samples")
    texts = {table: f"SELECT count(*) FROM {table}" for table in tables}  # noqa: S608
    return Counter({table: int(connection.execute(text).fetchone()[0]) for table, text in texts.items()})


def store_count(connection: sqlite3.Connection, count: Counter[str]) -> None:
    """Store how many rows there are."""
    text = f"{count['attempts']} {count['samples']}"
    value = f"{text} {zlib.crc32(text.encode()):08x}"
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_COUNT, value))


def add_to_count(connection: sqlite3.Connection, added: Counter[str]) -> None:
    """Bring up to date how many rows there are; where that is damaged it stays so."""
    count = stored_count(connection)
    if count is not None:
        store_count(connection, count + added)


def stored_count(connection: sqlite3.Connection) -> Counter[str] | None:
    """Return how many rows the store says it has; ``None`` where that is damaged."""
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (_COUNT,)).fetchone()
    matched = re.fullmatch(r"((\d+) (\d+)) ([0-9a-f]{8})", str(found[0]), re.ASCII) if found else None
    if matched is None or int(matched[4], 16) != zlib.crc32(matched[1].encode()):
        return None
    return Counter(attempts=int(matched[2]), samples=int(matched[3]))


def count_finding(connection: sqlite3.Connection) -> str:
    """Return what is wrong with the number of attempts; empty if nothing is."""
    said, there = stored_count(connection), counted(connection)
    if said is None:
        return "table meta, row stored, column value: the number of attempts is not what was stored"
    if said != there:
        return (
            f"{said['attempts']} attempts were stored, {said['samples']} of them with raw samples; "
            f"there are {there['attempts']} and {there['samples']}"
        )
    return ""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what the block does, or nothing of it if it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has rolled back on its own after some errors, such as a full disk
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty database a store; all tables appear at once."""
    with transaction(connection):
        for statement in _statements(_PARTS + _TABLES + _BASELINES):
            connection.execute(statement)
        store_count(connection, Counter())
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _statements(script: str) -> list[str]:
    lines = [line for line in script.splitlines() if not line.startswith("--")]
    return [statement for statement in "\n".join(lines).split(";") if statement.strip()]


def schema_findings(connection: sqlite3.Connection) -> list[str]:
    """Return what is wrong with the tables of a store, and which triggers it has.

    Further tables, views and indexes do no harm. A trigger changes what is written.
    """
    expected, found = _objects(_fresh()), _objects(connection)
    findings = [
        f"foreign {kind} {name}: remove it with 'DROP TRIGGER'" for (kind, name) in found if kind == "trigger"
    ]
    for (kind, name), columns in expected.items():
        there = found.get((kind, name))
        if there is None:
            other = next((other for other, called in found if called == name), None)
            findings.append(f"the {kind} {name} is " + (f"a {other}" if other else "missing"))
        elif missing := [column for column in columns if column not in there]:
            findings.append(f"the {kind} {name} lacks {', '.join(missing)}")
    return findings


@cache
def _fresh() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    create_tables(connection)
    return connection


def table_columns(table: str) -> list[str]:
    """Return the names of a table's columns."""
    return _objects(_fresh())["table", table]


def _objects(connection: sqlite3.Connection) -> dict[tuple[str, str], list[str]]:
    """Return kind and name of every object, with the columns of tables."""
    rows = connection.execute("SELECT type, name FROM sqlite_master ORDER BY rowid").fetchall()
    return {
        (kind, name): [
            str(column[0])
            for column in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
            if kind == "table"
        ]
        for kind, name in rows
    }


def stored_version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of a store's tables; 0 for an empty database.

    :param path: for messages.
    :raises NotAStoreError: a database of another program.
    :raises NewerStoreError: the store is newer than this program.
    :raises OlderStoreError: the store is of an earlier version.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application == 0 and version == 0 and tables == 0:
        return 0
    if application != APPLICATION_ID:
        raise NotAStoreError("this SQLite database is not a result store of ckprof", path)
    if version > SCHEMA_VERSION:
        raise NewerStoreError(
            f"the store has version {version}, this ckprof knows version {SCHEMA_VERSION}; update ckprof, "
            "or use another file",
            path,
        )
    if 1 <= version < SCHEMA_VERSION:
        raise OlderStoreError(
            f"store of an earlier version ({version}, this ckprof has {SCHEMA_VERSION}); measure again, into "
            "another file",
            path,
        )
    if version != SCHEMA_VERSION:
        raise DamagedStoreError(
            f"the header says version {version}, which no store has; save what is readable with "
            "'ckprof results recover'",
            path,
        )
    return SCHEMA_VERSION
