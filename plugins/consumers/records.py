"""What is asked of programs that use tuned results, and what they answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import Conditions, Measurement, Status
from ckprof.store.attempt import Attempt
from ckprof.store.key import KernelKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType
    from ckprof.store.attempt import Session
    from ckprof.store.key import DeviceKey

K = TypeVar("K")
V = TypeVar("V")


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

    MALFORMED_ROW = ("malformed_row", "the row cannot be read")
    MALFORMED_KEY = ("malformed_key", "the key cannot be read")
    MALFORMED_VALUE = ("malformed_value", "what stands after the key cannot be read")
    WRONG_PROBLEM = ("wrong_problem", "sizes of the key contradict each other")
    STALE_SOLVER = ("stale_solver", "the program has no such solver")
    #: the solver is for another direction or number of dimensions, or is called by another algorithm
    WRONG_SOLVER = ("wrong_solver", "the solver is for something else than the key")
    UNKNOWN_KERNEL = ("unknown_kernel", "no list has the kernel")
    UNSUPPORTED = ("unsupported", "the kernel does not support the problem")
    KNOWN_FAULT = ("known_fault", "the kernel supports the problem, and computes wrong elements")
    ID_MISMATCH = ("id_mismatch", "number and name are of different kernels")
    WRONG_SPLIT = ("wrong_split", "the kernel cannot divide the reduction like that")
    WRONG_WORKSPACE = ("wrong_workspace", "the kernel asks for another workspace")
    WRONG_TIME = ("wrong_time", "the time cannot be one")
    WRONG_RESULT = ("wrong_result", "the kernel computed wrong elements when it was tuned")
    DUPLICATE = ("duplicate", "another row with the same key is used", Severity.WARNING)
    CONFLICT = ("conflict", "rows with the same key differ, and the program rejects the file")
    NEVER_HIT = ("never_hit", "no lookup forms the key", Severity.WARNING)
    WRONG_DEVICE = ("wrong_device", "the row is for another device", Severity.WARNING)
    WRONG_FILE_NAME = ("wrong_file_name", "the program does not open a file of this name", Severity.WARNING)
    AMBIGUOUS_KERNEL = (
        "ambiguous_kernel",
        "several kernels have the name; the first one runs",
        Severity.NOTE,
    )
    AUTOMATIC_SPLIT = ("automatic_split", "the number of splits depends on occupancy", Severity.NOTE)
    LOSES_DIGITS = ("loses_digits", "results are less exact than those of other rows could be", Severity.NOTE)
    DOUBTFUL_TIME = ("doubtful_time", "a time that orders the row before all others", Severity.NOTE)
    OTHER_VERSION = (
        "other_version",
        "of another version of the program or of a device than those that are known: not judged",
        Severity.NOTE,
    )
    UNUSABLE_ID = (
        "unusable_id",
        "an id is missing, is not a number, or is that of several rows",
        Severity.NOTE,
    )
    UNREADABLE_LIST = (
        "unreadable_list",
        "a list of kernels cannot be read, and its kernels were not judged",
        Severity.NOTE,
    )
    EMPTY_FILE = ("empty_file", "nothing was judged: the file has no entries", Severity.NOTE)

    #: what it means, for readers of reports
    meaning: str
    #: what it means for a row
    severity: Severity

    def __new__(cls, value: str, meaning: str, severity: Severity = Severity.ERROR) -> Reason:
        reason = object.__new__(cls)
        reason._value_, reason.meaning, reason.severity = value, meaning, severity
        return reason


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One thing to know about a row, or about the file."""

    reason: Reason
    message: str
    #: one-based line, or number of the row in a database; 0: the whole file
    line: int = 0
    #: part of the row, from 0, where a row holds several entries; ``None``: all of it. Without a line: what
    #: the file has besides rows
    entry: int | None = None
    #: the row, shortened
    text: str = ""

    @property
    def removable(self) -> bool:
        """True where a clean file, without the row or the part of it, does not have the finding."""
        is_part = self.line > 0 or self.entry is not None
        return is_part and self.reason.severity is not Severity.NOTE


