"""Writing a report beside the one on standard output."""

from __future__ import annotations

import tempfile
import time
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.files import write_output

if TYPE_CHECKING:
    from pathlib import Path

#: seconds after which a file that was to become a report belongs to a process that was killed
_ABANDONED_S: Final = 600.0


def check_report(path: Path | None) -> None:
    """Make sure that a report can be written, before anything is done that takes time.

    :param path: the file; ``None`` for no report.
    :raises InputError: it cannot.
    """
    if path is None:
        return
    if path.is_dir():
        raise InputError("cannot write the report: this is a folder, expected a file", path)
    if path.exists() and not path.is_file():
        # a device or a pipe
        return
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InputError(f"cannot write the report: there is no folder {folder}; make it first", path)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b" " * 4096)
    except OSError as exc:
        raise InputError(f"cannot write the report: {exc.strerror}", path) from None


def write_report(text: str | bytes, path: Path) -> None:
    """Write a report.

    :raises InputError: the file cannot be written.
    """
    check_report(path)
    write_output(path, text)
    _sweep(path)


def _sweep(path: Path) -> None:
    """Remove what an earlier process left behind that was killed while it wrote the same report."""
    for left in path.resolve().parent.glob(f".{path.name}.*.tmp"):
        try:
            if time.time() - left.stat().st_mtime > _ABANDONED_S:
                left.unlink()
        except OSError:
            continue
