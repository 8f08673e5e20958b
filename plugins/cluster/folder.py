"""The folder of a sweep on an engine: shards, objects, leases, and how a stop is requested.

Objects are libraries and jobs, each known by the digest of its content: whoever has one needs no second copy.
Leases say who has which unit, and until when: one whose worker falls silent is given to another worker. Their
journal survives the coordinator. A unit may so be measured twice, never not at all, and what is measured
twice are different attempts, each of which is stored once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ckprof.errors import InputError, UsageError, system_errors
from ckprof.measure.rounds import KernelConfiguration
from ckprof.private_folders import lock_file, private_folder
from ckprof.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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
        with system_errors(InputError, "cannot keep an object", self.root):
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

    def find(self, digest: str, shared: ObjectFolder | None, sent: Mapping[str, bytes]) -> Path | None:
        """Return the file of an object, or ``None``; what is elsewhere is kept in this folder of a worker.

        :param shared: the folder of the sweep; ``None`` if there is none.
        :param sent: what came with the task.
        """
        with self.lock(digest):
            if self.get(digest) is None:
                data = shared.get(digest) if shared is not None else None
                data = sent.get(digest) if data is None else data
                if data is None or digest_of(data) != digest:
                    return None
                self.put(data)
        return self.root / digest


class HangFolder:
    """Where workers name kernels that seem to hang.

    Each has a file, and who removes it decides: the coordinator, which has others do what waits behind the
    kernel, or the worker, which goes on when the kernel has ended after all.

    :param root: made when the folder of the sweep is.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def name(self, task: str, cell: KernelConfiguration) -> None:
        """Say that a task has run a kernel for suspiciously long; what cannot be written is not said."""
        with suppress(OSError):
            new = self.root / f".{task}"
            new.write_bytes(msgspec.json.encode(cell))
            new.replace(self.root / task)

    def named(self) -> Iterator[tuple[str, KernelConfiguration]]:
        """Yield the tasks whose kernels seem to hang, and these."""
        with suppress(OSError):
            for path in sorted(self.root.glob("[!.]*")):
                with suppress(OSError, msgspec.MsgspecError):
                    yield path.name, msgspec.json.decode(path.read_bytes(), type=KernelConfiguration)

    def end(self, task: str) -> bool:
        """Remove the file of a task; say whether nobody else has."""
        try:
            (self.root / task).unlink()
        except OSError:
            return False
        return True


class SweepFolder:
    """Where coordinator and workers of one sweep leave what the other shall find."""

    def __init__(self, root: Path) -> None:
        self.root = root
        #: where workers write their shards
        self.shards = root / "shards"
        #: libraries and jobs
        self.objects = ObjectFolder(root / "objects")
        self.hangs = HangFolder(root / "hangs")
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
        with suppress(OSError):
            return self.started_file(task).read_text()
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
            self.hangs.root.mkdir(exist_ok=True)
            for old in (*self.root.glob("stop-*"), *self.hangs.root.iterdir()):
                old.unlink(missing_ok=True)
        except OSError as exc:
            raise InputError(
                f"cannot make the folder of the sweep: {exc.strerror}; workers and coordinator must be able "
                "to write there",
                self.root,
            ) from None


class LeasePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a worker may be silent; the table ``lease`` of a settings file.

    :raises UsageError: a value is out of range.
    """

    #: seconds without an outcome after which a unit is given to another worker
    silence_s: float = 600.0
    #: seconds without one after which a device that has nothing to do begins with the same unit, in case
    doubt_s: float = 15.0
    #: times that a unit is handed out before it is given up
    attempts: int = 5

    def __post_init__(self) -> None:
        for name in ("silence_s", "doubt_s"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} is {getattr(self, name)}, expected more than 0 seconds")
        if self.attempts < 1:
            raise UsageError(f"attempts is {self.attempts}, expected at least 1")

    @property
    def suspect_s(self) -> float:
        """Seconds after which a kernel that still runs seems to hang: before anybody doubts its worker."""
        return self.doubt_s / 2

    def beyond(self, timeout_s: float) -> LeasePolicy:
        """Return the policy for kernels that may take so many seconds: a hang is no silence of a worker."""
        return msgspec.structs.replace(self, silence_s=max(self.silence_s, 2 * timeout_s))


class JournalLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A lease that was given, prolonged or ended."""

    unit: str
    task: str
    #: seconds since the epoch; 0: the lease is over
    until: float = 0.0


class LeaseTable:
    """The leases of a coordinator.

    :param policy: how long they last.
    :param journal: file in which they are noted.
    """

    def __init__(self, policy: LeasePolicy, journal: Path) -> None:
        self._policy = policy
        self._journal = journal
        #: task -> its unit, and until when by the clock of the caller; ``None`` before a sign of life
        self._leases: dict[str, tuple[str, float | None]] = {}
        #: ends the line that a coordinator was killed in
        self._line_end = b"\n"

    def give(self, unit: str, task: str) -> None:
        """Note that a unit was handed out; its time begins with the worker's first sign of life."""
        self._leases[task] = unit, None

    def renew(self, task: str, now: float, wall: float) -> None:
        """Note a sign of life.

        :param now: seconds of any steady clock.
        :param wall: seconds since the epoch, for a coordinator that comes later.
        """
        if task not in self._leases:
            return
        unit, until = self._leases[task]
        self._leases[task] = unit, now + self._policy.silence_s
        # not for each outcome: within a quarter of its time it makes no difference
        if until is None or until - now < 0.75 * self._policy.silence_s:
            self._note(JournalLine(unit=unit, task=task, until=wall + self._policy.silence_s))

    def end(self, task: str) -> None:
        """Note that a worker has answered."""
        unit, until = self._leases.pop(task, ("", None))
        if until is not None:
            self._note(JournalLine(unit=unit, task=task))

    def is_waiting(self, task: str) -> bool:
        """Say whether the worker of a task has given no sign of life yet."""
        return self._leases.get(task, ("", 0.0))[1] is None

    def expired(self, now: float) -> list[str]:
        """Return the tasks whose workers are silent for too long."""
        return [task for task, (_, until) in self._leases.items() if until is not None and until <= now]

    def _note(self, line: JournalLine) -> None:
        with system_errors(StoreError, "cannot note a lease", self._journal):
            with self._journal.open("ab", buffering=0) as stream:
                stream.write(self._line_end + msgspec.json.encode(line) + b"\n")
            self._line_end = b""


def read_journal(path: Path, wall: float) -> dict[str, float]:
    """Return the units that workers of an earlier coordinator may still have, and until when.

    :param wall: seconds since the epoch.
    """
    leases: dict[str, JournalLine] = {}
    with suppress(OSError):
        for text in path.read_bytes().splitlines():
            # the last line of a coordinator that was killed is none
            with suppress(msgspec.MsgspecError):
                line = msgspec.json.decode(text, type=JournalLine)
                leases.pop(line.task, None)
                if line.until > wall:
                    leases[line.task] = line
    return {lease.unit: lease.until for lease in leases.values()}
