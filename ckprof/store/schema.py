"""The tables of a store and the steps from one version of them to the next.

Texts and records that many attempts share are stored once and referred to by number, which keeps an outcome
small: kernels, problems, devices, toolchains, methods and reasons are rows of their own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ckprof.store.errors import NewerStoreError, NotAStoreError

#: "ckpf": tells stores from other SQLite databases
APPLICATION_ID: Final = 0x636B7066

#: version of the tables below
SCHEMA_VERSION: Final = 3

#: Tables of parts: a number and the part's canonical JSON.
PART_TABLES: Final = ("operations", "problems", "devices", "toolchains", "methods")

_PARTS: Final = "".join(
    f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE);\n" for table in PART_TABLES
)

_TABLES: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- reasons, requirement lists, marks and the like
CREATE TABLE texts (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE);

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, started REAL NOT NULL, body TEXT NOT NULL
);
CREATE TABLE tags (
    session_id INTEGER NOT NULL REFERENCES sessions, tag TEXT NOT NULL, PRIMARY KEY (tag, session_id)
) WITHOUT ROWID;

CREATE TABLE instances (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    dtype TEXT NOT NULL, layout TEXT NOT NULL, body TEXT NOT NULL
);
CREATE TABLE kernels (
    id INTEGER PRIMARY KEY, instance_id INTEGER NOT NULL REFERENCES instances, object_digest TEXT NOT NULL,
    UNIQUE (instance_id, object_digest)
);

-- the parts of a key that all measurements of one ranking share, with what follows from the instance
CREATE TABLE contexts (
    id INTEGER PRIMARY KEY,
    operation_id INTEGER NOT NULL REFERENCES operations, device_id INTEGER NOT NULL REFERENCES devices,
    toolchain_id INTEGER NOT NULL REFERENCES toolchains, method_id INTEGER NOT NULL REFERENCES methods,
    dtype TEXT NOT NULL, layout TEXT NOT NULL,
    UNIQUE (operation_id, device_id, toolchain_id, method_id, dtype, layout)
);

-- one row per measurement key; the figures sum up its attempts and are kept up to date with them
CREATE TABLE measurements (
    id INTEGER PRIMARY KEY,
    context_id INTEGER NOT NULL REFERENCES contexts, problem_id INTEGER NOT NULL REFERENCES problems,
    kernel_id INTEGER NOT NULL REFERENCES kernels, split_k INTEGER NOT NULL,
    status TEXT NOT NULL, attempts INTEGER NOT NULL, ranked INTEGER NOT NULL, median_ms REAL, min_ms REAL,
    UNIQUE (context_id, problem_id, kernel_id, split_k)
);
CREATE INDEX measurements_by_time ON measurements (context_id, problem_id, median_ms)
    WHERE median_ms IS NOT NULL;

CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    measurement_id INTEGER NOT NULL REFERENCES measurements,
    session_id INTEGER NOT NULL REFERENCES sessions, sequence INTEGER NOT NULL,
    status TEXT NOT NULL, reason_id INTEGER REFERENCES texts, requirements_id INTEGER REFERENCES texts,
    split_chosen INTEGER, workspace_bytes INTEGER, marks_id INTEGER REFERENCES texts,
    median_ms REAL, spread_ms REAL, min_ms REAL, mean_ms REAL, samples INTEGER,
    stopped_by_id INTEGER REFERENCES texts,
    max_error REAL, wrong_elements INTEGER, tolerance_id INTEGER REFERENCES texts,
    started REAL NOT NULL, round INTEGER NOT NULL, position INTEGER NOT NULL, wall_s REAL,
    load REAL, clock_mhz REAL, temperature_c REAL, extra TEXT,
    UNIQUE (session_id, sequence)
);
CREATE INDEX attempts_by_measurement ON attempts (measurement_id);

-- raw samples, compressed; apart from the attempts, so that reading these does not touch them
CREATE TABLE samples (attempt_id INTEGER PRIMARY KEY REFERENCES attempts, data BLOB NOT NULL);

CREATE VIEW outcomes AS
SELECT a.id, o.body AS operation, p.body AS problem, m.split_k, i.key AS instance, i.dtype, i.layout,
    i.body AS kernel, k.object_digest, d.body AS device, t.body AS toolchain, h.body AS method,
    a.status, r.body AS reason, a.median_ms, a.min_ms, a.samples, a.max_error, a.wrong_elements, a.started,
    a.round, s.uid AS session
FROM attempts a JOIN measurements m ON m.id = a.measurement_id JOIN contexts c ON c.id = m.context_id
    JOIN operations o ON o.id = c.operation_id JOIN problems p ON p.id = m.problem_id
    JOIN kernels k ON k.id = m.kernel_id JOIN instances i ON i.id = k.instance_id
    JOIN devices d ON d.id = c.device_id JOIN toolchains t ON t.id = c.toolchain_id
    JOIN methods h ON h.id = c.method_id JOIN sessions s ON s.id = a.session_id
    LEFT JOIN texts r ON r.id = a.reason_id;
"""

#: one step: from the version in the mapping's key to the next; runs inside a transaction
Migration = Callable[[sqlite3.Connection], None]


def _sum_up_again(connection: sqlite3.Connection) -> None:
    """Bring times up to date with their definition.

    Version 1 took the median over all attempts, version 2 that of rounds near the fastest one.
    """
    from ckprof.store.rows import sum_up

    for (measurement,) in connection.execute("SELECT id FROM measurements").fetchall():
        sum_up(connection, measurement)


#: every step there is
MIGRATIONS: Mapping[int, Migration] = {1: _sum_up_again, 2: _sum_up_again}


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
        for statement in _statements(_PARTS + _TABLES):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _statements(script: str) -> list[str]:
    lines = [line for line in script.splitlines() if not line.startswith("--")]
    return [statement for statement in "\n".join(lines).split(";") if statement.strip()]


def stored_version(connection: sqlite3.Connection, path: str, newest: int = SCHEMA_VERSION) -> int:
    """Return the version of a store's tables; 0 for an empty database.

    :param path: for messages.
    :param newest: the version that this program knows.
    :raises NotAStoreError: a database of another program.
    :raises NewerStoreError: the store is newer than this program.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application == 0 and version == 0 and tables == 0:
        return 0
    if application != APPLICATION_ID:
        raise NotAStoreError("this SQLite database is not a result store of ckprof", path)
    if version > newest:
        raise NewerStoreError(
            f"the store has version {version}, this ckprof knows up to version {newest}; update ckprof, "
            "or use another file",
            path,
        )
    return int(version)


def migrate(
    connection: sqlite3.Connection,
    version: int,
    migrations: Mapping[int, Migration] = MIGRATIONS,
    newest: int = SCHEMA_VERSION,
) -> None:
    """Bring the tables to the newest version, all steps or none.

    :param version: the version that they have.
    """
    with transaction(connection):
        for step in range(version, newest):
            migrations[step](connection)
        connection.execute(f"PRAGMA user_version = {newest}")
