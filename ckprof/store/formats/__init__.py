"""Which format a file is in, of those that stores import and export, and attempts as flat rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.files import scratch_folder, write_output
from ckprof.model.problem import ColumnProblem
from ckprof.model.problem_types import known_problem_types
from ckprof.store.attempt import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.outcome import Measurement, Verification
    from ckprof.model.problem import Problem
    from ckprof.plugin.kinds import RegistryEntries
    from ckprof.plugin.protocols import StoreFormat
    from ckprof.plugin.protocols.formats import ExportResult, ImportHints
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store


_HEAD_BYTES: Final = 65_536
_BLOCK_BYTES: Final = 2**20


def format_of_path(formats: RegistryEntries[StoreFormat], path: Path) -> StoreFormat:
    """Return the format that a file name means, for an export.

    :raises UsageError: none.
    """
    name = path.name.lower()
    writable = [
        format_
        for format_ in formats
        if format_.write is not None and name.endswith(format_.suffixes or ("\0",))
    ]
    if len(writable) != 1:
        raise UsageError(f"{path}: the name does not say the format: add --format {'|'.join(formats.ids)}")
    return writable[0]


def read_attempts(
    formats: RegistryEntries[StoreFormat], path: Path, hints: ImportHints, format_id: str = ""
) -> Iterator[Attempt]:
    """Return the attempts of a file.

    :param format_id: its format; by default the one that its beginning means.
    :raises UsageError: there is no such format, or it can only be exported.
    :raises InputError: the file cannot be read, or is in no known format.
    :raises PluginError: while the attempts are read: the format yields something else.
    """
    chosen = formats.find(format_id) if format_id else format_of_content(formats, path)
    if chosen.read is None:
        raise UsageError(f"results import: the format {chosen.id} can only be exported")
    origin = f"plugin {formats.provider(chosen.id)}: store format {chosen.id!r}"
    return _checked(chosen.read(path, hints), origin)


def format_to_write(formats: RegistryEntries[StoreFormat], path: Path, format_id: str = "") -> StoreFormat:
    """Return the format of an export.

    :param format_id: its id; by default the one that the file's name means.
    :raises UsageError: there is no such format, or it can only be imported.
    """
    chosen = formats.find(format_id) if format_id else format_of_path(formats, path)
    if chosen.write is None:
        raise UsageError(f"results export: the format {chosen.id} can only be imported")
    return chosen


def write_file(
    formats: RegistryEntries[StoreFormat], chosen: StoreFormat, store: Store, query: StoreQuery, path: Path
) -> ExportResult:
    """Export a store; the file is complete or as it was, whatever the format does.

    :param chosen: its format, which can be written.
    :raises InputError: the file cannot be written.
    """
    write = chosen.write
    if write is None:
        raise ValueError(f"the format {chosen.id} can only be imported")
    with scratch_folder() as folder:
        written = folder / (path.name or "export")
        result = write(store, query, written)
        if not written.is_file():
            origin = f"plugin {formats.provider(chosen.id)}: store format {chosen.id!r}"
            raise PluginError(f"{origin}: write has left no file")
        with written.open("rb") as stream:
            write_output(path, iter(partial(stream.read, _BLOCK_BYTES), b""))
    return result


def format_of_content(formats: RegistryEntries[StoreFormat], path: Path) -> StoreFormat:
    """Return the format that a file is in, by its beginning.

    :raises InputError: it cannot be read, or is in no known format.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    readable = [format_ for format_ in formats if format_.read is not None]
    for candidate in readable:
        if candidate.recognises(head):
            return candidate
    raise InputError(f"in none of the known formats ({', '.join(format_.id for format_ in readable)})", path)


def _checked(attempts: Iterator[object], origin: str) -> Iterator[Attempt]:
    for attempt in attempts:
        if not isinstance(attempt, Attempt):
            raise PluginError(f"{origin}: read yields {type(attempt).__name__}, expected Attempt")
        yield attempt


ColumnType = type[int] | type[float] | type[str] | type[bool]

