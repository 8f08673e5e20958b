"""The folder of a sweep on an engine: shards, objects, leases, and how a stop is requested.

Objects are libraries and jobs, each known by the digest of its content: whoever has one needs no second copy.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.private_folders import lock_file, private_folder

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
            private_folder(self.root)
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

    def lock(self, digest: str) -> AbstractContextManager[object]:
        """Have other processes that look for an object wait for the first one, which may get it from afar."""
        try:
            return lock_file(private_folder(self.root) / f"{digest}.lock")
        except OSError:
            return nullcontext()

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

    :param local: on the worker's machine; what was found elsewhere is kept there.
    :param shared: the folder of the sweep; ``None`` if there is none.
    """

    def __init__(self, local: ObjectFolder, shared: ObjectFolder | None) -> None:
        self._local = local
        self._shared = shared

    def find(self, digest: str, sent: Mapping[str, bytes]) -> Path | None:
        """Return the file of an object on this machine, or ``None``.

        :param sent: what came with the task.
        """
        with self._local.lock(digest):
            if self._local.get(digest) is None:
                data = self._shared.get(digest) if self._shared is not None else None
                data = sent.get(digest) if data is None else data
                if data is None or digest_of(data) != digest:
                    return None
                self._local.put(data)
        return self._local.root / digest


class SweepFolder:
    """Where coordinator and workers of one sweep leave what the other shall find."""

    def __init__(self, root: Path) -> None:
        self.root = root
        #: where workers write their shards
        self.shards = root / "shards"
        #: libraries and jobs
        self.objects = ObjectFolder(root / "objects")
        #: the journal of leases
        self.leases = root / "leases.ndjson"
        #: how much of each shard is in the store
        self.merged = root / "merged.json"

    @classmethod
    def beside(cls, store: Path) -> SweepFolder:
        """Return the folder beside a store, for workers on the same machine."""
        return cls(store.absolute().with_name(f"{store.name}.sweep"))

    @classmethod
    def below(cls, shared: Path, store: Path) -> SweepFolder:
        """Return the folder of a store below one that all machines see; the same again after a restart."""
        digest = hashlib.blake2b(str(store.absolute()).encode(), digest_size=4).hexdigest()
        return cls(shared.expanduser().absolute() / f"{store.stem}-{digest}")

    def stop_file(self, run: str) -> Path:
        """Return the file whose presence asks the workers of a coordinator to stop."""
        return self.root / f"stop-{run}"

    def started_file(self, task: str) -> Path:
        """Return the file by which a worker says that it has begun a task."""
        return self.root / "started" / task

    def read_start(self, task: str) -> str:
        """Return the name of the shard of the worker that has begun a task; empty if none has."""
        try:
            return self.started_file(task).read_text()
        except OSError:
            return ""

    def remove(self) -> None:
        """Remove everything; what cannot be removed stays."""
        shutil.rmtree(self.root, ignore_errors=True)

    def make(self) -> None:
        """Make the folder, and forget requests to stop.

        :raises InputError: it cannot be made.
        :raises ToolchainError: other users could have put something there.
        """
        try:
            private_folder(self.root)
            self.shards.mkdir(exist_ok=True)
            (self.root / "started").mkdir(exist_ok=True)
            for old in self.root.glob("stop-*"):
                old.unlink(missing_ok=True)
        except OSError as exc:
            raise InputError(
                f"cannot make the folder of the sweep: {exc.strerror}; workers and coordinator must be able "
                "to write there",
                self.root,
            ) from None
