"""Worker processes of one device, and its lock: a new worker replaces one that must not be used any more."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import filelock

from ckprof.errors import ToolchainError
from ckprof.events import Level, Message
from ckprof.measure.worker.process import WorkerFailure, WorkerNotStarted, WorkerProcess
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.private_folders import lock_file, runtime_folder
from ckprof.python_child import start_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ckprof.events import Event
    from ckprof.measure.worker import messages
    from ckprof.model.outcome import Outcome


class DeviceLostError(ToolchainError):
    """The device cannot be used any more since a kernel was launched, which may or may not be to blame.

    :param outcome: what is to be remembered of that kernel; no failure of it.
    """

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


@contextmanager
def device_lock(
    target: str, device: int | str, on_wait: Callable[[Message], None], folder: Path | None = None
) -> Iterator[None]:
    """Hold the lock of a device; wait for it if another run has it.

    The operating system gives the lock back when the process ends, however it ends. It is one user's: what an
    index means depends on the variables that choose devices, and a lock that others can take they can also
    keep. Other users of a device show in what observers read.

    :param device: index of the device, or what it is called on this machine.
    :param on_wait: called once if the lock is taken, with the process that has it.
    :param folder: where lock files are; by default a folder of the user's on this machine alone.
    :raises ToolchainError: the lock cannot be made, or others could have made it.
    """
    try:
        path = (folder or runtime_folder()) / f"{target}-{device}.lock"
        lock = lock_file(path, reentrant=True)  # runs of one thread measure only while asked for outcomes
    except OSError as exc:
        raise ToolchainError(f"cannot make the lock of device {device}: {exc}") from None
    holder, other = path.with_suffix(".holder"), "another process"
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        with suppress(OSError):
            other = holder.read_text("utf-8")
        on_wait(Message(f"waiting for {other} on {target} device {device}", Level.WARNING))
        lock.acquire()
    try:
        with suppress(OSError):  # only costs the others what this process is
            since = time.strftime("%Y-%m-%d %H:%M:%S")
            holder.write_text(f"process {os.getpid()} since {since} ({' '.join(sys.argv[:4])})", "utf-8")
        yield
    finally:
        lock.release()


#: workers in a row that may fail to start, after one has started, before the run is given up
_START_ATTEMPTS: Final = 3


class WorkerState(Enum):
    """What the worker process of a library holds, and whether kernels have run in it."""

    #: there is no process
    GONE = "gone"
    #: without a problem; nothing has run
    FRESH = "fresh"
    #: with the current problem; nothing has run
    READY = "ready"
    #: with the current problem; kernels have run
    USED = "used"
    #: without the current problem; kernels have run
    STALE = "stale"


#: what becomes of each state once the worker holds the current problem, and once it does not any more
_LOADED: Final = {WorkerState.FRESH: WorkerState.READY, WorkerState.STALE: WorkerState.USED}
_EMPTIED: Final = {after: before for before, after in _LOADED.items()}


class ReplacedWorker:
    """The one worker that a library is open in; a new one takes its place when it is lost.

    :param library: the kernel library, or the baseline that is measured instead of kernels.
    :param work_dir: below which workers have their working directories.
    :param variables: environment variables of the worker, beside those of this process.
    :param launcher: command that starts the worker.
    """

    def __init__(
        self,
        library: Path | messages.BaselineSource,
        device: messages.DeviceChoice,
        work_dir: Path,
        on_event: Callable[[Event], None],
        variables: Mapping[str, str],
        launcher: tuple[str, ...],
    ) -> None:
        self._library = library
        #: what messages call it
        self.title = f"kernel library {library}" if isinstance(library, Path) else f"baseline {library.id}"
        self.device = device
        self._work_dir = work_dir
        self._on_event = on_event
        self._variables, self._launcher = variables, launcher
        self.process: WorkerProcess | None = None
        self.state = WorkerState.GONE

    @property
    def remote(self) -> RemoteLibrary:
        """The library in the running worker."""
        if self.process is None:
            raise ValueError("no worker is running")
        return RemoteLibrary(self.process)

    def start(self) -> messages.Opened:
        """Start a worker.

        :raises WorkerFailure: it does not come up, or cannot open the library.
        """
        # Not where the operands are: a kernel may leave files behind, or remove some.
        try:
            folder = Path(tempfile.mkdtemp(prefix="worker-", dir=self._work_dir))
        except OSError as exc:
            raise WorkerNotStarted(f"{self._work_dir}: {start_failure(exc)}") from exc
        self.process = WorkerProcess(folder, self._variables, self._launcher)
        self.state = WorkerState.FRESH
        try:
            return self.remote.open(self._library, self.device)
        except WorkerFailure:
            self.leave(at_once=True)
            raise

    def require(self) -> None:
        """Have a worker.

        :raises ToolchainError: several in a row do not start any more.
        """
        if self.process is not None:
            return
        for left in reversed(range(_START_ATTEMPTS)):
            try:
                self.start()
                return
            except WorkerFailure as failure:
                if not left:
                    raise ToolchainError(f"{self.title} cannot be used any more: {failure}") from failure

    def note_loaded(self) -> None:
        """Note that the worker holds the current problem."""
        self.state = _LOADED.get(self.state, self.state)

    def note_emptied(self) -> None:
        """Note that the worker does not hold the current problem any more."""
        self.state = _EMPTIED.get(self.state, self.state)

    def discard(self, reason: str) -> None:
        """End the worker, because it must not be used any more."""
        self.leave(at_once=True)
        self._on_event(Message(f"worker lost: {reason}", Level.DETAIL))

    def leave(self, *, at_once: bool) -> None:
        """Let the worker end, or end it."""
        if self.process is not None:
            self.process.kill() if at_once else self.process.quit()
            self.process = None
        self.state = WorkerState.GONE
