"""Files that are complete or not there, and folders that last as long as a process.

What a process leaves in a scratch folder because it was killed, a later one removes.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import secrets
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ckprof.errors import InputError, UsageError, input_errors, system_errors
from ckprof.private_folders import checked, temporary_folder
from ckprof.sanitize import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType


def module_of_file(path: Path, prefix: str) -> ModuleType:
    """Import a file.

    :param prefix: of the module's name, whose rest is that of the file.
    :raises ImportError: it is no Python file.
    """
    spec = importlib.util.spec_from_file_location(f"{prefix}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"not a Python file: {path}")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_own(path: Path) -> bytes:
    """Return the content of a file that ckprof has written.

    :raises OSError: it cannot be read, or something else is in its place, such as a pipe that never ends.
    """
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return path.read_bytes()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file beside its place and rename it.

    :param path: the file; missing folders are created.
    :param content: all of it.
    :raises OSError: nothing was changed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = new_file_beside(path)
    try:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def new_file_beside(path: Path) -> Path:
    """Make an empty file, which becomes ``path`` when it is complete, under a name that nobody can foresee.

    :raises OSError: the folder cannot be written.
    """
    beside = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}.tmp")
    # nobody else could have made it, and so nobody else can replace it where they could make one
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
    return beside


def write_if_changed(path: Path, text: str) -> bool:
    """Write a text file unless it already has that content, so that its time of change stays.

    The file is replaced at once: whoever reads it meanwhile sees the old text or the new one.

    :param path: the file; missing folders are created.
    :param text: its whole content.
    :returns: whether it was written.
    :raises OSError: nothing was changed.
    """
    data = text.encode()
    if _holds(path, data):
        return False
    write_atomically(path, data)
    return True


def create(path: Path, data: bytes) -> bool:
    """Write a file that does not exist yet; say no if it does.

    Three times as fast as :func:`write_atomically`, for folders that nobody else reads meanwhile.

    :raises OSError: nothing was changed.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileExistsError:
        return False
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
    try:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return True


def write_output(path: Path, content: str | bytes | Iterable[bytes]) -> bool:
    """Write a file that the user named, so that no reader ever sees half of it.

    Nothing is touched if the file holds the same bytes already. Directories are made as needed. A symbolic
    link stays, and the file that it names is written; so is a device or a pipe, directly.

    :param content: the whole of it, or its pieces in order.
    :returns: whether the file was written.
    :raises InputError: the file or its directory cannot be written.
    :raises ToolchainError: somebody else has made the file, a link or a folder where everybody can.
    """
    import filecmp

    check_name(path)
    if isinstance(content, str):
        content = encodable(content).encode()
    pieces = (content,) if isinstance(content, bytes) else content
    try:
        target = checked(resolved(checked(path)))
        # What is held in memory is compared first, so that an unchanged file needs no writable folder.
        if isinstance(content, bytes) and _holds(target, content):
            return False
        if target.exists() and not (target.is_file() or target.is_dir()):
            _fill(target, pieces)
            return True
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = new_file_beside(target)
        try:
            _fill(beside, pieces)
            if target.is_file() and filecmp.cmp(beside, target, shallow=False):
                return False
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"cannot write: {path.parent} is not a folder", path) from None
    except OSError as exc:
        raise InputError(f"cannot write: {exc.strerror}", path) from None
    return True


def check_name(path: Path) -> None:
    """Reject the name that other programs have for standard output.

    :raises UsageError: it is that.
    """
    if path == Path("-"):
        raise UsageError("'-' is not a file: omit the option for standard output, or name /dev/stdout")


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _fill(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as stream:
        stream.writelines(pieces)


def resolved(path: Path, within: Path | None = None) -> Path:
    """Return the file that ``path`` names, through symbolic links, whether it exists or not.

    :param within: a folder that the file must lie in, without symbolic links itself.
    :raises InputError: a link leads out of the folder ``within``, or links go round in a circle.
    """
    try:
        target = path.resolve()
    except (OSError, RuntimeError):
        raise InputError("cannot follow: the symbolic links go round in a circle", path) from None
    if within is not None and not target.is_relative_to(within):
        raise InputError(f"a symbolic link leads out of the output folder, to {target}", path)
    return target


def content_of(path: Path) -> bytes:
    """Return the content of a file that a user named.

    :raises InputError: it cannot be read.
    """
    with system_errors(InputError, "cannot read", path):
        return path.read_bytes()


D = TypeVar("D")


def decoded(data: bytes, path: Path | str, kind: type[D], what: str, schema: str, version: int) -> D:
    """Return a document in JSON that says its schema and its version.

    :param path: for messages.
    :param kind: a structure with the fields ``schema`` and ``version``.
    :param what: what the document is, for messages.
    :raises InputError: it is something else.
    """
    import msgspec

    with input_errors((msgspec.MsgspecError, RecursionError), f"not {what}", path):
        document: Any = msgspec.json.decode(data, type=kind)
    if document.schema != schema:
        raise InputError(f"the schema is {document.schema!r}, expected {schema!r}", path)
    if document.version != version:
        raise InputError(f"version {document.version} is not known, expected {version}", path)
    return cast("D", document)


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
    :raises ToolchainError: other users could replace the folder that it is made in.
    """
    where = parent or temporary_folder()
    remove_abandoned(where)
    with ExitStack() as stack:
        try:
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=where)).resolve()
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.callback(os.close, own(folder))
        except OSError as exc:
            raise InputError(
                f"cannot make a folder for temporary files: {exc.strerror}; "
                "free some space, or set TMPDIR to a folder that can be written",
                where,
            ) from None
        yield folder


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
