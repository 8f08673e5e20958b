"""Which format a file is in, of those that stores import and export."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.files import scratch_folder, write_output
from ckprof.store.attempt import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterator

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
