"""Databases without the rows, and the parts of rows, that an audit found wrong."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.private_folders import temporary_folder
from ckprof_plugins.consumers.miopen.rows import is_database, read_bytes, text_rows

if TYPE_CHECKING:
    from ckprof.model.audit import FileAudit


def cleaned(audit: FileAudit) -> bytes:
    """Return the content of a database without what can be removed from it.

    :raises InputError: the file cannot be read any more.
    """
    data = read_bytes(audit.path)
    wrong: dict[int, set[int | None]] = {}
    for finding in audit.findings:
        if finding.removable:
            wrong.setdefault(finding.line, set()).add(finding.entry)
    if is_database(data[:100]):
        return _cleaned_table(audit.path, data, wrong)
    lines: list[bytes] = []
    for row in text_rows(data):
        bad = wrong.get(row.line, set())
        if None in bad:
            continue
        if not bad:
            lines.append(row.text.encode("latin-1"))
            continue
        kept = [entry.text for entry in row.entries() if entry.number not in bad]
        if kept:
            lines.append(f"{row.key}={';'.join(kept)}".encode("latin-1"))
    return b"".join(line + b"\n" for line in lines)


def _cleaned_table(path: Path, data: bytes, wrong: dict[int, set[int | None]]) -> bytes:
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        copy = Path(folder, "database")
        copy.write_bytes(data)
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.executemany("DELETE FROM perf_db WHERE id = ?", [(number,) for number in wrong])
                connection.execute("DELETE FROM config WHERE id NOT IN (SELECT config FROM perf_db)")
                connection.commit()
        except (sqlite3.Error, UnicodeDecodeError) as exc:
            raise InputError(f"cannot be cleaned: {exc}", path) from None
        return copy.read_bytes()
