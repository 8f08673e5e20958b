"""What is found in files of tuned results: which of their rows will be used, and why others will not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Severity(Enum):
    """What a finding means for its row."""

    #: the owner of the file rejects the row, or would run something that is wrong
    ERROR = "error"
    #: the row is in order by itself, but is never used
    WARNING = "warning"
    #: the row is used; there is something to know about it
    NOTE = "note"


class Reason(Enum):
    """Why a row is remarkable; the value is what users type and what reports print."""

    MALFORMED_ROW = "malformed_row"
    MALFORMED_KEY = "malformed_key"
    MALFORMED_VALUE = "malformed_value"
    #: sizes of the key contradict each other
    WRONG_PROBLEM = "wrong_problem"
    #: the program has no such solver or engine, or no longer
    STALE_SOLVER = "stale_solver"
    #: the solver is for another direction or number of dimensions, or is called by another algorithm
    WRONG_SOLVER = "wrong_solver"
    #: no list has the kernel
    UNKNOWN_KERNEL = "unknown_kernel"
    #: the kernel's own test rejects the problem
    UNSUPPORTED = "unsupported"
    #: number and name of the kernel contradict each other
    ID_MISMATCH = "id_mismatch"
    WRONG_SPLIT = "wrong_split"
    WRONG_WORKSPACE = "wrong_workspace"
    WRONG_TIME = "wrong_time"
    #: the result was found wrong when it was tuned
    WRONG_RESULT = "wrong_result"
    #: an earlier or a later row with the same key is used in its place
    DUPLICATE = "duplicate"
    #: an earlier row has the same key and another content: the owner rejects the whole file
    CONFLICT = "conflict"
    #: no lookup forms the key
    NEVER_HIT = "never_hit"
    WRONG_DEVICE = "wrong_device"
    WRONG_FILE_NAME = "wrong_file_name"
    #: several kernels have the name of the row; the first one runs
    AMBIGUOUS_KERNEL = "ambiguous_kernel"
    #: the number of splits is computed when the kernel runs, from occupancy
    AUTOMATIC_SPLIT = "automatic_split"
    #: a time of 0 or the like, which nothing depends on
    DOUBTFUL_TIME = "doubtful_time"
    #: nothing was judged, for there is nothing
    EMPTY_FILE = "empty_file"


#: what each reason means for a row
SEVERITIES: Mapping[Reason, Severity] = {
    **dict.fromkeys(Reason, Severity.ERROR),
    Reason.DUPLICATE: Severity.WARNING,
    Reason.NEVER_HIT: Severity.WARNING,
    Reason.WRONG_DEVICE: Severity.WARNING,
    Reason.WRONG_FILE_NAME: Severity.WARNING,
    Reason.AMBIGUOUS_KERNEL: Severity.NOTE,
    Reason.AUTOMATIC_SPLIT: Severity.NOTE,
    Reason.DOUBTFUL_TIME: Severity.NOTE,
    Reason.EMPTY_FILE: Severity.NOTE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One thing to know about a row, or about the file."""

    reason: Reason
    message: str
    #: one-based line, or number of the row in a database; 0: the whole file
    line: int = 0
    #: part of the row, from 0, where a row holds several entries; ``None``: all of it
    entry: int | None = None
    #: the row, shortened
    text: str = ""

    @property
    def severity(self) -> Severity:
        """What it means for the row."""
        return SEVERITIES[self.reason]

    @property
    def removable(self) -> bool:
        """True where a file without the row, or the part of it, does not have the finding."""
        return self.line > 0 and self.severity is not Severity.NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAudit:
    """What was found in one file."""

    path: Path
    #: what the file is, for people
    label: str
    #: entries that have a time or a kernel of their own
    entries: int
    #: what could be judged of the entries -> how many of them, e.g. ``kernel supported``
    judged: Mapping[str, int] = field(default_factory=dict)
    #: in the order of the file
    findings: tuple[AuditFinding, ...] = ()

    @property
    def by_reason(self) -> Counter[Reason]:
        """Reason -> findings."""
        return Counter(finding.reason for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What was found in all files that were asked for."""

    files: tuple[FileAudit, ...]
    #: reasons that fail the audit
    fail_on: frozenset[Reason]
    #: where kernels were looked for
    lists: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """Findings that fail the audit."""
        return sum(finding.reason in self.fail_on for one in self.files for finding in one.findings)

    @property
    def passed(self) -> bool:
        """True if nothing was found that fails the audit."""
        return not self.failed
