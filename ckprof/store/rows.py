"""Between an attempt and the cells of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.model.outcome import Measurement, Status, Verification
from ckprof.store.attempt import Attempt, Conditions, Mark
from ckprof.store.samples import unpack_samples

if TYPE_CHECKING:
    from ckprof.store.parts import PartReader, PartWriter

#: columns of an attempt in the order of the rows below, but for the numbers of measurement and session
COLUMNS: Final = (
    *("sequence", "status", "reason_id", "requirements_id", "split_chosen", "workspace_bytes", "marks_id"),
    *("median_ms", "spread_ms", "min_ms", "mean_ms", "samples", "stopped_by_id"),
    *("max_error", "wrong_elements", "tolerance_id"),
    *("started", "round", "position", "wall_s", "load", "clock_mhz", "temperature_c", "extra"),
)


def encode_marks(marks: tuple[Mark, ...]) -> str:
    """Return marks as text, in the order of their definition, each once."""
    return ",".join(mark.value for mark in Mark if mark in marks)


def decode_marks(text: str) -> tuple[Mark, ...]:
    """Return the marks of a text."""
    return tuple(Mark(value) for value in text.split(",")) if text else ()


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
