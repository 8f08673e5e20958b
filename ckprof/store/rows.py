"""Between attempts and the cells of their rows; what attempts sum up to."""

from __future__ import annotations

import struct
import zlib
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from ckprof.model.outcome import Conditions, Measurement, Status, Verification
from ckprof.model.ranking import kernel_time
from ckprof.store.attempt import (
    CHECKED,
    IN_ORDER,
    SPACING,
    UNITS,
    Attempt,
    Mark,
    decode_marks,
    encode_marks,
    marked_round_time,
    telling,
)
from ckprof.store.errors import DamagedRow
from ckprof.store.query import MeasurementSummary
from ckprof.store.row_types import (
    AttemptRow,
    Count,
    MeasurementRow,
    SamplesRow,
    columns_of,
    read_row,
    selected,
    typed_row_of,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from ckprof.store.parts import PartReader


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
            return _NANOSECONDS + bytes([width]) + _squeeze(_WIDTHS[width], steps, width)
    return _DOUBLES + bytes([8]) + _squeeze("d", samples_ms, 8)


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
    values = struct.unpack(f"<{count}{'d' if kind == _DOUBLES else _WIDTHS[width]}", plain)
    return values if kind == _DOUBLES else tuple(ns / _NS_PER_MS for ns in accumulate(values))


def _squeeze(code: str, values: Sequence[float], width: int) -> bytes:
    plain = struct.pack(f"<{len(values)}{code}", *values)
    return zlib.compress(b"".join(plain[index::width] for index in range(width)), 6)


T = TypeVar("T")


#: what is in ``extra`` and not what observers have seen
_OWN: Final = (CHECKED, SPACING, UNITS)


def attempt_cells(attempt: Attempt, number_of: Callable[[str], int | None]) -> tuple[Any, ...]:
    """Return the cells of an attempt's row but for the numbers of itself, measurement and session.

    :param number_of: returns that of a text.
    """
    timing, check, seen = attempt.measurement, attempt.verification, attempt.conditions
    tolerance, extra = "", {name: value for name, value in seen.extra.items() if name not in _OWN}
    if timing is not None and timing.units:
        extra[UNITS] = timing.units
    if check is not None:
        tolerance = msgspec.json.encode([check.elements, check.rtol, check.atol, check.reference]).decode()
        if check.launches:
            extra[CHECKED] = [check.checked, check.launches]
        if check.spacing:
            extra[SPACING] = check.spacing
    return (
        attempt.sequence,
        attempt.status.value,
        number_of(attempt.reason),
        number_of(msgspec.json.encode(attempt.requirements).decode() if attempt.requirements else ""),
        attempt.split_chosen,
        attempt.workspace_bytes,
        number_of(encode_marks(attempt.marks)),
        *(
            (timing.time_ms, timing.spread_ms, timing.min_ms, timing.mean_ms, timing.samples)
            if timing is not None
            else (None, None, None, None, None)
        ),
        number_of(timing.stopped_by) if timing is not None else None,
        check.max_error if check is not None else None,
        check.wrong_elements if check is not None else None,
        number_of(tolerance),
        seen.started,
        seen.round,
        seen.order,
        seen.wall_s,
        seen.load,
        seen.clock_mhz,
        seen.temperature_c,
        msgspec.json.encode(extra, order="sorted").decode() if extra else None,
    )


def unstorable(attempt: Attempt) -> str:
    """Return which figure of an attempt no store can hold, and why; empty if all are fine."""
    try:
        typed_row_of("attempts", (1, 1, 1, *attempt_cells(attempt, lambda text: 1), None))
    except DamagedRow as exc:
        return f"{exc.column}: {exc.what}"
    return ""


_WIDTH: Final = len(columns_of("attempts")) + 1


def attempt_selection(*, samples: bool) -> str:
    """Return the ``SELECT`` of attempts ``a`` for :func:`read_attempt`."""
    columns, joined = selected("attempts", "a"), ""
    if samples:
        columns += f", {selected('samples', 's')}"
        joined = " LEFT JOIN samples s ON s.attempt_id = a.id"
    return f"SELECT {columns} FROM attempts a{joined}"  # noqa: S608


def read_attempt(cells: tuple[Any, ...], parts: PartReader) -> tuple[int, Attempt]:
    """Return the number of an attempt, and the attempt.

    :param cells: those of :func:`attempt_selection`.
    :raises DamagedRow: a row that it consists of is not what was stored.
    """
    row: AttemptRow = read_row("attempts", cells[:_WIDTH])
    sampled = len(cells) > _WIDTH and cells[_WIDTH] is not None
    return row.id, attempt_of(row, read_row("samples", cells[_WIDTH:]) if sampled else None, parts)


def attempt_of(row: AttemptRow, samples: SamplesRow | None, parts: PartReader) -> Attempt:
    """Return the attempt of a row.

    :param samples: ``None`` where they were not read or do not exist.
    :raises DamagedRow: a row that it consists of is not what was stored.
    """
    key, kernel = parts.measurement(row.measurement_id)
    extra = _decoded_extra(row.id, row.extra, _EXTRA.decode) if row.extra else {}
    said = evidence(row.id, row.extra)
    for name in _OWN:
        extra.pop(name, None)
    return Attempt(
        key=key,
        session=parts.session(row.session_id),
        sequence=row.sequence,
        kernel=kernel,
        status=row.status,
        reason=parts.text(row.reason_id),
        requirements=parts.decoded(row.requirements_id, decode_requirements) or (),
        split_chosen=row.split_chosen,
        measurement=_measurement(row, samples, said, parts),
        verification=_verification(row, said, parts),
        workspace_bytes=row.workspace_bytes,
        marks=parts.decoded(row.marks_id, decode_marks) or (),
        conditions=Conditions(
            started=row.started,
            round=row.round,
            order=row.position,
            wall_s=row.wall_s,
            load=row.load,
            clock_mhz=row.clock_mhz,
            temperature_c=row.temperature_c,
            extra=extra,
        ),
    )


decode_requirements: Final = msgspec.json.Decoder(tuple[str, ...]).decode
_EXTRA: Final = msgspec.json.Decoder(dict[str, Any])


#: elements that were compared, relative and absolute tolerance, and what they were compared with
_TOLERANCE: Final = msgspec.json.Decoder(tuple[int, float, float, str])


class Evidence(msgspec.Struct, frozen=True):
    """What the cell ``extra`` of an attempt says besides what observers have seen."""

    process: int = 0
    scale: float | None = None
    device_lost: bool = False
    second: str = ""
    #: launches that were found right, and all of them
    checked: tuple[Count, Count] = (0, 0)
    units: tuple[str, ...] = ()
    spacing: float = 0.0


_EVIDENCE: Final = msgspec.json.Decoder(Evidence)
_NO_EVIDENCE: Final = Evidence()


def evidence(number: int, extra: str | None) -> Evidence:
    """Return what the cell ``extra`` of an attempt says.

    :raises DamagedRow: it is no such text.
    """
    return _decoded_extra(number, extra, _EVIDENCE.decode) if extra else _NO_EVIDENCE


def _decoded_extra(number: int, extra: str, decode: Callable[[str], T]) -> T:
    try:
        return decode(extra)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as exc:
        raise DamagedRow("attempts", number, "extra", f"{exc}, found {extra!r:.60}") from None


def _measurement(
    row: AttemptRow, samples: SamplesRow | None, said: Evidence, parts: PartReader
) -> Measurement | None:
    if row.time_ms is None:
        return None
    for name in ("spread_ms", "min_ms", "mean_ms", "samples"):
        if getattr(row, name) is None:
            raise DamagedRow("attempts", row.id, name, "is missing beside a median")
    try:
        taken = unpack_samples(samples[1]) if samples is not None else ()
    except ValueError as exc:
        raise DamagedRow("samples", row.id, "data", str(exc)) from None
    return Measurement(
        time_ms=row.time_ms,
        spread_ms=row.spread_ms or 0.0,
        min_ms=row.min_ms or 0.0,
        mean_ms=row.mean_ms or 0.0,
        samples=row.samples or 0,
        stopped_by=parts.text(row.stopped_by_id),
        samples_ms=taken,
        units=said.units,
    )


def _verification(row: AttemptRow, said: Evidence, parts: PartReader) -> Verification | None:
    if row.wrong_elements is None:
        return None
    tolerance = parts.decoded(row.tolerance_id, _TOLERANCE.decode)
    if tolerance is None or row.max_error is None:
        missing = "tolerance_id" if tolerance is None else "max_error"
        raise DamagedRow("attempts", row.id, missing, "is missing beside a count of wrong elements")
    elements, rtol, atol, reference = tolerance
    checked, launches = said.checked
    return Verification(
        max_error=row.max_error,
        wrong_elements=row.wrong_elements,
        elements=elements,
        rtol=rtol,
        atol=atol,
        reference=reference,
        launches=launches,
        checked=checked,
        spacing=said.spacing,
    )


def figures(connection: sqlite3.Connection, measurement: int) -> dict[str, Any]:
    """Return what the attempts of a measurement sum up to, by column; empty if it has none.

    Its time is defined in :mod:`ckprof.model.ranking`. A kernel whose latest attempt failed has none: it is
    not ranked by the times that it once had.

    :param measurement: its number.
    :raises DamagedRow: an attempt holds what it cannot.
    """
    attempts = []
    for cells, uid, marks in _of_measurement(connection, measurement, selected("attempts", "a")):
        attempts.append((typed_row_of("attempts", cells), uid, marks))
    if not attempts:
        return {}
    told = telling(attempts, lambda one: one[2])
    rounds = []
    for row, uid, marks in told:
        if row.status is Status.OK and row.wrong_elements == 0 and row.time_ms is not None:
            seen = evidence(row.id, row.extra)
            rounds.append(
                marked_round_time(
                    row.time_ms,
                    row.spread_ms or 0.0,
                    uid,
                    row.round,
                    row.started,
                    marks,
                    seen.process,
                    seen.scale,
                )
            )
    status = told[-1][0].status
    time = None if status.is_failure else kernel_time(rounds)
    low_ms, high_ms = time.interval_ms if time else (None, None)
    return {
        "status": status.value,
        "attempts": len(attempts),
        "ranked": len(rounds),
        "pruned": int(time is not None and time.pruned),
        "time_ms": time.time_ms if time else None,
        "low_ms": low_ms,
        "high_ms": high_ms,
        "min_ms": min(round_time.time_ms for round_time in time.rounds) if time else None,
    }


def summary_of(connection: sqlite3.Connection, parts: PartReader, number: int) -> MeasurementSummary:
    """Return everything that was measured for one key.

    :param number: of the measurement.
    :raises DamagedRow: a row is not what was stored, or an attempt has marks or evidence that it cannot have.
    """
    key, kernel = parts.measurement(number)
    row: MeasurementRow = parts.row("measurements", number)
    attempts = list(_of_measurement(connection, number, "a.reason_id, a.id, a.extra"))
    told = telling(attempts, lambda one: one[2])
    seen = [evidence(attempt, extra) for (_, attempt, extra), _, _ in attempts]
    unknown = bool(told) and Mark.NOT_LAUNCHED in told[-1][2]
    return MeasurementSummary(
        key=key,
        kernel=kernel,
        status=row.status,
        reason=parts.text(told[-1][0][0] if told else None),
        attempts=row.attempts,
        ranked_attempts=row.ranked,
        time_ms=row.time_ms,
        low_ms=row.low_ms,
        high_ms=row.high_ms,
        min_ms=row.min_ms,
        devices_lost=sum(one.device_lost for one in seen) if unknown else 0,
        launches=sum(one.checked[1] for one in seen),
        checked=sum(one.checked[0] for one in seen),
    )


def _of_measurement(
    connection: sqlite3.Connection, measurement: int, columns: str
) -> Iterator[tuple[tuple[Any, ...], str, tuple[Mark, ...]]]:
    """Yield cells, session and marks of each attempt of a measurement, the latest one last.

    :param columns: of attempts ``a``, whose cells are asked for.
    """
    rows = connection.execute(
        f"SELECT a.marks_id, t.body, s.uid, {columns} "  # noqa: S608
        "FROM attempts a JOIN sessions s ON s.id = a.session_id LEFT JOIN texts t ON t.id = a.marks_id "
        f"WHERE a.measurement_id = ? {IN_ORDER}",
        (measurement,),
    )
    for number, text, uid, *cells in rows:
        yield tuple(cells), uid, marks_of(number or 0, text)


def marks_of(number: int, text: str | None) -> tuple[Mark, ...]:
    """Return the marks of a text that was read.

    :param number: of the text.
    :raises DamagedRow: it holds something else.
    """
    try:
        return decode_marks(text or "")
    except (ValueError, AttributeError) as exc:
        raise DamagedRow("texts", number, "body", str(exc)) from None


def sum_up(connection: sqlite3.Connection, measurement: int) -> None:
    """Bring the figures of a measurement up to date with its attempts; the digest is left to the caller.

    :param measurement: its number; a measurement without attempts is removed.
    :raises DamagedRow: an attempt holds what it cannot.
    """
    found = figures(connection, measurement)
    if not found:
        connection.execute("DELETE FROM measurements WHERE id = ?", (measurement,))
        return
    cells = ", ".join(f"{name} = :{name}" for name in found)
    connection.execute(f"UPDATE measurements SET {cells} WHERE id = :id", {**found, "id": measurement})  # noqa: S608
