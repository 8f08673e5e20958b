"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write a text file beside its place and rename it.

    :param path: the file; missing folders are created.
    :param text: its whole content.
    :raises OSError: nothing was changed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_if_changed(path: Path, text: str) -> None:
    """Write a text file unless it already has that content, so that its time of change stays.

    :param path: the file; missing folders are created.
    :param text: its whole content.
    :raises OSError: nothing was changed.
    """
    try:
        if path.read_text(encoding="utf-8") == text:
            return
    except (OSError, UnicodeDecodeError):
        pass  # to be written, which tells what is wrong
    write_atomically(path, text)
