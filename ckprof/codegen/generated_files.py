"""Writing generated text."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from ckprof.errors import InputError

if TYPE_CHECKING:
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
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
