"""T4, the results format that autotuners share (schema 1.0.0 of the TuningSchema project).

A row's ``configuration`` is free in that format. ckprof writes there what users of other tools look for, and
the complete record of the attempt, from which it reads such a file again. Files of other tuners have no
problem and no kernel that ckprof knows.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, input_errors, system_errors
from ckprof.files import write_output
from ckprof.model.outcome import Status
from ckprof.plugin.protocols import StoreFormat
from ckprof.plugin.protocols.converters import ExportResult, ImportHints
from ckprof.store.attempt import Attempt
from ckprof.store.shard import decode_attempt

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store

SCHEMA_VERSION: Final = "1.0.0"

#: the format's word for each status
INVALIDITY: Final = {
    Status.OK: "correct",
    Status.UNSUPPORTED: "constraints",
    Status.COMPILE_ERROR: "compile",
    Status.COMPILE_TIMEOUT: "compile",
    Status.RUN_ERROR: "runtime",
    Status.RUN_TIMEOUT: "timeout",
    Status.WRONG_RESULT: "correctness",
}
#: where the complete record is
_RECORD: Final = "ckprof_attempt"


def write(store: Store, query: StoreQuery, path: Path) -> ExportResult:
    """Write one result per attempt."""
    result = ExportResult()

    def pieces() -> Iterator[bytes]:
        yield f'{{"schema_version":"{SCHEMA_VERSION}","results":['.encode()
        for attempt in store.attempts(query):
            yield (b",\n" if result.rows else b"\n") + msgspec.json.encode(_result(attempt))
            result.rows += 1
        yield b"\n]}\n"

    write_output(path, pieces())
    return result


def _result(attempt: Attempt) -> dict[str, Any]:
    timing = attempt.measurement
    started = datetime.datetime.fromtimestamp(attempt.conditions.started, datetime.timezone.utc)
    return {
        "timestamp": started.isoformat(timespec="milliseconds"),
        "configuration": {
            "kernel": attempt.kernel.name,
            "problem": attempt.key.problem.describe(),
            "split_k": attempt.key.split_k,
            **attempt.kernel.fields,
            _RECORD: attempt,
        },
        "objectives": ["time"] if timing else [],
        "times": {"runtimes": list(timing.samples_ms) if timing else []},
        "invalidity": INVALIDITY[attempt.status],
        "correctness": 1.0 if attempt.ranked else 0.0,
        "measurements": [{"name": "time", "value": timing.time_ms, "unit": "ms"}] if timing else [],
    }


def read(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield the attempts of a file that ckprof wrote.

    :raises InputError: the file is damaged, or another tuner's.
    """
    del hints
    with system_errors(InputError, "cannot be read", path):
        data = path.read_bytes()
    wrong = (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError)
    with input_errors(wrong, "is no T4 file", path):
        results = msgspec.json.decode(data)["results"]
    for number, result in enumerate(results):
        record = result.get("configuration", {}).get(_RECORD)
        if record is None:
            raise InputError(
                f"result {number} was written by another tuner: it says neither the problem nor the kernel "
                "in a way that ckprof knows",
                path,
            )
        with input_errors((msgspec.MsgspecError, InputError), f"result {number} cannot be used", path):
            yield decode_attempt(record)


FORMAT = StoreFormat(
    id="t4",
    label="T4 of autotuners such as kernel_tuner",
    suffixes=(".t4.json", ".t4"),
    read=read,
    write=write,
    recognises=lambda head: b'"schema_version"' in head[:400] and b'"results"' in head[:4000],
)
