"""hipDNN as a consumer of tuned results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.audit import FileAudit
    from ckprof.plugin.protocols import AuditRequest, ConsumerFiles, ExportRequest


class Hipdnn:
    """The JSON file with which hipDNN is told which engine runs an operation."""

    id = "hipdnn"
    label = "hipDNN: JSON overrides of the choice of engines"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Say whether a file is such an override."""
        return path.suffix == ".json" and b"engine_overrides" in head

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each override.

        :raises InputError: the file cannot be read.
        """
        from ckprof_plugins.consumers.hipdnn.overrides import audit_file

        return audit_file(request.path)

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return the document without wrong overrides.

        :raises InputError: the file cannot be read any more.
        """
        from ckprof_plugins.consumers.hipdnn.overrides import read_document

        document = read_document(audit.path)
        wrong = {finding.line for finding in audit.findings if finding.removable}
        overrides = document.get("engine_overrides", []) if isinstance(document, dict) else []
        kept = [item for number, item in enumerate(overrides, 1) if number not in wrong]
        return (json.dumps({"version": 2, "engine_overrides": kept}, indent=2) + "\n").encode()

    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return a file that has MIOpen run each problem; its own databases choose the kernel."""
        from ckprof_plugins.consumers.hipdnn.writing import export

        return export(request)
