"""Every error of a store says what to do."""

import sqlite3

import pytest

from ckprof.errors import ExitCode
from ckprof.store.errors import (
    BusyStoreError,
    DamagedRow,
    DamagedStoreError,
    NotAStoreError,
    ReadOnlyStoreError,
    StoreError,
    StoreFullError,
    store_errors,
    translate,
)
from ckprof.store.store import Store
from tests.store.samples import fill, make_attempt, make_problem


@pytest.mark.parametrize(
    ("said", "kind", "remedy"),
    [
        # the texts of sqlite3_errstr
        ("database or disk is full", StoreFullError, "free some space and rerun the same command"),
        ("attempt to write a readonly database", ReadOnlyStoreError, "copy it to where you may write"),
        ("file is not a database", NotAStoreError, "this is not a result store"),
        ("database disk image is malformed", DamagedStoreError, "'ckprof results recover'"),
        ("disk I/O error", DamagedStoreError, "the disk fails, or files may not grow any more"),
        ("database is locked", BusyStoreError, "wait for it"),
        ("unable to open database file", StoreError, "check the path and its permissions"),
        (
            "no such column: x",
            DamagedStoreError,
            "SQLite reports: no such column: x; try",
        ),
    ],
)
def test_what_sqlite_says_becomes_what_to_do(path, said, kind, remedy):
    with pytest.raises(StoreError) as caught, store_errors(path):
        raise sqlite3.OperationalError(said)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"{path}: ") and remedy in str(caught.value)
    assert caught.value.exit_code == ExitCode.INPUT
    assert str(caught.value.__cause__) == said


def test_damaged_rows_are_named(path):
    for column, where in (
        ("status", "table attempts, row 7, column status: x"),
        ("", "table attempts, row 7: x"),
    ):
        error = translate(DamagedRow("attempts", 7, column, "x"), path)
        assert type(error) is DamagedStoreError
        assert str(error).startswith(f"{path}: {where}; see what else is damaged with 'ckprof results check'")


def test_names_that_are_no_text_are_damage(path):
    with pytest.raises(DamagedStoreError, match="the store is damaged"), store_errors(path):
        b"\xff".decode()


@pytest.mark.parametrize("table", ["operations", "devices"])
def test_conditions_that_cannot_read_json_name_the_row(path, table):
    fill(path, make_attempt())
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"UPDATE {table} SET body = '{{'")  # noqa: S608
    connection.close()
    with Store(path) as store:
        with pytest.raises(DamagedStoreError, match=f"table {table}, row 1, column body: is no JSON"):
            list(store.query(direction="fwd", target="cpu"))


def test_pages_that_cannot_be_read_are_damage(path):
    fill(path, *(make_attempt(n, n, problem=make_problem(n + 1)) for n in range(200)))
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with pytest.raises(DamagedStoreError, match="ckprof results check"), Store(path) as store:
        list(store)
