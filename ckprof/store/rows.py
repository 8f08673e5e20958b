"""Between attempts and the cells of their rows, with few bytes of raw samples; what attempts sum up to."""

from __future__ import annotations

import sys
import zlib
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.model.outcome import Conditions, Measurement, Status, Verification
from ckprof.model.ranking import kernel_time
from ckprof.store.attempt import (
    PROCESS_PATH,
    SCALE_PATH,
    Attempt,
    Mark,
    decode_marks,
    encode_marks,
    marked_round_time,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from ckprof.store.parts import PartReader, PartWriter


#: columns of an attempt in the order of the rows below, but for the numbers of measurement and session
COLUMNS: Final = (
    *("sequence", "status", "reason_id", "requirements_id", "split_chosen", "workspace_bytes", "marks_id"),
    *("median_ms", "spread_ms", "min_ms", "mean_ms", "samples", "stopped_by_id"),
    *("max_error", "wrong_elements", "tolerance_id"),
    *("started", "round", "position", "wall_s", "load", "clock_mhz", "temperature_c", "extra"),
)


def attempt_cells(attempt: Attempt, parts: PartWriter) -> tuple[Any, ...]:
    """Return the cells of :data:`COLUMNS`."""
    timing, check, seen = attempt.measurement, attempt.verification, attempt.conditions
    tolerance = ""
    if check is not None:
        where = [check.reference] if check.reference else []
        tolerance = msgspec.json.encode([check.elements, check.rtol, check.atol, *where]).decode()
    return (
        attempt.sequence,
        attempt.status.value,
        parts.text(attempt.reason),
        parts.text(msgspec.json.encode(attempt.requirements).decode() if attempt.requirements else ""),
        attempt.split_chosen,
        attempt.workspace_bytes,
        parts.text(encode_marks(attempt.marks)),
        *(
            (timing.median_ms, timing.spread_ms, timing.min_ms, timing.mean_ms, timing.samples)
            if timing is not None
            else (None, None, None, None, None)
        ),
        parts.text(timing.stopped_by) if timing is not None else None,
        check.max_error if check is not None else None,
        check.wrong_elements if check is not None else None,
        parts.text(tolerance),
        seen.started,
        seen.round,
        seen.order,
        seen.wall_s,
        seen.load,
        seen.clock_mhz,
        seen.temperature_c,
        msgspec.json.encode(seen.extra, order="sorted").decode() if seen.extra else None,
    )


def attempt_of(
    measurement_id: int, session_id: int, cells: tuple[Any, ...], samples: bytes | None, parts: PartReader
) -> Attempt:
    """Return the attempt of a row.

    :param cells: those of :data:`COLUMNS`.
    :param samples: the compressed raw samples; ``None`` where they were not read or do not exist.
    """
    row = dict(zip(COLUMNS, cells, strict=True))
    key, kernel = parts.measurement(measurement_id)
    requirements = parts.text(row["requirements_id"])
    return Attempt(
        key=key,
        session=parts.session(session_id),
        sequence=row["sequence"],
        kernel=kernel,
        status=Status(row["status"]),
        reason=parts.text(row["reason_id"]),
        requirements=tuple(msgspec.json.decode(requirements)) if requirements else (),
        split_chosen=row["split_chosen"],
        measurement=_measurement(row, samples, parts),
        verification=_verification(row, parts),
        workspace_bytes=row["workspace_bytes"],
        marks=decode_marks(parts.text(row["marks_id"])),
        conditions=Conditions(
            started=row["started"],
            round=row["round"],
            order=row["position"],
            wall_s=row["wall_s"],
            load=row["load"],
            clock_mhz=row["clock_mhz"],
            temperature_c=row["temperature_c"],
            extra=msgspec.json.decode(row["extra"]) if row["extra"] else {},
        ),
    )


def _measurement(row: dict[str, Any], samples: bytes | None, parts: PartReader) -> Measurement | None:
    if row["median_ms"] is None:
        return None
    return Measurement(
        median_ms=row["median_ms"],
        spread_ms=row["spread_ms"],
        min_ms=row["min_ms"],
        mean_ms=row["mean_ms"],
        samples=row["samples"],
        stopped_by=parts.text(row["stopped_by_id"]),
        samples_ms=unpack_samples(samples) if samples is not None else (),
    )


def _verification(row: dict[str, Any], parts: PartReader) -> Verification | None:
    if row["wrong_elements"] is None:
        return None
    # where it was verified is missing in stores that are older than device references
    elements, rtol, atol, *where = msgspec.json.decode(parts.text(row["tolerance_id"]))
    # SQLite has no NaN: it becomes NULL, and a result with a NaN in it is infinitely wrong
    error = row["max_error"] if row["max_error"] is not None else float("inf")
    return Verification(
        max_error=error,
        wrong_elements=row["wrong_elements"],
        elements=elements,
        rtol=rtol,
        atol=atol,
        reference=where[0] if where else "",
    )


#: whole nanoseconds, as differences from one sample to the next
_NANOSECONDS: Final = b"n"
#: doubles, for samples that are not whole nanoseconds
_DOUBLES: Final = b"d"
_NS_PER_MS: Final = 1_000_000
#: differences are stored in 4 bytes, or in 8 where one does not fit
_WIDTHS: Final = {4: "i", 8: "q"}
_LIMIT_4: Final = 2**31


def pack_samples(samples_ms: Sequence[float]) -> bytes:
    """Return the samples compressed.

    Timers count whole nanoseconds, so differences between samples are small integers: with their bytes
    grouped by significance these compress to a quarter of the doubles. Other samples are kept as doubles.
    """
    if all(abs(sample) < 2**33 for sample in samples_ms):
        nanoseconds = [round(sample * _NS_PER_MS) for sample in samples_ms]
        if all(ns / _NS_PER_MS == ms for ns, ms in zip(nanoseconds, samples_ms, strict=True)):
            steps = [b - a for a, b in zip([0, *nanoseconds], nanoseconds, strict=False)]
            width = 4 if all(-_LIMIT_4 <= step < _LIMIT_4 for step in steps) else 8
            return _NANOSECONDS + bytes([width]) + _squeeze(array(_WIDTHS[width], steps), width)
    return _DOUBLES + bytes([8]) + _squeeze(array("d", samples_ms), 8)


def unpack_samples(data: bytes) -> tuple[float, ...]:
    """Return the samples that :func:`pack_samples` compressed.

    :raises ValueError: the bytes are damaged.
    """
    kind, width = data[:1], data[1] if len(data) > 1 else 0
    if kind not in (_NANOSECONDS, _DOUBLES) or width not in _WIDTHS:
        raise ValueError(f"samples of an unknown kind {data[:2]!r}")
    try:
        grouped = zlib.decompress(data[2:])
    except zlib.error as exc:
        raise ValueError(f"damaged samples: {exc}") from exc
    count = len(grouped) // width
    plain = bytearray(len(grouped))
    for index in range(width):
        plain[index::width] = grouped[index * count : (index + 1) * count]
    values: array[float] | array[int] = array("d" if kind == _DOUBLES else _WIDTHS[width])
    values.frombytes(bytes(plain))
    if sys.byteorder == "big":
        values.byteswap()
    if kind == _DOUBLES:
        return tuple(values)
    return tuple(ns / _NS_PER_MS for ns in accumulate(values))


def _squeeze(values: array[float] | array[int], width: int) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    plain = values.tobytes()
    return zlib.compress(b"".join(plain[index::width] for index in range(width)), 6)


def sum_up(connection: sqlite3.Connection, measurement: int) -> None:
    """Bring the figures of a measurement up to date with its attempts.

    Its time is defined in :mod:`ckprof.model.ranking`. A kernel whose latest attempt failed has none: it is
    not ranked by the times that it once had.

    :param measurement: its number; a measurement without attempts is removed.
    """
    rows = connection.execute(
        "SELECT a.status, a.wrong_elements, a.median_ms, a.spread_ms, s.uid, a.round, a.started, t.body, "
        "ifnull(json_extract(a.extra, ?), 0), json_extract(a.extra, ?) "
        "FROM attempts a JOIN sessions s ON s.id = a.session_id LEFT JOIN texts t ON t.id = a.marks_id "
        "WHERE a.measurement_id = ? ORDER BY a.started, s.uid, a.sequence",
        (PROCESS_PATH, SCALE_PATH, measurement),
    ).fetchall()
    if not rows:
        connection.execute("DELETE FROM measurements WHERE id = ?", (measurement,))
        return
    # what was never launched says nothing, unless there is nothing else
    told = [row for row in rows if Mark.NOT_LAUNCHED.value not in (row[7] or "").split(",")] or rows
    rounds = [
        marked_round_time(
            median_ms, spread_ms, uid, round_, started, decode_marks(marks or ""), process, scale
        )
        for status, wrong, median_ms, spread_ms, uid, round_, started, marks, process, scale in told
        if status == Status.OK.value and wrong == 0 and median_ms is not None
    ]
    status = told[-1][0]
    time = None if Status(status).is_failure else kernel_time(rounds)
    connection.execute(
        "UPDATE measurements SET status = ?, attempts = ?, ranked = ?, median_ms = ?, min_ms = ? "
        "WHERE id = ?",
        (
            status,
            len(rows),
            len(rounds),
            time.time_ms if time else None,
            min(round_time.median_ms for round_time in time.rounds) if time else None,
            measurement,
        ),
    )