@dataclass(slots=True, kw_only=True)
class FileAudit:
    """What was found in one file; it grows while the file is judged."""

    path: Path
    #: what the file is, for people
    label: str
    #: entries that have a time or a kernel of their own
    entries: int = 0
    #: what could be judged of the entries -> how many of them, e.g. ``kernel supported``
    judged: Counter[str] = field(default_factory=Counter)
    #: of the content that was judged; empty where the file is read again as it is
    digest: str = ""
    #: in the order of the file
    findings: list[AuditFinding] = field(default_factory=list)

    def find(
        self, reason: Reason | None, message: str, line: int = 0, text: str = "", entry: int | None = None
    ) -> None:
        """Add a finding; without a reason, note what could be judged."""
        if reason is None:
            self.judged[message] += 1
            return
        self.findings.append(AuditFinding(reason=reason, message=message, line=line, entry=entry, text=text))

    @property
    def by_reason(self) -> Counter[Reason]:
        """Reason -> findings."""
        return Counter(finding.reason for finding in self.findings)

    @property
    def removable(self) -> set[int]:
        """Lines that a file without what is wrong lacks."""
        return {finding.line for finding in self.findings if finding.removable}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelList:
    """A list of kernels as text: what entries are looked for in."""

    #: for messages
    path: Path | str
    #: number and text of each line that holds a kernel
    lines: tuple[tuple[int, str], ...] = field(hash=False)


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
    #: of the owner, which shall use the file; empty: what the file says
    version: str = ""
    #: true where the user named the lists: no other kernels exist
    complete: bool = False


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

    def fastest(self, entry: Callable[[TunedKernel], tuple[K, V]]) -> tuple[dict[K, V], Counter[str]]:
        """Return what is written for the fastest winner of each key, and why nothing is -> for how many.

        :param entry: returns key and content for a winner; raises :class:`LeftOutError`.
        """
        found: dict[K, V] = {}
        times: dict[K, float] = {}
        left_out: Counter[str] = Counter()
        for winner in self.winners:
            try:
                key, content = entry(winner)
            except LeftOutError as exc:
                left_out[str(exc)] += 1
                continue
            if key not in times or winner.time_ms < times[key]:
                times[key], found[key] = winner.time_ms, content
        return found, left_out


class LeftOutError(Exception):
    """Why nothing is written for a winner."""


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


#: beginning of the kernel keys of measurements that were imported, of which the name alone is known
IMPORTED: Final = "name:"


def imported_attempt(
    session: Session,
    sequence: int,
    device: DeviceKey,
    direction: str,
    problem: Problem,
    kernel: str,
    *,
    dtype: DataType | None,
    spelled_type: str,
    layout: str,
    time_ms: float,
    split_k: int = 1,
    workspace_bytes: int | None = None,
    wrong: str = "",
) -> Attempt:
    """Return a measurement of a kernel of which the name alone is known.

    :param spelled_type: what tells kernels of one name apart.
    :param wrong: why the result was wrong; empty where nothing says so.
    """
    measurement = Measurement(
        time_ms=time_ms, spread_ms=0.0, min_ms=time_ms, mean_ms=time_ms, samples=1, stopped_by=""
    )
    return Attempt(
        key=MeasurementKey(
            operation=OperationKey(direction=direction),
            problem=problem,
            split_k=split_k,
            kernel=KernelKey(instance=f"{IMPORTED}{kernel} {spelled_type}"),
            device=device,
            toolchain=ToolchainKey(),
            method=MethodKey(clock="", version=0, cache=""),
        ),
        session=session,
        sequence=sequence,
        kernel=KernelRef(name=kernel, dtype=dtype, layout=layout),
        status=Status.WRONG_RESULT if wrong else Status.OK,
        reason=wrong,
        workspace_bytes=workspace_bytes,
        measurement=None if wrong else measurement,
        conditions=Conditions(started=session.started, order=sequence),
    )
