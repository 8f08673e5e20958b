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
from ckprof.sweep.cluster.leases import LeasePolicy
from ckprof.sweep.cluster.messages import ReferencePolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

#: keys and tables that are read here; all others belong to the engine
_OWN: Final = ("engine", "transport", "lease", "reference")
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


class Lease(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """See :class:`~ckprof.sweep.cluster.leases.LeasePolicy`."""

    silence_s: float = LeasePolicy().silence_s
    attempts: int = LeasePolicy().attempts


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """See :class:`~ckprof.sweep.cluster.messages.ReferencePolicy`."""

    every: int = ReferencePolicy().every
    samples: int = ReferencePolicy().samples
    limit: float = ReferencePolicy().limit
    sigmas: float = ReferencePolicy().sigmas
    park_s: float = ReferencePolicy().park_s


class _Own(msgspec.Struct, frozen=True, kw_only=True):
    engine: str = ""
    transport: Transport = Transport()
    lease: Lease = Lease()
    reference: Reference = Reference()


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

    def convert(self, kind: type[T], *, known: tuple[str, ...] = ()) -> T:
        """Return the engine's tables as a type that msgspec knows.

        :param known: top-level tables that there are, for the message about one that there is not.
        :raises InputError: a key or value is wrong; the message has its line.
        """
        for name in self.tables:
            if known and name not in known:
                raise self.error(
                    f"there is no table {name!r}, expected one of {', '.join((*_OWN, *known))}", name
                )
        return _convert(self.tables, kind, self.path, self.text)

    def error(self, message: str, place: str) -> InputError:
        """Return the error for a key.

        :param place: its path, e.g. ``pools.run.walltime``.
        """
        return InputError(message, self.path, line_of(self.text, place))


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
        found = re.search(r"line (\d+)", str(exc))
        raise InputError(f"not valid TOML: {exc}", path, int(found[1]) if found else None) from None
    own = _convert({name: values.pop(name) for name in _OWN if name in values}, _Own, path, text)
    transport = own.transport

    def wrong(message: str, place: str) -> InputError:
        return InputError(message, path, line_of(text, place))

    if transport.kind not in ("folder", "engine"):
        raise wrong(f"the transport is {transport.kind!r}, expected folder or engine", "transport.kind")
    if transport.kind == "folder" and not transport.path:
        raise wrong("a folder that all machines see needs a path = ...", "transport.kind")
    if transport.kind == "engine" and transport.path:
        raise wrong('a path is for kind = "folder"', "transport.path")
    try:
        return ClusterSettings(
            path=path,
            text=text,
            engine=own.engine,
            tables=values,
            folder=Path(transport.path) if transport.path else None,
            lease=LeasePolicy(silence_s=own.lease.silence_s, attempts=own.lease.attempts),
            reference=ReferencePolicy(**msgspec.structs.asdict(own.reference)),
        )
    except UsageError as exc:
        message = str(exc)
        place = "reference" if message.startswith(Reference.__struct_fields__) else "lease"
        raise wrong(message, place) from None


def _convert(values: Mapping[str, object], kind: type[T], path: Path, text: str) -> T:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as exc:
        message = str(exc)
        found = _ERROR_PLACE.search(message)
        place = cast("str", found[1]) if found else ""
        unknown = _UNKNOWN.search(message)
        if found:
            message = message[: found.start()]
        if unknown:
            place = f"{place}.{unknown[1]}" if place else unknown[1]
            message = f"unknown key {unknown[1]!r}"
        raise InputError(f"{place}: {message}" if place else message, path, line_of(text, place)) from None


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
