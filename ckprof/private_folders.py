"""Places in folders that everybody can write to, such as ``/tmp``: nobody else must have been there before.

Whoever knows the name of a folder, a lock or a cache there can make it first: as a symbolic link to what then
gets overwritten, or as a folder of their own whose libraries are then loaded. So all such names go through
here. A path is followed part by part. What lies directly in a folder that everybody can write to must belong
to this user or root, and no one else may be able to change it; with the sticky bit nobody else can replace it
after it was looked at, and below it nobody else can make anything. Without the sticky bit everybody can
replace everything in the folder at any time: then owners are all that is looked at.

Folders that only a group can write to are not looked at: a team may share its caches.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, ToolchainError

if TYPE_CHECKING:
    from filelock import FileLock

#: symbolic links in a path, as Linux has it
_MOST_LINKS: Final = 40


def temporary_folder() -> Path:
    """Return where the system keeps temporary files: what is made there needs a name that nobody foresees.

    :raises InputError: there is no such folder.
    :raises ToolchainError: see :func:`checked`.
    """
    try:
        return checked(Path(tempfile.gettempdir()))
    except FileNotFoundError as exc:
        raise InputError(
            f"there is no folder for temporary files that can be written ({exc.strerror}); "
            "free some space, or set TMPDIR to such a folder"
        ) from None


def runtime_folder() -> Path:
    """Return this user's folder for locks of this machine, made where it is missing.

    :raises OSError: it cannot be made.
    :raises ToolchainError: see :func:`checked`.
    """
    # Not the cache folder: that may be shared by machines, and their devices are different ones.
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.access(runtime, os.W_OK):
        path = Path(runtime, "ckprof")
    else:
        path = temporary_folder() / f"ckprof-{os.geteuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    return private_folder(path)


def private_folder(path: Path) -> Path:
    """Make a folder if it is missing, for this user alone where everybody could make it.

    :returns: the path.
    :raises OSError: it cannot be made.
    :raises ToolchainError: see :func:`checked`.
    """
    is_shared = _follow(path, private=True)
    missing = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700 if is_shared else 0o777, exist_ok=True)
    # a dangling link, or a file
    path.mkdir(exist_ok=True)
    _follow(path, private=True)
    return path


def claimed(path: Path) -> Path:
    """Return the path of a folder as :func:`private_folder` does, which is made only where others could.

    :raises ToolchainError: see :func:`checked`.
    """
    if _follow(path, private=True) and not os.path.lexists(path):
        with suppress(OSError):
            # whoever uses it finds out why
            return private_folder(path)
    return path


def checked(path: Path) -> Path:
    """Return a path whose file or folder, where it exists, other users can neither replace nor redirect.

    :raises ToolchainError: they can, or they have made a part of the path themselves.
    """
    _follow(path)
    return path


def lock_file(path: Path, *, reentrant: bool = False) -> FileLock:
    """Return the lock of a file, made where it is missing; it can be taken by all who can write its folder.

    :param reentrant: a thread that holds it takes it once more.
    :raises OSError: it cannot be made.
    :raises ToolchainError: see :func:`checked`.
    """
    from filelock import FileLock

    checked(path)
    # the library gives no group the right to write, and takes some errors for a lock of somebody else
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666))
    return FileLock(path, is_singleton=reentrant)


def _follow(path: Path, *, private: bool = False) -> bool:
    """Look at every part of a path, through symbolic links, as far as it exists.

    :param private: nobody else may make anything in the folder either.
    :returns: whether everybody could make what is missing of it.
    """
    place, *rest = path.absolute().parts
    here, left = Path(place), rest[::-1]
    parent = here.lstat()
    links = 0
    while left:
        name = left.pop()
        if name == "..":
            # no link is left in it
            here = here.parent
            parent = here.lstat()
            continue
        is_shared = bool(parent.st_mode & stat.S_IWOTH)
        part = here / name
        try:
            found = part.lstat()
        except OSError:
            # not there, or nothing that this user can use in any case
            return is_shared
        if is_shared:
            _require_owner(part, found, path)
            if parent.st_mode & stat.S_ISVTX and not (found.st_mode & stat.S_ISVTX and (left or not private)):
                _require_own(part, found, path)
        if not stat.S_ISLNK(found.st_mode):
            here, parent = part, found
            continue
        links += 1
        if links > _MOST_LINKS:
            return False
        target = part.readlink()
        left += target.parts[::-1]
        if target.is_absolute():
            here = Path(left.pop())
            parent = here.lstat()
    return False


def _require_owner(part: Path, found: os.stat_result, path: Path) -> None:
    """Raise if what lies in a folder that everybody can write to is somebody else's."""
    if found.st_uid not in (os.geteuid(), 0):
        kind = stat.S_IFMT(found.st_mode)
        what = {stat.S_IFLNK: "symbolic link", stat.S_IFDIR: "folder"}.get(kind, "file")
        owner = user_name(found.st_uid)
        raise ToolchainError(
            f"{part}: this {what}{_way(part, path)} belongs to another user ({owner}), who may "
            "have made it to have your files changed; remove it, or choose a place in a folder of your own"
        )


def _require_own(part: Path, found: os.stat_result, path: Path) -> None:
    """Raise if others can write to a folder."""
    mode = found.st_mode
    if stat.S_ISDIR(mode) and (
        mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_own_group(found.st_gid))
    ):
        raise ToolchainError(
            f"{part}: other users can write to this folder{_way(part, path)}, so that nothing in it can be "
            f"trusted; chmod go-w {part}, or choose a place in a folder of your own"
        )


def _way(part: Path, path: Path) -> str:
    return "" if part == path else f" on the way to {path}"


def user_name(number: int) -> str:
    """Return the name of a user, the number of one without a name."""
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"


def _is_own_group(number: int) -> bool:
    """Say whether a group is that of this user alone, which many systems give to each."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and {*group.gr_mem} <= {user.pw_name}
