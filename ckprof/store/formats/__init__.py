"""Which format a file is in, of those that stores import and export, and attempts as flat rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, PluginError, UsageError, system_errors
from ckprof.files import scratch_folder, write_output
from ckprof.model.problem import ColumnProblem
from ckprof.model.problem_types import known_problem_types
from ckprof.store.attempt import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ckprof.plugin.additions import RegistryEntries
    from ckprof.plugin.protocols import StoreFormat
    from ckprof.plugin.protocols.converters import ExportResult, ImportHints
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
    with system_errors(InputError, "cannot be read", path):
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
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
#: name -> type and value of a column; a column may be empty
_Columns = dict[str, tuple[ColumnType, "Callable[[Attempt], object]"]]

#: in front of the columns of problems
_FIRST: Final[_Columns] = {
    "direction": (str, lambda one: one.key.operation.direction),
    "api_level": (str, lambda one: one.key.operation.api_level),
    "problem": (str, lambda one: one.key.problem.describe()),
    "ndim": (int, lambda one: one.key.problem.ndim),
}
#: after them; lists are joined with commas
_LAST: Final[_Columns] = {
    "flop": (int, lambda one: one.key.problem.flop),
    "split_k": (int, lambda one: one.key.split_k),
    "instance": (str, lambda one: one.key.kernel.instance),
    "object": (str, lambda one: one.key.kernel.object_digest),
    "kernel": (str, lambda one: one.kernel.name),
    "instance_string": (str, lambda one: one.kernel.instance_string),
    "source": (str, lambda one: one.kernel.source),
    "pipeline": (str, lambda one: one.kernel.pipeline),
    "dtype": (str, lambda one: one.kernel.dtype.value if one.kernel.dtype is not None else ""),
    "layout": (str, lambda one: one.kernel.layout),
    "target": (str, lambda one: one.key.device.target),
    "device": (str, lambda one: one.key.device.model),
    "arch": (str, lambda one: one.key.device.arch),
    "compute_units": (int, lambda one: one.key.device.compute_units),
    "compiler": (str, lambda one: one.key.toolchain.compiler),
    "driver": (str, lambda one: one.key.toolchain.driver),
    "cache": (str, lambda one: one.key.method.cache),
    "clock": (str, lambda one: one.key.method.clock),
    "status": (str, lambda one: one.status.value),
    "reason": (str, lambda one: one.reason),
    "requirements": (str, lambda one: ",".join(one.requirements)),
    "split_chosen": (int, lambda one: one.split_chosen),
    "ranked": (bool, lambda one: one.ranked),
    "time_ms": (float, lambda one: one.measurement and one.measurement.time_ms),
    "spread_ms": (float, lambda one: one.measurement and one.measurement.spread_ms),
    "min_ms": (float, lambda one: one.measurement and one.measurement.min_ms),
    "mean_ms": (float, lambda one: one.measurement and one.measurement.mean_ms),
    "samples": (int, lambda one: one.measurement and one.measurement.samples),
    "gflops": (float, lambda one: _gflops(one)),
    "stopped_by": (str, lambda one: one.measurement.stopped_by if one.measurement else ""),
    "units": (str, lambda one: " ".join(one.measurement.units) if one.measurement else ""),
    "max_error": (float, lambda one: one.verification and one.verification.max_error),
    "error_ulp": (float, lambda one: one.verification and one.verification.error_ulp),
    "wrong_elements": (int, lambda one: one.verification and one.verification.wrong_elements),
    # none are known of what was stored before they were counted
    "launches": (int, lambda one: one.verification and (one.verification.launches or None)),
    "checked_launches": (
        int,
        lambda one: one.verification.checked if one.verification and one.verification.launches else None,
    ),
    "workspace_bytes": (int, lambda one: one.workspace_bytes),
    "marks": (str, lambda one: ",".join(mark.value for mark in one.marks)),
    "started": (float, lambda one: one.conditions.started),
    "round": (int, lambda one: one.conditions.round),
    "position": (int, lambda one: one.conditions.order),
    "wall_s": (float, lambda one: one.conditions.wall_s),
    "load": (float, lambda one: one.conditions.load),
    "clock_mhz": (float, lambda one: one.conditions.clock_mhz),
    "temperature_c": (float, lambda one: one.conditions.temperature_c),
    "session": (str, lambda one: one.session.uid),
    "sequence": (int, lambda one: one.sequence),
    "host": (str, lambda one: one.session.host),
    "ckprof_version": (str, lambda one: one.session.ckprof_version),
    "git_commit": (str, lambda one: one.session.git_commit),
    "tags": (str, lambda one: ",".join(one.session.tags)),
}


def row_columns() -> dict[str, ColumnType]:
    """Return name -> type of every column, those of all known types of problems among them."""
    first, last = ({name: kind for name, (kind, _) in columns.items()} for columns in (_FIRST, _LAST))
    return {**first, **_problem_columns(), **last}


def _problem_columns() -> dict[str, ColumnType]:
    columns: dict[str, ColumnType] = {}
    for kind in known_problem_types():
        columns |= getattr(kind, "column_types", {})
    return columns


def flat_row(attempt: Attempt) -> dict[str, object]:
    """Return the values of :func:`row_columns`."""
    problem = attempt.key.problem
    return {
        **{name: value(attempt) for name, (_, value) in _FIRST.items()},
        **{name: "" if kind is str else None for name, kind in _problem_columns().items()},
        **(problem.columns() if isinstance(problem, ColumnProblem) else {}),
        **{name: value(attempt) for name, (_, value) in _LAST.items()},
    }


def _gflops(attempt: Attempt) -> float | None:
    timing = attempt.measurement
    return attempt.key.problem.flop / timing.time_ms / 1e6 if timing and timing.time_ms > 0 else None
