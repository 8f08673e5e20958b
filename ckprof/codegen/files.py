"""Writing generated text."""

from __future__ import annotations

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
        if path.is_file() and path.read_bytes() == data:
            return False
        _replace(path, data)
    except OSError as exc:
        raise InputError(f"cannot write the file: {exc.strerror}", path) from None
    return True


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
