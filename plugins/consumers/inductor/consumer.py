"""PyTorch's Inductor as a consumer: the lists of kernels that it compiles from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof_plugins.consumers.inductor.device_classes import CLASSES

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.audit import FileAudit
    from ckprof.plugin.protocols import AuditRequest


class Inductor:
    """The C++ lists in the library folder of AMD's package ``ck4inductor``."""

    id = "inductor"
    label = "PyTorch Inductor: C++ lists of kernels in a library folder"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Say whether a file is a header with kernels of a class that Inductor compiles."""
        return path.suffix == ".hpp" and any(f"{name}<".encode() in head for name in CLASSES)

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each line that ck4inductor takes for a kernel.

        :raises InputError: the file cannot be read.
        """
        from ckprof_plugins.consumers.inductor.list_audit import audit

        return audit(request)

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return the list without wrong lines; of a tuple whose last one leaves, the comma before it as well.

        :raises InputError: the file cannot be read any more.
        """
        from ckprof_plugins.consumers.inductor.list_audit import lines_of

        wrong = {finding.line for finding in audit.findings if finding.removable}
        kept: list[str] = []
        for number, line in enumerate(lines_of(audit.path), 1):
            if number not in wrong:
                kept.append(line)
            elif not line.rstrip().endswith(",") and "//" not in line:
                last = next((at for at in range(len(kept) - 1, -1, -1) if _is_element(kept[at])), None)
                if last is not None:
                    kept[last] = kept[last].rstrip().removesuffix(",")
        return "\n".join(kept).encode()


def _is_element(line: str) -> bool:
    return line.rstrip().endswith(">,") and any(f"{name}<" in line for name in CLASSES)
