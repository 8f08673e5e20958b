"""What programs that use tuned results must have, and the kind of objects that they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from ckprof.plugin.additions import Kind
from ckprof.plugin.members import optional, optional_with

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ckprof.plugin.protocols.converters import ImportHints
    from ckprof_plugins.consumers.records import (
        AuditRequest,
        ConsumerFiles,
        ExportRequest,
        FileAudit,
        KernelList,
        Sighting,
    )


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

    @optional_with("cleaned")
    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each row of a file as the program reads it; whatever the file holds, there is a result.

        :raises InputError: the file, or the tree, cannot be read.
        """
        raise NotImplementedError

    @optional
    def compare(self, audits: Sequence[FileAudit]) -> None:
        """Add to audits of several files what is found where the program reads them as one.

        :raises InputError: a file cannot be read any more.
        """

    @optional_with("audit")
    def cleaned(self, audit: FileAudit) -> bytes:
        """Return the content of a judged file without what is wrong and can be removed.

        :raises InputError: the file cannot be read any more.
        """
        raise NotImplementedError

    @optional
    def measurements(self, path: Path, hints: ImportHints) -> Iterator[Any]:
        """Yield a :class:`ckprof.store.attempt.Attempt` for each time of a file.

        :raises InputError: the file cannot be read.
        :raises UsageError: it does not say what must be known, and neither do the hints.
        """
        raise NotImplementedError

    @optional
    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return files for winners. Nothing is written for what the program cannot name.

        :raises UsageError: something is missing in the request.
        :raises InputError: the tree cannot be read.
        """
        raise NotImplementedError

    @optional
    def sightings(self, text: str, lists: Sequence[KernelList]) -> Sequence[Sighting]:
        """Return what a line of a log or trace says of kernels; empty for one that says nothing of any.

        :param lists: kernels that there are.
        """
        return ()


#: programs that use tuned results
CONSUMERS: Final = Kind[Consumer]("consumer", Consumer, "ckprof_plugins.consumers.trials:consumer_trials")
