"""Parquet, for data frames and ad-hoc queries; written and read by DuckDB."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, UsageError
from ckprof.store.attempt import Attempt
from ckprof.store.export_file import export_path
from ckprof.store.flat import COLUMNS, flat_row
from ckprof.store.format import ExportResult, ImportHints, StoreFormat
from ckprof.store.lines import decode_attempt, finite, without_samples

if TYPE_CHECKING:
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store

#: columns beside the flat ones: raw samples, and the complete record as JSON
_FURTHER: Final = {"samples_ms": "DOUBLE[]", "record": "VARCHAR"}
_TYPES: Final = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"}
_BATCH: Final = 1_000


def _duckdb() -> Any:
    """Return the module.

    :raises UsageError: it is not installed.
    """
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
    with tempfile.TemporaryDirectory(prefix="ckprof-") as folder, export_path(path) as target:
        lines = Path(folder, "attempts.ndjson")
        with lines.open("wb") as stream:
            for attempt in store.attempts(query):
                stream.write(msgspec.json.encode(_row(attempt)) + b"\n")
                result.rows += 1
        columns = {name: _TYPES[kind] for name, kind in COLUMNS.items()} | _FURTHER
        source = (
            f"read_json({_quoted(lines)}, format = 'newline_delimited', columns = {columns!r}, "
            "maximum_object_size = 268435456)"
        )
        try:
            with duckdb.connect() as connection:
                connection.execute(
                    f"COPY (SELECT * FROM {source}) TO {_quoted(target)} (FORMAT parquet, COMPRESSION zstd)"  # noqa: S608
                )
        except duckdb.Error as exc:
            raise InputError(f"cannot be written: {exc}", path) from None
    return result


def _row(attempt: Attempt) -> dict[str, object]:
    timing = attempt.measurement
    return {
        **flat_row(attempt),
        "samples_ms": timing.samples_ms if timing else (),
        "record": msgspec.json.encode(finite(without_samples(attempt))).decode(),
    }


def read(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield the attempts of a file that ckprof wrote.

    :raises UsageError: DuckDB is not installed.
    :raises InputError: the file is damaged, or of another program.
    """
    del hints
    duckdb = _duckdb()
    try:
        with duckdb.connect() as connection:
            found = connection.execute(
                f"SELECT record, samples_ms FROM read_parquet({_quoted(path)})"  # noqa: S608
            )
            while rows := found.fetchmany(_BATCH):
                for record, samples in rows:
                    yield decode_attempt(json.loads(record), samples or ())
    except (duckdb.Error, msgspec.MsgspecError, ValueError) as exc:
        raise InputError(f"is no Parquet file of attempts: {exc}", path) from None


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
