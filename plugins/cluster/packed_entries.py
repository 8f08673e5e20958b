"""Entries of an object cache on their way to the cache of another machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.kernels.build.cache import OBJECT, RECORD, Group

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.kernels.build.cache import ObjectCache


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedEntry:
    """One object with its record."""

    key: str
    object: bytes
    record: bytes
    #: (content key, symbol) of each kernel, if the object holds several
    members: tuple[tuple[str, str], ...] = ()


def pack(cache: ObjectCache, keys: Iterable[str]) -> list[PackedEntry]:
    """Return the objects that hold some kernels; kernels that the cache does not hold are left out.

    :param keys: content keys of kernels.
    """
    packed: dict[str, PackedEntry] = {}
    for key in keys:
        group = None if cache.find(key) is not None else cache.notes.group_of(key)
        holder = group.key if group is not None else key
        if holder in packed or cache.find(holder) is None:
            continue
        folder = cache.entry(holder)
        packed[holder] = PackedEntry(
            key=holder,
            object=(folder / OBJECT).read_bytes(),
            record=(folder / RECORD).read_bytes(),
            members=group.members if group is not None else (),
        )
    return list(packed.values())


def unpack(cache: ObjectCache, entries: Iterable[PackedEntry]) -> int:
    """Add objects to a cache, and return how many of them it did not have.

    :raises ToolchainError: the cache cannot be written.
    """
    added = 0
    for entry in entries:
        folder_in_cache = cache.entry(entry.key)
        if cache.find(entry.key) is None:
            with cache.staging() as staging:
                try:
                    folder = staging / entry.key
                    folder.mkdir()
                    (folder / OBJECT).write_bytes(entry.object)
                    (folder / RECORD).write_bytes(entry.record)
                    folder_in_cache.parent.mkdir(parents=True, exist_ok=True)
                    folder.rename(folder_in_cache)
                except FileExistsError:
                    pass  # somebody else was quicker
                except OSError as exc:
                    if not folder_in_cache.exists():
                        raise cache.unwritable(exc.strerror or str(exc)) from exc
            # one that was damaged on its way is removed, and compiled here
            added += cache.find(entry.key) is not None
        if entry.members:
            cache.notes.note_group(Group(key=entry.key, members=entry.members))
    return added