#: name -> type of the columns in front of those of problems; a column may be empty
_FIRST: Final[dict[str, ColumnType]] = {"direction": str, "api_level": str, "problem": str, "ndim": int}
#: those after them
_LAST: Final[dict[str, ColumnType]] = {
    "flop": int,
    **{"split_k": int, "instance": str, "object": str, "kernel": str, "instance_string": str},
    **{"source": str, "pipeline": str, "dtype": str, "layout": str},
    **{"target": str, "device": str, "arch": str, "compute_units": int, "compiler": str, "driver": str},
    **{"cache": str, "clock": str},
    **{"status": str, "reason": str, "requirements": str, "split_chosen": int, "ranked": bool},
    **{"median_ms": float, "spread_ms": float, "min_ms": float, "mean_ms": float, "samples": int},
    **{"gflops": float, "stopped_by": str, "units": str, "max_error": float, "wrong_elements": int},
    **{"launches": int, "checked_launches": int},
    **{
        "workspace_bytes": int,
        "marks": str,
        "started": float,
        "round": int,
        "position": int,
        "wall_s": float,
    },
    **{"load": float, "clock_mhz": float, "temperature_c": float},
    **{"session": str, "sequence": int, "host": str, "ckprof_version": str, "git_commit": str, "tags": str},
}


def row_columns() -> dict[str, ColumnType]:
    """Return name -> type of every column, those of all known types of problems among them."""
    return {**_FIRST, **_problem_columns(), **_LAST}


def _problem_columns() -> dict[str, ColumnType]:
    columns: dict[str, ColumnType] = {}
    for kind in known_problem_types():
        columns |= getattr(kind, "column_types", {})
    return columns


def flat_row(attempt: Attempt) -> dict[str, object]:
    """Return the values of :func:`row_columns`; lists are joined with commas."""
    key, kernel, seen, session = attempt.key, attempt.kernel, attempt.conditions, attempt.session
    return {
        "direction": key.operation.direction,
        "api_level": key.operation.api_level,
        **_problem(key.problem),
        "split_k": key.split_k,
        "instance": key.kernel.instance,
        "object": key.kernel.object_digest,
        "kernel": kernel.name,
        "instance_string": kernel.instance_string,
        "source": kernel.source,
        "pipeline": kernel.pipeline,
        "dtype": kernel.dtype.value if kernel.dtype is not None else "",
        "layout": kernel.layout,
        "target": key.device.target,
        "device": key.device.model,
        "arch": key.device.arch,
        "compute_units": key.device.compute_units,
        "compiler": key.toolchain.compiler,
        "driver": key.toolchain.driver,
        "cache": key.method.cache,
        "clock": key.method.clock,
        "status": attempt.status.value,
        "reason": attempt.reason,
        "requirements": ",".join(attempt.requirements),
        "split_chosen": attempt.split_chosen,
        "ranked": attempt.ranked,
        **_timing(attempt.measurement, key.problem.flop),
        **_check(attempt.verification),
        "workspace_bytes": attempt.workspace_bytes,
        "marks": ",".join(mark.value for mark in attempt.marks),
        "started": seen.started,
        "round": seen.round,
        "position": seen.order,
        "wall_s": seen.wall_s,
        "load": seen.load,
        "clock_mhz": seen.clock_mhz,
        "temperature_c": seen.temperature_c,
        "session": session.uid,
        "sequence": attempt.sequence,
        "host": session.host,
        "ckprof_version": session.ckprof_version,
        "git_commit": session.git_commit,
        "tags": ",".join(session.tags),
    }


def _problem(problem: Problem) -> dict[str, object]:
    return {
        "problem": problem.describe(),
        "ndim": problem.ndim,
        **{name: "" if kind is str else None for name, kind in _problem_columns().items()},
        **(problem.columns() if isinstance(problem, ColumnProblem) else {}),
        "flop": problem.flop,
    }


def _timing(timing: Measurement | None, flop: int) -> dict[str, object]:
    if timing is None:
        names = ("median_ms", "spread_ms", "min_ms", "mean_ms", "samples", "gflops")
        return {**dict.fromkeys(names), "stopped_by": "", "units": ""}
    return {
        "median_ms": timing.median_ms,
        "spread_ms": timing.spread_ms,
        "min_ms": timing.min_ms,
        "mean_ms": timing.mean_ms,
        "samples": timing.samples,
        "gflops": flop / timing.median_ms / 1e6 if timing.median_ms > 0 else None,
        "stopped_by": timing.stopped_by,
        "units": " ".join(timing.units),
    }


def _check(check: Verification | None) -> dict[str, object]:
    if check is None:
        return dict.fromkeys(("max_error", "wrong_elements", "launches", "checked_launches"))
    return {
        "max_error": check.max_error,
        "wrong_elements": check.wrong_elements,
        # none are known of what was stored before they were counted
        "launches": check.launches or None,
        "checked_launches": check.checked if check.launches else None,
    }
