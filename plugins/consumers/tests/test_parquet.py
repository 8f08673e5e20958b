"""Parquet: columns for queries, and the complete record."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.store.formats import row_columns
from ckprof.store.query import StoreQuery
from ckprof_plugins.consumers import parquet
from tests.store.samples import attempts, check_format, make_attempt, make_store

duckdb = pytest.importorskip("duckdb")


@given(added=st.lists(attempts(), max_size=12))
@settings(max_examples=3)
def test_attempts_come_back_exactly(tmp_path_factory, added):
    check_format(parquet.FORMAT, tmp_path_factory.mktemp("parquet"), added)


def test_parquet_has_columns_for_queries(tmp_path):
    file = tmp_path / "r.parquet"
    with make_store(make_attempt(0, 0, 2.0), make_attempt(1, 1, 3.0)) as store:
        parquet.write(store, StoreQuery(), file)
        rows = store.to_dicts()
    found = duckdb.sql(f"SELECT * EXCLUDE (samples_ms, record) FROM '{file}'")  # noqa: S608
    assert found.columns == list(row_columns()) == list(rows[0])
    assert [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()] == rows
    average = duckdb.sql(f"SELECT avg(time_ms) FROM '{file}'")  # noqa: S608
    assert average.fetchall() == [(2.5,)]


@pytest.mark.parametrize("query", ["SELECT 1 AS record", "SELECT '{}' AS record, [1.0] AS samples_ms"])
def test_parquet_of_other_programs_is_rejected(tmp_path, query):
    file = tmp_path / "other.parquet"
    duckdb.sql(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
    with pytest.raises(InputError, match=r"other\.parquet: is no Parquet file of attempts: "):
        list(parquet.read(file, ImportHints()))
