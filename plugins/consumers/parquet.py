"""Parquet, for data frames and ad-hoc queries; written and read by DuckDB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import UsageError, input_errors
from ckprof.files import scratch_folder
from ckprof.plugin.protocols import StoreFormat
from ckprof.plugin.protocols.converters import ExportResult, ImportHints
from ckprof.store.attempt import Attempt
from ckprof.store.formats import flat_row, row_columns
from ckprof.store.shard import decode_attempt

if TYPE_CHECKING:
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store

#: columns beside the flat ones: raw samples, and the complete record as JSON
_FURTHER: Final = {"samples_ms": "DOUBLE[]", "record": "VARCHAR"}
_TYPES: Final = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"}
_BATCH: Final = 1_000


def _duckdb() -> Any:
    """Return the module."""
    try:
        import duckdb
    except ImportError:
        raise UsageError("Parquet needs DuckDB: pip install 'ckprof[store]'") from None
    return duckdb


def write(store: Store, query: StoreQuery, path: Path) -> ExportResult:
    """Write one row per attempt: flat columns, raw samples, and the complete record.

    :raises UsageError: DuckDB is not installed.
    """
    duckdb = _duckdb()
    result = ExportResult()
    with scratch_folder() as folder:
        lines = Path(folder, "attempts.ndjson")
        with lines.open("wb") as stream:
            for attempt in store.attempts(query):
                stream.write(msgspec.json.encode(_row(attempt)) + b"\n")
                result.rows += 1
        columns = {name: _TYPES[kind] for name, kind in row_columns().items()} | _FURTHER
        source = (
            f"read_json({_quoted(lines)}, format = 'newline_delimited', columns = {columns!r}, "
            "maximum_object_size = 268435456)"
        )
        with input_errors(duckdb.Error, "cannot be written", path):
            with duckdb.connect() as connection:
                connection.execute(
                    f"COPY (SELECT * FROM {source}) TO {_quoted(path)} (FORMAT parquet, COMPRESSION zstd)"  # noqa: S608
                )
    return result


def _row(attempt: Attempt) -> dict[str, object]:
    timing = attempt.measurement
    return {
        **flat_row(attempt),
        "samples_ms": timing.samples_ms if timing else (),
        "record": msgspec.json.encode(attempt.without_samples()).decode(),
    }


def read(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield the attempts of a file that ckprof wrote.

    :raises UsageError: DuckDB is not installed.
    :raises InputError: the file is damaged, or of another program.
    """
    del hints
    duckdb = _duckdb()
    with input_errors(
        (duckdb.Error, msgspec.MsgspecError, ValueError), "is no Parquet file of attempts", path
    ):
        with duckdb.connect() as connection:
            records = connection.execute(
                f"SELECT record, samples_ms FROM read_parquet({_quoted(path)})"  # noqa: S608
            )
            while rows := records.fetchmany(_BATCH):
                for record, samples in rows:
                    yield decode_attempt(json.loads(record), samples or ())


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


FORMAT = StoreFormat(
    id="parquet",
    label="one row per attempt, for data frames and DuckDB",
    suffixes=(".parquet",),
    read=read,
    write=write,
    recognises=lambda head: head.startswith(b"PAR1"),
)
