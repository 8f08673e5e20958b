"""AITER as a consumer of tuned results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof_plugins.consumers.aiter.tables import header_of, layout_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from ckprof.model.audit import FileAudit
    from ckprof.plugin.protocols import AuditRequest, ConsumerFiles, ExportRequest
    from ckprof.plugin.protocols.formats import ImportHints


class Aiter:
    """Tables of tuned matrix products, of both generations; times of its other tables."""

    id = "aiter"
    label = "AITER: CSV tables of tuned matrix products, with and without gfx"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Say whether a file begins with the columns of such a table."""
        return layout_of(header_of(head)) is not None

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each row as AITER's loader and generator read it.

        :raises InputError: the file cannot be read, or the tree has no lists.
        """
        from ckprof_plugins.consumers.aiter.audit import audit

        return audit(request)

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return the table without wrong rows, with LF at the ends of lines.

        :raises InputError: the file cannot be read any more.
        """
        try:
            lines = audit.path.read_bytes().split(b"\n")
        except OSError as exc:
            raise InputError(f"cannot be read: {exc.strerror}", audit.path) from None
        wrong = {finding.line for finding in audit.findings if finding.removable}
        kept = [line.rstrip(b"\r") for number, line in enumerate(lines, 1) if number not in wrong]
        return b"".join(line + b"\n" for line in kept if line.strip())

    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return tables with rows for winners whose kernels the tree's lists have.

        :raises UsageError: there is no tree.
        :raises InputError: the tree has no lists.
        """
        from ckprof_plugins.consumers.aiter.writing import export

        return export(request)

    def measurements(self, path: Path, hints: ImportHints) -> Iterator[Any]:
        """Yield the times of a table.

        :raises InputError: the file cannot be read, or its rows are no plain products.
        """
        from ckprof_plugins.consumers.aiter.reading import measurements

        return measurements(path, hints)
