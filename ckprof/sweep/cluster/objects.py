"""Libraries and jobs by the digest of their content: whoever has one needs no second copy."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


def digest_of(data: bytes) -> str:
    """Return what content is known by."""
    return hashlib.blake2b(data, digest_size=20).hexdigest()


class ObjectFolder:
    """A folder of objects, each in a file named after its digest.

    :param root: made when something is put into it; may lie on a network file system.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, data: bytes) -> str:
        """Keep an object, and return its digest.

        :raises InputError: it cannot be written.
        """
        digest = digest_of(data)
        path = self.root / digest
        if path.exists():
            return digest
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".new-", dir=self.root)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
                # as readable as other files: workers may be other users
                Path(name).chmod(0o644)
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as exc:
            raise InputError(f"cannot keep an object: {exc.strerror}", self.root) from None
        return digest

    def get(self, digest: str) -> bytes | None:
        """Return an object; ``None`` if it is not here. One whose content is damaged is removed."""
        path = self.root / digest
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if digest_of(data) != digest:
            path.unlink(missing_ok=True)
            return None
        return data


class ObjectSource:
    """Where a worker looks for objects: its own folder, then the shared one, then what came with the task.

    :param own: on the worker's machine; what was found elsewhere is kept there.
    :param shared: the folder of the sweep; ``None`` if there is none.
    """

    def __init__(self, own: ObjectFolder, shared: ObjectFolder | None) -> None:
        self._own = own
        self._shared = shared

    def find(self, digest: str, sent: Mapping[str, bytes]) -> Path | None:
        """Return the file of an object on this machine, or ``None``.

        :param sent: what came with the task.
        """
        if self._own.get(digest) is not None:
            return self._own.root / digest
        data = self._shared.get(digest) if self._shared is not None else None
        if data is None:
            data = sent.get(digest)
        if data is None or digest_of(data) != digest:
            return None
        self._own.put(data)
        return self._own.root / digest
