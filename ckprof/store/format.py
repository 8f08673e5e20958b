"""What a format for import into stores and export out of them has to offer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.model.suggestion import unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.dtype import DataType
    from ckprof.plugin.manager import PluginManager
    from ckprof.store.attempt import Attempt
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportHints:
    """What the user says about a file that does not say it itself."""

    direction: str = ""
    target: str = ""
    arch: str = ""
    #: name of the device
    device: str = ""
    dtype: DataType | None = None
    #: name of the layout
    layout: str = ""
    #: names for the session that the file becomes
    tags: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class ExportResult:
    """What an export wrote."""

    rows: int = 0
    #: why something has no place in the format -> how much of it
    left_out: Counter[str] = field(default_factory=Counter)


Reader = Callable[[Path, ImportHints], "Iterator[Attempt]"]
Writer = Callable[["Store", "StoreQuery", Path], ExportResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFormat:
    """A format; either of ``read`` and ``write`` may be missing."""

    id: str
    label: str
    #: endings of file names that mean this format, with their dots
    suffixes: tuple[str, ...] = ()
    #: yields the attempts of a file; raises :class:`~ckprof.errors.InputError` for one that cannot be used
    read: Reader | None = None
    #: writes what a query asks for into a file, at once or not at all
    write: Writer | None = None
    #: says whether a file that begins like this is in the format
    recognises: Callable[[bytes], bool] = lambda head: False


class StoreFormats:
    """All formats that plugins provide.

    :param manager: the plugins.
    :raises PluginError: two formats have the same id, or something else was registered.
    """

    def __init__(self, manager: PluginManager) -> None:
        self._formats: dict[str, StoreFormat] = {}
        for plugin, added in manager.call("ckprof_register_store_formats"):
            for one in _checked(plugin, added):
                if one.id in self._formats:
                    raise PluginError(f"plugin {plugin}: a store format {one.id!r} exists already")
                self._formats[one.id] = one

    @property
    def ids(self) -> list[str]:
        """Ids of all formats, sorted."""
        return sorted(self._formats)

    def find(self, format_id: str) -> StoreFormat:
        """Return the format of that id.

        :raises UsageError: there is none.
        """
        try:
            return self._formats[format_id]
        except KeyError:
            raise UsageError(unknown_name("store format", format_id, self.ids, "there is none")) from None

    def of_path(self, path: Path) -> StoreFormat:
        """Return the format that a file name means, for an export.

        :raises UsageError: none.
        """
        found = [one for one in self._formats.values() if path.name.lower().endswith(one.suffixes or ("\0",))]
        writable = [one for one in found if one.write is not None]
        if len(writable) != 1:
            raise UsageError(f"{path}: the name does not say the format: add --format {'|'.join(self.ids)}")
        return writable[0]

    def of_content(self, path: Path) -> StoreFormat:
        """Return the format that a file is in, by its beginning.

        :raises InputError: it cannot be read, or is in no known format.
        """
        try:
            with path.open("rb") as stream:
                head = stream.read(_HEAD_BYTES)
        except OSError as exc:
            raise InputError(f"cannot be read: {exc.strerror}", path) from None
        for format_id in self.ids:
            one = self._formats[format_id]
            if one.read is not None and one.recognises(head):
                return one
        readable = [name for name in self.ids if self._formats[name].read is not None]
        raise InputError(f"in none of the known formats ({', '.join(readable)})", path)


_HEAD_BYTES = 65_536


def _checked(plugin: str, added: object) -> Sequence[StoreFormat]:
    found: list[StoreFormat] = []
    for one in added if isinstance(added, (list, tuple)) else [added]:
        if not isinstance(one, StoreFormat):
            raise PluginError(f"plugin {plugin}: {one!r} is no store format")
        found.append(one)
    return found
