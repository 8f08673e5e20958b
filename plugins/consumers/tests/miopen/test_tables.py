"""Databases in SQLite's format that misbehave: each ends at once, by name, or only wrong rows are lost."""

import json
import random
import sqlite3
import threading
from contextlib import closing
from functools import cache

import pytest

from ckprof.errors import ExitCode, InputError
from ckprof_plugins.consumers.miopen.consumer import Miopen
from ckprof_plugins.consumers.miopen.keys import COLUMNS
from ckprof_plugins.consumers.records import AuditRequest, Reason
from plugins.consumers.tests.databases import shipped, sqlite_database, tuned

NAME = "gfx942130_1.1.0.udb"


@cache
def four():
    """Four tuned problems of different keys."""
    draw = random.Random(4)
    return list({one.perf_key(): one for one in (tuned(draw, "F") for _ in range(20))}.values())[:4]


@pytest.fixture
def path(tmp_path):
    """A database of which row 3 is wrong."""
    found = tmp_path / NAME
    sqlite_database(found, [(one.columns(), one.solver, one.value) for one in four()])
    changed(found, "UPDATE perf_db SET params = 'nonsense' WHERE id = 3")
    return found


def changed(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def audited(path):
    return Miopen().audit(AuditRequest(path=path, lists=shipped()))


def values_of(data, path):
    """Solver and parameters of the rows that MIOpen's own query finds for the four problems."""
    copy = path.with_name("copy")
    copy.write_bytes(data)
    found = []
    with closing(sqlite3.connect(copy)) as connection:
        for one in four():
            where = " AND ".join(f"{name} = ?" for name in one.columns())
            found += connection.execute(
                "SELECT params FROM perf_db INNER JOIN (SELECT id FROM config "  # noqa: S608
                f"WHERE {where}) AS cfg ON cfg.id = perf_db.config",
                tuple(one.columns().values()),
            ).fetchall()
    # as texts of C
    texts = [value if isinstance(value, str) else value.partition(b"\0")[0].decode() for (value,) in found]
    return sorted(texts)


BARE = "CREATE TABLE other ({}, solver TEXT, config INT, params TEXT)"
#: rows of a table whose ids are no primary key
OTHER = (
    "INSERT INTO other SELECT {}, solver, config, params FROM perf_db",
    "DROP TABLE perf_db",
    "ALTER TABLE other RENAME TO perf_db",
)
VIEW = ("ALTER TABLE {0} RENAME TO was", "CREATE VIEW {0} AS {1}")
REFUSED = {
    "a recursive view": (
        "perf_db is a view",
        VIEW[0].format("perf_db"),
        VIEW[1].format(
            "perf_db",
            "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) "
            "SELECT i AS id, solver, config, params FROM r, was",
        ),
    ),
    "a slow view": (
        "config is a view",
        VIEW[0].format("config"),
        VIEW[1].format("config", "SELECT a.* FROM was a, was b, was c, was d, was e, was f, was g, was h"),
    ),
    "a view with large cells": (
        "perf_db is a view",
        VIEW[0].format("perf_db"),
        VIEW[1].format("perf_db", "SELECT id, solver, config, hex(zeroblob(450000000)) AS params FROM was"),
    ),
    "a generated column": (
        "column params of perf_db is generated",
        "ALTER TABLE perf_db DROP COLUMN params",
        "ALTER TABLE perf_db ADD COLUMN params TEXT AS (hex(zeroblob(200000000))) VIRTUAL",
    ),
    "other columns": ("has no column params", "ALTER TABLE perf_db RENAME COLUMN params TO values_"),
    "no table": ("has no table config", "DROP TABLE config"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_library_never_makes_is_refused_by_name(ckprof, path, name):
    part, *statements = REFUSED[name]
    changed(path, *statements)
    done = ckprof("audit", path, "--fix")
    assert (done.code, done.err) == (ExitCode.FAILED, "")
    assert part in done.out
    assert not path.with_name(f"{NAME}.clean").exists()


#: name -> what is told besides of rows or of the file, and statements
KEPT = {
    "as the library makes it": (None,),
    "a trigger that deletes": (
        Reason.MALFORMED_ROW,
        "CREATE TRIGGER t AFTER DELETE ON perf_db BEGIN DELETE FROM perf_db WHERE id IN (1, 2); END",
    ),
    "a trigger that inserts": (
        Reason.MALFORMED_ROW,
        'CREATE TRIGGER "t""t" AFTER DELETE ON perf_db BEGIN '
        "INSERT INTO perf_db (solver, config, params) VALUES ('x', 1, 'y'); END",
    ),
    "ids of several rows": (Reason.UNUSABLE_ID, BARE.format("id INT"), *(one.format("1") for one in OTHER)),
    "no ids": (Reason.UNUSABLE_ID, BARE.format("id INT"), *(one.format("NULL") for one in OTHER)),
    "texts for ids": (
        Reason.UNUSABLE_ID,
        BARE.format("id TEXT"),
        *(one.format("'a' || id") for one in OTHER),
    ),
    "bytes with a NUL": (
        None,
        "UPDATE perf_db SET params = CAST(params || char(0) || 'junk' AS BLOB) WHERE id = 1",
    ),
    "texts for ids of config": (
        None,
        f"CREATE TABLE other AS SELECT CAST(id AS TEXT) AS id, {', '.join(COLUMNS)} FROM config",  # noqa: S608
        "DROP TABLE config",
        "ALTER TABLE other RENAME TO config",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_clean_file_lacks_wrong_rows_alone(path, name):
    reason, *statements = KEPT[name]
    changed(path, *statements)
    audit = audited(path)
    assert {finding.line for finding in audit.findings if finding.removable} - {0} == {3}
    assert audit.entries == 4
    assert {finding.reason for finding in audit.findings if finding.line != 3} <= {reason}
    assert any(finding.reason is reason for finding in audit.findings) is (reason is not None)
    clean = Miopen().cleaned(audit)
    assert values_of(clean, path) == sorted(one.value for one in (*four()[:2], four()[3]))
    path.write_bytes(clean)
    again = audited(path)
    assert not again.removable


def test_rows_in_the_log_are_judged_and_kept(path):
    """What another connection wrote last lies beside the file until it is taken over."""
    with closing(sqlite3.connect(path)) as writer:
        assert writer.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("UPDATE perf_db SET params = ? WHERE id = 3", (four()[2].value,))
        writer.execute("UPDATE perf_db SET params = 'gone' WHERE id = 1")
        writer.commit()
        audit = audited(path)
        assert [(one.line, one.reason) for one in audit.findings] == [(1, Reason.UNKNOWN_KERNEL)]
        clean = Miopen().cleaned(audit)
        writer.execute("DELETE FROM perf_db WHERE id = 2")
        writer.commit()
        with pytest.raises(InputError, match="has changed since it was judged"):
            Miopen().cleaned(audit)
    assert values_of(clean, path) == sorted(one.value for one in four()[1:])


def test_a_lock_of_another_process_is_waited_for_and_named(path, monkeypatch):
    monkeypatch.setattr("ckprof_plugins.consumers.miopen.tables._PATIENCE", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        (finding,) = audited(path).findings
        assert (finding.line, "database is locked" in finding.message) == (0, True)
        monkeypatch.setattr("ckprof_plugins.consumers.miopen.tables._PATIENCE", 60)
        threading.Timer(0.3, other.execute, ["COMMIT"]).start()
        assert audited(path).entries == 4


def test_of_rows_of_one_problem_the_last_that_stays_counts(path):
    """A second row config of the same problem, as no index forbids it in databases that others make."""
    names = ", ".join(four()[0].columns())
    changed(
        path,
        f"INSERT INTO config (id, {names}) SELECT 9, {names} FROM config WHERE id = 1",  # noqa: S608
        "INSERT INTO perf_db VALUES (9, (SELECT solver FROM perf_db WHERE id = 1), 9, 'nonsense')",
    )
    assert [(one.line, one.reason) for one in audited(path).findings] == [
        (3, Reason.UNKNOWN_KERNEL),
        (9, Reason.UNKNOWN_KERNEL),
    ]
    changed(path, "UPDATE perf_db SET params = (SELECT params FROM perf_db WHERE id = 1) WHERE id = 9")
    first = audited(path).findings[0]
    assert (first.line, first.reason) == (1, Reason.DUPLICATE)


def test_the_audit_of_a_folder_goes_on(ckprof, path):
    folder = path.parent / "other"
    folder.mkdir()
    sqlite_database(folder / NAME, [(four()[0].columns(), four()[0].solver, four()[0].value)])
    changed(path, *REFUSED["a recursive view"][1:])
    report = json.loads(ckprof("audit", path.parent, "--format", "json").out)
    assert [file["entries"] for file in report["files"]] == [0, 1]
