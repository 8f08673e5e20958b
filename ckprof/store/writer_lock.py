"""One process writes a store at a time, and the others can tell which."""

from __future__ import annotations

import os
import platform
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec
from filelock import Timeout

from ckprof.errors import system_errors
from ckprof.files import write_atomically
from ckprof.private_folders import checked, lock_file
from ckprof.store.errors import BusyStoreError, ReadOnlyStoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from filelock import FileLock

#: what SQLite, and this module, have beside a store
_FILES: Final = ("-journal", "-wal", "-shm", ".writer")
#: seconds between two looks at a lock that is taken
_POLL_S = 0.2
#: seconds that the lock of a process that was killed may outlive it: a child that it was just starting has
#: the lock's descriptor until the program of the child is loaded
_OUTLIVES_S = 10.0


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The process that writes a store."""

    pid: int
    host: str
    #: seconds since the epoch
    since: float
    command: str

    @property
    def has_ended(self) -> bool:
        """Whether it is a process of this machine that does not run any more."""
        if self.host != platform.node():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
        return False


class WriterLock:
    """The lock of the writer of a store: a file beside it that the operating system releases in any case.

    :param store: path of the store.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self.path = store.with_name(f"{store.name}.lock")
        self._holder = _holder_path(store)
        self._lock: FileLock | None = None

    def acquire(self, *, wait_s: float | None, on_wait: Callable[[str], None] | None = None) -> None:
        """Take the lock.

        :param wait_s: seconds to wait for another writer; ``None`` as long as it takes.
        :param on_wait: called once with a message if another process has the lock.
        :raises BusyStoreError: another process has it, and the time is over.
        :raises ReadOnlyStoreError: the lock file cannot be made.
        :raises ToolchainError: other users could have made a file of the store.
        """
        with system_errors(
            ReadOnlyStoreError, f"cannot make the lock file {self.path.name} next to the store", self._store
        ):
            for suffix in ("", *_FILES):
                checked(self._store.with_name(f"{self._store.name}{suffix}"))
            self._lock = lock = lock_file(self.path)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                self._wait(lock, wait_s, on_wait)
        with suppress(OSError):
            # only costs the others the name of this process; a full disk shows when data is written
            holder = Holder(
                pid=os.getpid(), host=platform.node(), since=time.time(), command=" ".join(sys.argv[:4])
            )
            write_atomically(self._holder, msgspec.json.encode(holder).decode())

    def release(self) -> None:
        """Give the lock back; does nothing if it is not held."""
        if self._lock is not None and self._lock.is_locked:
            self._holder.unlink(missing_ok=True)
            self._lock.release()

    def _wait(self, lock: FileLock, wait_s: float | None, on_wait: Callable[[str], None] | None) -> None:
        """Wait for the lock."""
        holder = _read_holder(self._holder)
        if holder is not None and holder.has_ended:
            wait_s = None if wait_s is None else max(wait_s, _OUTLIVES_S)
        elif on_wait is not None and wait_s != 0:
            on_wait(f"{self._store}: {_describe(holder)} is writing; waiting for it")
        try:
            lock.acquire(timeout=-1 if wait_s is None else wait_s, poll_interval=_POLL_S)
        except Timeout:
            raise BusyStoreError(
                f"{_describe(_read_holder(self._holder))} is writing this store; "
                "wait for it to end, or use another file",
                self._store,
            ) from None


def is_being_written(store: Path) -> bool:
    """Say whether a process that may still run has the store for writing."""
    holder = _read_holder(_holder_path(store))
    return holder is not None and not holder.has_ended


def _holder_path(store: Path) -> Path:
    return store.with_name(f"{store.name}.writer")


def _read_holder(path: Path) -> Holder | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Holder)
    except (OSError, msgspec.MsgspecError):
        return None


def _describe(holder: Holder | None) -> str:
    """Return who that is, for messages."""
    if holder is None:
        return "another process"
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.since))
    return f"process {holder.pid} on {holder.host} since {since} ({holder.command})"
