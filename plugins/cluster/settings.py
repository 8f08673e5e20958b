"""The settings file of ``--cluster``: what concerns every engine here, the rest is for the engine.

Whatever is wrong is reported with the line of the file.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

import msgspec

from ckprof.errors import InputError, UsageError
from ckprof_plugins.cluster.leases import LeasePolicy
from ckprof_plugins.cluster.messages import ReferencePolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

#: keys and tables that are read here; all others belong to the engine
_COMMON: Final = ("engine", "transport", "lease", "reference", "merge")
_TABLE: Final = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY: Final = re.compile(r"""\s*["']?([A-Za-z0-9_-]+)["']?\s*=""")
_ERROR_PLACE: Final = re.compile(r" - at `\$\.?([^`]*)`$")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]+)`")


class Transport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How libraries reach workers, and outcomes the coordinator."""

    #: ``folder`` that all machines see, or through the ``engine``
    kind: str = "engine"
    #: the folder
    path: str = ""


class MergePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How shards are merged; the table ``merge`` of a settings file.

    :raises UsageError: a value is out of range.
    """

    #: processes of the coordinator's machine that read shards; ``None``: as many as it has CPUs to spare
    processes: int | None = None

    def __post_init__(self) -> None:
        if self.processes is not None and self.processes < 0:
            raise UsageError(f"{self.processes} processes read shards, expected none or more")


class _CommonTables(msgspec.Struct, frozen=True, kw_only=True):
    engine: str = ""
    transport: Transport = Transport()
    lease: LeasePolicy = LeasePolicy()
    reference: ReferencePolicy = ReferencePolicy()
    merge: MergePolicy = MergePolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """A settings file that was read."""

    path: Path
    #: its text, in which lines are looked up
    text: str
    #: id of the engine; empty where ``--engine`` has to say it
    engine: str = ""
    #: tables that are for the engine
    tables: Mapping[str, object] = field(default_factory=dict)
    #: folder that all machines see; ``None``: everything travels through the engine
    folder: Path | None = None
    lease: LeasePolicy = field(default_factory=LeasePolicy)
    reference: ReferencePolicy = field(default_factory=ReferencePolicy)
    merge: MergePolicy = field(default_factory=MergePolicy)

    def convert(self, kind: type[T], *, known: tuple[str, ...] = ()) -> T:
        """Return the engine's tables as a type that msgspec knows.

        :param known: top-level tables that there are, for the message about one that there is not.
        :raises InputError: a key or value is wrong; the message has its line.
        """
        for name in self.tables:
            if known and name not in known:
                raise self.error(
                    f"there is no table {name!r}, expected one of {', '.join((*_COMMON, *known))}", name
                )
        return _convert(self.tables, kind, self.path, self.text)

    def error(self, message: str, key: str) -> InputError:
        """Return the error for a key.

        :param key: its path, e.g. ``pools.run.walltime``.
        """
        return InputError(message, self.path, line_of(self.text, key))


def read_settings(path: Path) -> ClusterSettings:
    """Read a settings file.

    :raises InputError: it cannot be read, or a key or value of the tables for all engines is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
        values: dict[str, object] = tomllib.loads(text)
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        line = re.search(r"line (\d+)", str(exc))
        raise InputError(f"not valid TOML: {exc}", path, int(line[1]) if line else None) from None
    tables: dict[str, object] = {name: values.pop(name) for name in _COMMON if name in values}
    try:
        common = _convert(tables, _CommonTables, path, text)
    except UsageError as exc:
        key = "reference" if str(exc).startswith(ReferencePolicy.__struct_fields__) else "lease"
        key = "merge.processes" if "read shards" in str(exc) else key
        raise InputError(str(exc), path, line_of(text, key)) from None
    transport = common.transport

    def wrong(message: str, key: str) -> InputError:
        return InputError(message, path, line_of(text, key))

    if transport.kind not in ("folder", "engine"):
        raise wrong(f"the transport is {transport.kind!r}, expected folder or engine", "transport.kind")
    if transport.kind == "folder" and not transport.path:
        raise wrong("a folder that all machines see needs a path = ...", "transport.kind")
    if transport.kind == "engine" and transport.path:
        raise wrong('a path is for kind = "folder"', "transport.path")
    return ClusterSettings(
        path=path,
        text=text,
        engine=common.engine,
        tables=values,
        folder=Path(transport.path) if transport.path else None,
        lease=common.lease,
        reference=common.reference,
        merge=common.merge,
    )


def _convert(values: Mapping[str, object], kind: type[T], path: Path, text: str) -> T:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as exc:
        message = str(exc)
        location = _ERROR_PLACE.search(message)
        key = cast("str", location[1]) if location else ""
        unknown = _UNKNOWN.search(message)
        if location:
            message = message[: location.start()]
        if unknown:
            key = f"{key}.{unknown[1]}" if key else unknown[1]
            message = f"unknown key {unknown[1]!r}"
        raise InputError(f"{key}: {message}" if key else message, path, line_of(text, key)) from None


def line_of(text: str, place: str) -> int | None:
    """Return the line of a key, or of the innermost table around it that the file has.

    :param place: path of the key, its parts separated by dots.
    """
    parts = [part for part in re.split(r"\.|\[\d*\]|\[\.\.\.\]", place) if part]
    best: tuple[int, int] | None = None
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        header = _TABLE.match(line)
        if header:
            table = [part.strip().strip("\"'") for part in header[1].split(".")]
            here = table
        else:
            key = _KEY.match(line)
            if key is None:
                continue
            here = [*table, key[1]]
        shared = min(len(here), len(parts))
        if shared and here[:shared] == parts[:shared] and (best is None or shared > best[0]):
            best = shared, number
    return best[1] if best else None
