"""Folders that last as long as a process: what one leaves behind because it was killed, a later one removes.

Each folder holds a file that its owner has locked. The system gives the lock back when the owner ends,
however it ends, so who gets the lock may remove the folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: start of the names of scratch folders
PREFIX: Final = "ckprof-run-"
#: the locked file; it holds the name of the machine, since locks may not reach others
OWNER: Final = ".owner"
#: seconds after which a folder without an owner's file was left by a process that was killed at once
_ABANDONED_S: Final = 3600.0


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder that is removed at the end, and remove what killed processes have left.

    :param parent: where; by default where the system keeps temporary files.
    :raises InputError: it cannot be made there.
    """
    where = parent or _temporary_folder()
    remove_abandoned(where)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=where)).resolve()
    except OSError as exc:
        raise _unusable(where, exc) from None
    try:
        try:
            descriptor = own(folder)
        except OSError as exc:
            raise _unusable(where, exc) from None
        try:
            yield folder
        finally:
            os.close(descriptor)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def own(folder: Path) -> int:
    """Mark a folder as this process's, and return the descriptor that keeps it so until it is closed.

    :raises OSError: the folder cannot be written.
    """
    import fcntl

    beside = folder / f"{OWNER}.new"
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, os.uname().nodename.encode())
        with suppress(OSError):
            # without locks on this file system nobody will get one later
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # only now, so that nobody finds it without its lock
        beside.rename(folder / OWNER)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def remove_abandoned(parent: Path, pattern: str = f"{PREFIX}*") -> None:
    """Remove folders of this user and this machine whose owners are gone."""
    for folder in parent.glob(pattern):
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid == os.getuid() and folder.is_dir() and _is_abandoned(folder, status.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path, changed: float) -> bool:
    import fcntl

    try:
        descriptor = os.open(folder / OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - changed > _ABANDONED_S
    try:
        if os.read(descriptor, 256) != os.uname().nodename.encode():
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as exc:
        raise InputError(
            f"there is no folder for temporary files that can be written ({exc.strerror}); "
            "free some space, or set TMPDIR to such a folder"
        ) from None


def _unusable(where: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot make a folder for temporary files: {error.strerror}; "
        "free some space, or set TMPDIR to a folder that can be written",
        where,
    )
