"""Writing generated text; what a tree was written from, and how its files looked then.

A tree that is up to date is left alone. Its record is no part of its content: without it everything is
compared instead.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

import ckprof
from ckprof.errors import InputError
from ckprof.files import new_file_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


def write_if_changed(path: Path, text: str) -> bool:
    """Write ``text`` unless the file holds it already, and say whether it was written.

    The file is replaced at once: whoever reads it meanwhile sees the old text or the new one.

    :raises InputError: the file cannot be written.
    """
    data = text.encode()
    try:
        if _create(path, data):
            return True
        if path.read_bytes() == data:
            return False
        _replace(path, data)
    except OSError as exc:
        raise InputError(f"cannot write the file: {exc.strerror}", path) from None
    return True


def _create(path: Path, data: bytes) -> bool:
    """Write a file that does not exist yet; say no if it does."""
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


def _replace(path: Path, data: bytes) -> None:
    temporary = new_file_beside(path)
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


FILE: Final = ".ckprof-tree.json"

#: Files of the generator that decide what it writes.
_DECIDING: Final = frozenset({".py", ".j2", ".json", ".h", ".hpp", ".cpp"})


class State(msgspec.Struct):
    """The record."""

    #: digest of everything that the tree was written from
    digest: str
    #: name, device marker and weight of the kernels, in order
    kernels: list[tuple[str, str, int]]
    #: path below the root -> size in bytes and time of the last change in ns
    files: dict[str, tuple[int, int]]


def request_digest(parts: Iterable[str], packages: Iterable[str]) -> str:
    """Return the digest of a request for a tree.

    :param parts: everything that is asked for.
    :param packages: import names of the packages that take part in writing, beside ckprof.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (*parts, *_generator(packages)):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def up_to_date(root: Path, digest: str) -> State | None:
    """Return the record if the tree was written from the same request and nobody has touched it since."""
    try:
        state = msgspec.json.decode((root / FILE).read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return None
    if state.digest != digest:
        return None
    return state if _looks(root, state.files) == state.files else None


def remember(root: Path, digest: str, kernels: Sequence[tuple[str, str, int]], files: Iterable[str]) -> None:
    """Record how the files look."""
    looks = _looks(root, dict.fromkeys(files, (0, 0)))
    state = State(digest=digest, kernels=list(kernels), files=looks)
    write_if_changed(root / FILE, msgspec.json.encode(state).decode())


def forget(root: Path) -> None:
    """Remove the record, before the tree is changed."""
    # whatever is in the way is reported by what writes the tree
    with contextlib.suppress(OSError):
        (root / FILE).unlink(missing_ok=True)


def _looks(root: Path, files: Mapping[str, object]) -> dict[str, tuple[int, int]]:
    """Return size and time of those files that exist."""
    looks: dict[str, tuple[int, int]] = {}
    base = f"{root}{os.sep}"
    for name in files:
        try:
            status = os.stat(base + name)  # noqa: PTH116 - of thousands of files
        except OSError:
            continue
        looks[name] = (status.st_size, status.st_mtime_ns)
    return looks


def _generator(packages: Iterable[str]) -> list[str]:
    """Return size and time of every file that decides what is written."""
    folders = {Path(ckprof.__path__[0])}
    for name in packages:
        module = sys.modules.get(name)
        folders.update(Path(folder) for folder in getattr(module, "__path__", ()))
        if module is not None and not hasattr(module, "__path__") and module.__file__:
            folders.add(Path(module.__file__))
    looks = []
    for folder in sorted(folders):
        paths = [folder] if folder.is_file() else sorted(_deciding_files(str(folder)))
        for path in paths:
            status = os.stat(path)  # noqa: PTH116 - as above
            looks.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return looks


def _deciding_files(folder: str) -> Iterable[str]:
    for path, _, names in os.walk(folder):
        for name in names:
            if os.path.splitext(name)[1] in _DECIDING:  # noqa: PTH122 - as above
                yield os.path.join(path, name)  # noqa: PTH118 - as above
