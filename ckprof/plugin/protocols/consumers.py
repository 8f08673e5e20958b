"""What programs that use tuned results must have: their files are read, judged and written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.audit import FileAudit
    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType
    from ckprof.plugin.protocols.formats import ImportHints


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


class Consumer(Protocol):
    """A program that uses tuned results."""

    @property
    def id(self) -> str:
        """What users type."""

    @property
    def label(self) -> str:
        """A few words for help texts: the program, and which of its files are known."""

    def owns(self, path: Path, head: bytes) -> bool:
        """Say whether a file is one of the program's.

        :param head: its first bytes.
        """


@runtime_checkable
class FileAuditor(Protocol):
    """A consumer whose files can be judged."""

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each row as the program reads it; whatever the file holds, there is a result.

        :raises InputError: the file, or the tree, cannot be read.
        """

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return the content of a judged file without what is wrong and can be removed.

        :raises InputError: the file cannot be read any more.
        """


@runtime_checkable
class ResultReader(Protocol):
    """A consumer whose files hold times."""

    def measurements(self, path: Path, hints: ImportHints) -> Iterator[Any]:
        """Yield a :class:`ckprof.store.attempt.Attempt` for each time of a file.

        :raises InputError: the file cannot be read.
        :raises UsageError: it does not say what must be known, and neither do the hints.
        """


@runtime_checkable
class ResultWriter(Protocol):
    """A consumer for which files can be written."""

    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return its files for winners. Nothing is written for what it cannot name.

        :raises UsageError: something is missing in the request.
        :raises InputError: the tree cannot be read.
        """


@runtime_checkable
class TraceReader(Protocol):
    """A consumer whose logs, or traces of it, name kernels."""

    def sightings(self, text: str, lists: Sequence[KernelList]) -> Sequence[Sighting]:
        """Return what a line says; empty for a line that says nothing of a kernel.

        :param lists: kernels that there are.
        """
