"""What is asked of programs that use tuned results, and what they answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType


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


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelList:
    """A list of kernels as text: what entries are looked for in."""

    #: for messages
    path: Path | str
    #: number and text of each line that holds a kernel
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """One file to be judged."""

    path: Path
    #: kernels that there are; empty where no list was named and none ships
    lists: tuple[KernelList, ...] = ()
    #: folder of an installation of the file's owner, whose own lists of kernels count
    tree: Path | None = None
    #: the device that shall use the file; empty and 0: what the file says
    arch: str = ""
    compute_units: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedKernel:
    """A verified winner: what is written for its problem."""

    #: id of the operation
    direction: str
    problem: Problem
    dtype: DataType
    #: name of the layout
    layout: str
    #: its line in a list; empty where no list that was given has it
    line: str
    #: place of the line, or name of the kernel without one, for messages
    source: str
    #: parts of the reduction that ran
    splits: int
    time_ms: float
    workspace_bytes: int = 0
    #: content key of the instance that ran
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What shall be written."""

    winners: tuple[TunedKernel, ...]
    #: the device that shall use it
    arch: str
    compute_units: int
    #: version of the owner of the files, where their names hold it
    version: str = ""
    lists: tuple[KernelList, ...] = ()
    tree: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFiles:
    """Files to be written."""

    #: name -> content
    files: Mapping[str, bytes]
    #: entries in them
    entries: int
    #: why nothing is written for a winner -> for how many
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What one line of a log or trace says about a kernel that ran."""

    #: what was recognised, in a few words
    what: str
    #: id of the operation; empty where the line does not say it
    direction: str = ""
    problem: Problem | None = None
    dtype: DataType | None = None
    layout: str = ""
    #: lines of lists that it may be, as far as it is known
    lines: tuple[str, ...] = ()
    #: what else the line says, or does not, for people
    note: str = ""
