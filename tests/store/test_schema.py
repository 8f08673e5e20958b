"""The tables of a store: versions, counts, and what was done to the tables by hand."""

import sqlite3
import zlib
from collections import Counter

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from ckprof.store import schema
from ckprof.store.errors import DamagedStoreError, NewerStoreError, NotAStoreError, OlderStoreError
from ckprof.store.maintenance import check as check_store
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.store.samples import fill, make_attempt


@pytest.fixture
def tables():
    """Return a database with the tables of a store, and nothing in them."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.create_tables(connection)
    yield connection
    connection.close()


def test_the_header_says_what_a_database_is(tables):
    assert schema.stored_version(tables, "p") == schema.SCHEMA_VERSION
    assert tables.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"ckpf", "big"),)
    with sqlite3.connect(":memory:") as empty:
        assert schema.stored_version(empty, "p") == 0
        empty.execute("CREATE TABLE t (a)")
        with pytest.raises(NotAStoreError, match="p: this SQLite database is not a result store of ckprof"):
            schema.stored_version(empty, "p")
    empty.close()
    for version in (0, -1):
        tables.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(DamagedStoreError, match=f"the header says version {version}, which no store has"):
            schema.stored_version(tables, "p")


def test_missing_rows_show_by_the_count_that_is_stored(tables):
    assert schema.stored_count(tables) == Counter() == schema.counted(tables)
    schema.add_to_count(tables, Counter(attempts=3, samples=2))
    schema.add_to_count(tables, Counter(attempts=1))
    assert schema.stored_count(tables) == Counter(attempts=4, samples=2)
    expected = "4 attempts were stored, 2 of them with raw samples; there are 0 and 0"
    assert schema.count_finding(tables) == expected
    (said,) = tables.execute("SELECT value FROM meta WHERE name = 'stored'").fetchone()
    assert said == f"4 2 {zlib.crc32(b'4 2'):08x}"
    # where it is damaged it stays so
    for damaged in (
        said.replace("4", "5", 1),
        said[:-1],
        "",
        f"{said}0",
        f"\u0664 2 {zlib.crc32(b'4 2'):08x}",
    ):
        tables.execute("UPDATE meta SET value = ?", (damaged,))
        schema.add_to_count(tables, Counter(attempts=1))
        assert schema.stored_count(tables) is None, damaged
        assert schema.count_finding(tables).startswith("table meta, row stored, column value: "), damaged
    schema.store_count(tables, schema.counted(tables))
    assert schema.count_finding(tables) == ""


@pytest.mark.parametrize(
    ("statements", "findings"),
    [
        ("CREATE TABLE further (id); CREATE VIEW v AS SELECT 1; CREATE INDEX i ON texts (digest)", []),
        ("ALTER TABLE attempts ADD COLUMN more", []),
        (
            "CREATE TRIGGER t AFTER INSERT ON texts BEGIN DELETE FROM samples; END",
            ["foreign trigger t: remove it with 'DROP TRIGGER'"],
        ),
        ("DROP VIEW outcomes", ["the view outcomes is missing"]),
        ("DROP VIEW outcomes; CREATE TABLE outcomes (id)", ["the view outcomes is a table"]),
        ("DROP INDEX attempts_by_measurement", ["the index attempts_by_measurement is missing"]),
        (
            "DROP VIEW outcomes; DROP TABLE samples; CREATE TABLE samples (attempt_id)",
            ["the table samples lacks data, digest", "the view outcomes is missing"],
        ),
    ],
)
def test_what_was_done_to_tables_is_named(tables, statements, findings):
    assert schema.schema_findings(tables) == []
    tables.executescript(statements)
    assert schema.schema_findings(tables) == findings


def test_a_transaction_that_raises_leaves_nothing(tables):
    with pytest.raises(KeyError), schema.transaction(tables):
        schema.store_count(tables, Counter(attempts=1))
        raise KeyError
    assert schema.stored_count(tables) == Counter() and not tables.in_transaction
    with schema.transaction(tables):
        schema.store_count(tables, Counter(attempts=1))
    assert schema.stored_count(tables) == Counter(attempts=1) and not tables.in_transaction


def test_a_newer_store_is_rejected_by_its_version(path):
    fill(path, make_attempt())
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    connection.close()
    for use in (Store, StoreWriter):
        with pytest.raises(NewerStoreError, match=f"version {schema.SCHEMA_VERSION + 1}.*update ckprof"):
            use(path)


@pytest.mark.parametrize("version", [1, schema.SCHEMA_VERSION - 1])
def test_a_store_of_an_earlier_version_is_rejected_and_left_as_it_is(path, version, capsys):
    fill(path, make_attempt())
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = path.read_bytes()
    for use in (Store, StoreWriter, check_store):
        with pytest.raises(OlderStoreError, match=f"store of an earlier version .{version}, .*measure again"):
            use(path)
    assert main(["results", "show", str(path)]) == ExitCode.INPUT
    assert "results.db: store of an earlier version" in capsys.readouterr().err
    assert path.read_bytes() == before
