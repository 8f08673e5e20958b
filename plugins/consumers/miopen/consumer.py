"""MIOpen as a consumer of tuned results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof_plugins.consumers.miopen.file_names import TEXT_SUFFIXES
from ckprof_plugins.consumers.miopen.rows import has_tables, is_database, looks_like_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from ckprof.model.audit import FileAudit
    from ckprof.plugin.protocols import AuditRequest, ConsumerFiles, ExportRequest, KernelList, Sighting
    from ckprof.plugin.protocols.formats import ImportHints


class Miopen:
    """Find-dbs and performance databases, of the system and of users, as text and in SQLite's format."""

    id = "miopen"
    label = "MIOpen: find-db and performance database, text or SQLite; log lines of solvers"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Say whether a file is one of MIOpen's databases, by its name or its first row."""
        if is_database(head):
            # others, such as caches of compiled kernels, lie beside them
            return has_tables(head)
        return looks_like_text(head) or path.name.endswith(TEXT_SUFFIXES)

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each row as MIOpen reads it.

        :raises InputError: the file cannot be read.
        """
        from ckprof_plugins.consumers.miopen.audit import audit

        return audit(request)

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return a database without what is wrong.

        :raises InputError: the file cannot be read any more.
        """
        from ckprof_plugins.consumers.miopen.cleaning import cleaned

        return cleaned(audit)

    def sightings(self, text: str, lists: Sequence[KernelList]) -> Sequence[Sighting]:
        """Return what a line of a log, or a row of a database, says about a kernel."""
        from ckprof_plugins.consumers.miopen.log_lines import sightings

        return sightings(text, lists)

    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return a user's find-db and performance databases.

        :raises UsageError: the version, which the names of the files hold, is missing.
        """
        from ckprof_plugins.consumers.miopen.writing import export

        return export(request)

    def measurements(self, path: Path, hints: ImportHints) -> Iterator[Any]:
        """Yield the times of a find-db.

        :raises InputError: the file cannot be read, or has no times.
        :raises UsageError: neither its name nor the hints say the device.
        """
        from ckprof_plugins.consumers.miopen.reading import measurements

        return measurements(path, hints)
