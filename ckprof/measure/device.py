"""The device that kernels run on: what it says of itself, and the lock that keeps others from it."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import filelock

from ckprof.measure.events import WaitingForDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ckprof.model.device import DeviceIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDevice:
    """A device as its target describes it; false until a worker has opened it."""

    #: one line for people
    text: str = ""
    #: what tells devices apart; ``None`` where the target does not say
    identity: DeviceIdentity | None = None

    def __bool__(self) -> bool:
        return bool(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUse:
    """How a bench has the device to itself."""

    #: take the device's lock; of several benches of one process, one takes it for all
    locks: bool = True
    #: what the device is called on its host, where that is not its index
    label: str = ""
    #: of the lock files, if not the usual one
    lock_folder: Path | None = None


@contextmanager
def device_lock(
    target: str, device: int | str, on_wait: Callable[[WaitingForDevice], None], folder: Path | None = None
) -> Iterator[None]:
    """Hold the lock of a device; wait for it if another run has it.

    The operating system gives the lock back when the process ends, however it ends.

    :param device: index of the device, or what it is called on this machine.
    :param on_wait: called once if the lock is taken.
    :param folder: where lock files are; by default a folder of the user's on this machine alone.
    """
    folder = folder or _default_folder()
    path = folder / f"{target}-{device}.lock"
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        on_wait(WaitingForDevice(target=target, device=device, lock=path))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _default_folder() -> Path:
    # Not the cache folder: that may be shared by machines, and their devices are different ones.
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.access(runtime, os.W_OK):
        folder = Path(runtime, "ckprof")
    else:
        folder = Path(tempfile.gettempdir(), f"ckprof-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
