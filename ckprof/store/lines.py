"""Attempts as lines of JSON: what shards and NDJSON exports hold."""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof.files import write_output
from ckprof.model.problem_types import decode_problem
from ckprof.plugin.protocols import StoreFormat
from ckprof.plugin.protocols.formats import ExportResult, ImportHints
from ckprof.store.attempt import Attempt, Mark
from ckprof.store.baselines import BaselineAttempt
from ckprof.store.errors import NewerStoreError, NotAStoreError, StoreError
from ckprof.store.rows import unstorable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ckprof.store.attempt import Attempt
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store


SCHEMA: Final = "ckprof.attempts"
#: raised whenever a field changes its meaning or vanishes
VERSION: Final = 1


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a file."""

    schema: str
    version: int


class LateMark(msgspec.Struct, frozen=True, kw_only=True):
    """A mark on an attempt that was written before."""

    session: str
    sequence: int
    mark: Mark


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Any other line: one of these."""

    attempt: Attempt | None = None
    baseline: BaselineAttempt | None = None
    mark: LateMark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that cannot be used."""

    path: Path
    #: one-based
    line: int
    reason: str
    #: the last line, which its writer did not finish: what it was adding was not stored
    torn: bool = False


_LINES: Final = msgspec.json.Decoder(Line, dec_hook=decode_problem)
_HEADERS: Final = msgspec.json.Decoder(Header)
_HEADER_START: Final = b'{"schema"'
#: bytes that are looked at together
_PIECE_BYTES: Final = 2**20
#: JSON has no infinity
_INFINITE: Final = sys.float_info.max


def header_line() -> bytes:
    """Return the first line of a file."""
    return msgspec.json.encode(Header(schema=SCHEMA, version=VERSION)) + b"\n"


def attempt_line(attempt: Attempt) -> bytes:
    """Return the line of an attempt."""
    return msgspec.json.encode(Line(attempt=finite(attempt))) + b"\n"


def baseline_line(baseline: BaselineAttempt) -> bytes:
    """Return the line of what became of a baseline."""
    error = baseline.max_error
    if error is not None and not math.isfinite(error):
        baseline = replace(baseline, max_error=_INFINITE)
    return msgspec.json.encode(Line(baseline=baseline)) + b"\n"


def mark_line(session: str, sequence: int, mark: Mark) -> bytes:
    """Return the line of a mark that is added later."""
    return msgspec.json.encode(Line(mark=LateMark(session=session, sequence=sequence, mark=mark))) + b"\n"


def read_lines(path: Path) -> Iterator[Line | BadLine]:
    """Yield what a file holds; lines that cannot be used are yielded as such.

    :raises StoreError: the file cannot be read, holds something else, or is newer than this program.
    """
    try:
        with path.open("rb") as stream:
            first = stream.readline()
            if not first.endswith(b"\n"):
                # ended while it was made: nothing was measured
                return
            _check_header(first, path)
            for number, line in enumerate(stream, 2):
                yield _decode(line, number, path)
    except OSError as exc:
        raise StoreError(f"cannot be read: {exc.strerror}", path) from None


def decode_lines(data: bytes, path: Path, start: int = 0) -> Iterator[Line | BadLine]:
    """Yield what a piece of a file holds; it begins with a line, and a header at its beginning is left out.

    :param path: for messages.
    :param start: bytes of the file before the piece.
    """
    before: int | None = None
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        if number == 1 and line.startswith(_HEADER_START):
            continue
        decoded = _decode(line, number, path)
        if isinstance(decoded, BadLine):
            if before is None:
                before = _lines_before(path, start)
            decoded = replace(decoded, line=before + number)
        yield decoded


def _lines_before(path: Path, start: int) -> int:
    """Return how many lines end before a byte of a file, which is only asked where a line is bad."""
    left, lines = start, 0
    with suppress(OSError), path.open("rb") as stream:
        while left > 0 and (data := stream.read(min(left, _PIECE_BYTES))):
            lines, left = lines + data.count(b"\n"), left - len(data)
    return lines


def _check_header(line: bytes, path: Path) -> None:
    try:
        header = _HEADERS.decode(line)
    except msgspec.MsgspecError:
        header = None
    if header is None or header.schema != SCHEMA:
        raise NotAStoreError("this is not a file of attempts: the first line does not say so", path, 1)
    if header.version > VERSION:
        raise NewerStoreError(
            f"the file has version {header.version}, this ckprof knows up to version {VERSION}; "
            "update ckprof",
            path,
        )


def _decode(line: bytes, number: int, path: Path) -> Line | BadLine:
    if not line.endswith(b"\n"):
        return BadLine(
            path=path, line=number, reason="incomplete: its writer ended while it was written", torn=True
        )
    try:
        decoded = _LINES.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, InputError) as exc:
        return BadLine(path=path, line=number, reason=str(exc))
    if decoded.attempt is None:
        return _with_infinity(decoded)
    attempt = _infinite(decoded.attempt)
    wrong = unstorable(attempt)
    return BadLine(path=path, line=number, reason=wrong) if wrong else Line(attempt=attempt)


def finite(attempt: Attempt) -> Attempt:
    """Return the attempt without infinite numbers, which JSON does not have."""
    check = attempt.verification
    if check is not None and not math.isfinite(check.max_error):
        return replace(attempt, verification=replace(check, max_error=_INFINITE))
    return attempt


def _infinite(attempt: Attempt) -> Attempt:
    """Undo :func:`finite`."""
    check = attempt.verification
    if check is not None and check.max_error == _INFINITE:
        return replace(attempt, verification=replace(check, max_error=math.inf))
    return attempt


def _with_infinity(line: Line) -> Line:
    """Undo what :func:`baseline_line` does."""
    if line.baseline is not None and line.baseline.max_error == _INFINITE:
        return Line(baseline=replace(line.baseline, max_error=math.inf))
    return line


def decode_attempt(record: object, samples_ms: Sequence[float] = ()) -> Attempt:
    """Return the attempt of a record that came from JSON.

    :param samples_ms: raw samples that were kept apart from it.
    :raises msgspec.MsgspecError: it is none.
    """
    attempt = _infinite(msgspec.convert(record, Attempt, dec_hook=decode_problem))
    if samples_ms and attempt.measurement is not None:
        return replace(attempt, measurement=replace(attempt.measurement, samples_ms=tuple(samples_ms)))
    return attempt


def read(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield the attempts of a file.

    :raises InputError: a line cannot be used; ``ckprof results merge`` goes on after such lines.
    """
    del hints
    for line in read_lines(path):
        if isinstance(line, BadLine):
            raise InputError(f"{line.reason}; 'ckprof results merge' uses the other lines", path, line.line)
        if line.attempt is not None:
            yield line.attempt


def write(store: Store, query: StoreQuery, path: Path) -> ExportResult:
    """Write every attempt with everything that is known of it."""
    result = ExportResult()

    def lines() -> Iterator[bytes]:
        yield header_line()
        for attempt in store.attempts(query):
            yield attempt_line(attempt)
            result.rows += 1

    write_output(path, lines())
    return result


FORMAT = StoreFormat(
    id="ndjson",
    label="one JSON object per attempt and line, with everything that is known of it",
    suffixes=(".ndjson", ".jsonl"),
    read=read,
    write=write,
    recognises=lambda head: f'"{SCHEMA}"'.encode() in head.partition(b"\n")[0],
)
