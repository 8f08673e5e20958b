"""The content-addressed store of compiled objects.

An entry is a folder named after its key: the object, and beside it a record of size, digest and cost. It is
prepared elsewhere on the same file system and renamed into place, so an entry is there as a whole or not at
all, whoever else writes at the same time. It is checked on every use; one that does not match its record is
dropped and built again.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from filelock import Timeout

from ckprof.errors import InputError, ToolchainError
from ckprof.files import read_own, scratch_folder, write_atomically
from ckprof.kernels.keys import digest_file
from ckprof.paths import CACHE_VARIABLE
from ckprof.private_folders import lock_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: name of the compiled file in an entry
OBJECT: Final = "object.o"
#: name of the record in an entry
RECORD: Final = "entry.json"
DEFAULT_MAX_BYTES: Final = 4 * 2**30
#: an entry used this recently may be needed by a build that is still going on
_IN_USE_S: Final = 3600.0


class ObjectCache:
    """Objects by content key.

    :param root: its folder; created when something is stored.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def folder_digests(self) -> Path:
        """Where digests of header folders are kept."""
        return self.root / "folders"

    def note_group(self, key: str, members: Sequence[tuple[str, str]]) -> None:
        """Remember in which object kernels lie that were compiled together; to lose it only costs time.

        :param key: content key of the object.
        :param members: content key and symbol of each kernel.
        """
        with suppress(OSError):
            for member, _ in members:
                write_atomically(self._note(member), json.dumps({"key": key, "members": members}))

    def group_of(self, key: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the key of the object in which a kernel lies together with others, and what lies in it.

        :param key: content key of the kernel.
        :returns: an empty key if no such object is known.
        """
        try:
            note = json.loads(self._note(key).read_text())
            members = tuple((str(member), str(symbol)) for member, symbol in note["members"])
            return (str(note["key"]), members) if key in dict(members) else ("", ())
        except (OSError, ValueError, KeyError, TypeError):
            return "", ()

    def _note(self, key: str) -> Path:
        return self.root / "groups" / key[:2] / f"{key}.json"

    def entry(self, key: str) -> Path:
        """Return the folder of an entry, whether it exists or not."""
        return self.root / "entries" / key[:2] / key

    def object_path(self, key: str) -> Path:
        """Return where the object of an entry lies, whether it exists or not."""
        return self.entry(key) / OBJECT

    def prefix_entry(self, key: str) -> Path:
        """Return the folder of a prefix header, whether it exists or not."""
        return self.root / "prefixes" / key

    def find(self, key: str) -> Path | None:
        """Return the object of a valid entry; an invalid one is removed.

        :param key: content key.
        """
        folder = self.entry(key)
        if not folder.exists():
            return None
        if self._matches(folder, OBJECT):
            return folder / OBJECT
        self.drop(folder)
        return None

    def find_prefix(self, key: str, file_name: str) -> Path | None:
        """Return a precompiled header; a damaged one is removed, but not the header that others may read.

        :param key: content key.
        :param file_name: name of the precompiled file.
        """
        folder = self.prefix_entry(key)
        if self._matches(folder, file_name):
            return folder / file_name
        with self.writing():
            (folder / file_name).unlink(missing_ok=True)
        return None

    def _matches(self, entry: Path, file_name: str) -> bool:
        """Say whether a file is what the record of its entry tells."""
        path = entry / file_name
        try:
            stamp = json.loads(read_own(entry / RECORD))
            # the record of a prefix header has no key: its place says it
            if stamp.get("key", entry.name) != entry.name:
                return False
            if stamp["size"] != path.stat().st_size or stamp["digest"] != digest_file(path):
                return False
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        with suppress(OSError):  # a cache that cannot be written can still be used
            os.utime(entry / RECORD)
        return True

    def drop(self, folder: Path) -> None:
        """Remove an entry if it is there. It goes out of sight at once."""
        doomed = folder.with_name(f".{folder.name}.{os.getpid()}")
        try:
            folder.rename(doomed)
        except OSError:
            return
        shutil.rmtree(doomed, ignore_errors=True)

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Give a new folder on the cache's file system in which entries are prepared.

        :raises ToolchainError: the cache cannot be written.
        """
        parent = self.root / "staging"
        with ExitStack() as stack:
            with self.writing():
                parent.mkdir(parents=True, exist_ok=True)
                folder = stack.enter_context(scratch_folder(parent))
            yield folder

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Raise the error of :meth:`unwritable` where the system refuses something.

        :raises ToolchainError: so it is.
        """
        try:
            yield
        except (OSError, InputError) as exc:
            cause = exc if isinstance(exc, OSError) else exc.__context__
            raise self.unwritable(getattr(cause, "strerror", None) or str(exc)) from exc

    def unwritable(self, why: str) -> ToolchainError:
        """Return the error for a cache that cannot take what was compiled.

        :param why: the operating system's reason.
        """
        return ToolchainError(
            f"{self.root}: cannot write to the object cache: {why}; "
            f"free some space or set {CACHE_VARIABLE} to a folder that can be written"
        )

    def prune(self, max_bytes: int = DEFAULT_MAX_BYTES, *, in_use_s: float = _IN_USE_S) -> int:
        """Drop the longest unused entries until the rest is small enough.

        :param max_bytes: wanted size.
        :param in_use_s: entries used within so many seconds stay.
        :returns: bytes freed.
        """
        if not self.root.is_dir():
            return 0
        try:
            with lock_file(self.root / "prune.lock").acquire(timeout=0):
                return self._prune(max_bytes, in_use_s)
        except (Timeout, OSError):
            return 0  # someone else is at it, or it cannot be written

    def _prune(self, limit: int, in_use_s: float) -> int:
        now = time.time()
        entries = sorted(
            (max(_changed(entry), _changed(entry / RECORD)), _size(entry), entry) for entry in self._entries()
        )
        total = sum(size for _, size, _ in entries)
        freed = 0
        for changed, size, entry in entries:
            if total - freed <= limit:
                break
            if now - changed >= in_use_s:
                self.drop(entry)
                freed += size
        return freed

    def size_bytes(self) -> int:
        """Return the size of all entries."""
        return sum(_size(entry) for entry in self._entries())

    def _entries(self) -> Iterator[Path]:
        yield from (self.root / "entries").glob("??/[0-9a-f]*")
        yield from (self.root / "prefixes").glob("[0-9a-f]*")


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _size(folder: Path) -> int:
    total = 0
    for path in folder.glob("*"):
        with suppress(OSError):
            total += path.stat().st_size
    return total
