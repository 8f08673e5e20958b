"""The folder of a sweep on an engine: shards, objects, leases, and how a stop is requested."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from ckprof.errors import InputError
from ckprof.sweep.cluster.objects import ObjectFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFolder:
    """Where coordinator and workers of one sweep leave what the other shall find."""

    root: Path

    @classmethod
    def beside(cls, store: Path) -> SweepFolder:
        """Return the folder beside a store, for workers on the same machine."""
        return cls(root=store.absolute().with_name(f"{store.name}.sweep"))

    @classmethod
    def below(cls, shared: Path, store: Path) -> SweepFolder:
        """Return the folder of a store below one that all machines see; the same again after a restart."""
        digest = hashlib.blake2b(str(store.absolute()).encode(), digest_size=4).hexdigest()
        return cls(root=shared.expanduser().absolute() / f"{store.stem}-{digest}")

    @property
    def shards(self) -> Path:
        """Where workers write their shards."""
        return self.root / "shards"

    @property
    def objects(self) -> ObjectFolder:
        """Libraries and jobs."""
        return ObjectFolder(self.root / "objects")

    @property
    def leases(self) -> Path:
        """The journal of leases."""
        return self.root / "leases.ndjson"

    @property
    def merged(self) -> Path:
        """How much of each shard is in the store."""
        return self.root / "merged.json"

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
        """
        try:
            self.shards.mkdir(parents=True, exist_ok=True)
            (self.root / "started").mkdir(exist_ok=True)
            for old in self.root.glob("stop-*"):
                old.unlink(missing_ok=True)
        except OSError as exc:
            raise InputError(
                f"cannot make the folder of the sweep: {exc.strerror}; workers and coordinator must be able "
                "to write there",
                self.root,
            ) from None
