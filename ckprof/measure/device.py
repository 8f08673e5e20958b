"""The device that kernels run on: what it says of itself, and the lock that keeps others from it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import filelock

from ckprof.errors import ToolchainError
from ckprof.measure.events import WaitingForDevice
from ckprof.private_folders import lock_file, runtime_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ckprof.model.device import DeviceIdentity
    from ckprof.model.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDevice:
    """A device as its target describes it; false until a worker has opened it."""

    #: one line for people
    text: str = ""
    #: what tells devices apart; ``None`` where the target does not say
    identity: DeviceIdentity | None = None

    def __bool__(self) -> bool:
        return bool(self.text)


class DeviceLostError(ToolchainError):
    """The device cannot be used any more since a kernel was launched, which may or may not be to blame.

    :param outcome: what is to be remembered of that kernel; no failure of it.
    """

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


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

    The operating system gives the lock back when the process ends, however it ends. It is one user's: what an
    index means depends on the variables that choose devices, and a lock that others can take they can also
    keep. Other users of a device show in what observers read.

    :param device: index of the device, or what it is called on this machine.
    :param on_wait: called once if the lock is taken.
    :param folder: where lock files are; by default a folder of the user's on this machine alone.
    :raises ToolchainError: the lock cannot be made, or others could have made it.
    """
    try:
        path = (folder or runtime_folder()) / f"{target}-{device}.lock"
        lock = lock_file(path)
    except OSError as exc:
        raise ToolchainError(f"cannot make the lock of device {device}: {exc}") from None
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        on_wait(WaitingForDevice(target=target, device=device, lock=path))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
