"""Digests of texts and of whole folders of headers."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable

#: a file changed this recently may change again without its time stamp moving on
_SETTLED_NS: Final = 2_000_000_000


def digest_parts(*parts: str | bytes) -> str:
    """Return a digest that depends on every part and on where one ends and the next begins."""
    state = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def digest_file(path: Path) -> str:
    """Return the digest of a file's bytes.

    :raises OSError: it cannot be read.
    """
    state = hashlib.blake2b(digest_size=20)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            state.update(block)
    return state.hexdigest()


class FolderDigests:
    """Digests of folders by the relative names and the contents of all files below them.

    Reading thousands of headers for every build is slow, so a digest is kept together with names, sizes and
    times of change and holds as long as these do.

    :param store: folder for known digests; ``None`` reads all files every time.
    """

    def __init__(self, store: Path | None) -> None:
        self._store = store
        self._known: dict[Path, str] = {}

    def of(self, folder: Path) -> str:
        """Return the digest of a folder; that of a missing folder is that of an empty one."""
        folder = folder.resolve()
        if folder not in self._known:
            self._known[folder] = self._look_up(folder)
        return self._known[folder]

    def _look_up(self, folder: Path) -> str:
        started = time.time_ns()
        files = sorted(_files(folder))
        listing = repr([(name, size, changed) for name, size, changed, _ in files])
        signature = digest_parts(listing)
        memo = self._store / f"{digest_parts(str(folder))}.json" if self._store is not None else None
        if memo is not None:
            try:
                record = json.loads(memo.read_text())
                if record["signature"] == signature:
                    return str(record["digest"])
            except (OSError, ValueError, KeyError, TypeError):
                pass
        digest = _content_digest((name, path) for name, _, _, path in files)
        newest = max((changed for _, _, changed, _ in files), default=0)
        if memo is not None and newest + _SETTLED_NS < started:
            try:
                write_atomically(memo, json.dumps({"signature": signature, "digest": digest}))
            except OSError:
                pass  # only costs time: the next run reads the files again
        return digest


def _files(folder: Path) -> list[tuple[str, int, int, Path]]:
    """Return relative name, size, time of change and path of every file below a folder."""
    files: list[tuple[str, int, int, Path]] = []
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            try:
                status = path.stat()
            except OSError:
                continue  # a dangling link cannot be included either
            files.append((path.relative_to(folder).as_posix(), status.st_size, status.st_mtime_ns, path))
    return files


def _content_digest(files: Iterable[tuple[str, Path]]) -> str:
    return digest_parts(*(part for name, path in files for part in (name, path.read_bytes())))
