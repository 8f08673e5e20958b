"""Writing a report beside the one on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.catalog.writer import write_atomically
from ckprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def write_report(text: str, path: Path) -> None:
    """Write a report.

    :raises InputError: the file cannot be written.
    """
    try:
        write_atomically(path, text)
    except OSError as exc:
        raise InputError(f"cannot write the report: {exc.strerror}", path) from None
