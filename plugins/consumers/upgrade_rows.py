"""Which rows of databases an upgrade affects: by the lists of both sides, and by their kernels' code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.plugin.members import offers
from ckprof_plugins.consumers.audit import owned_files
from ckprof_plugins.consumers.protocols import Consumer
from ckprof_plugins.consumers.records import AuditRequest, KernelList, Reason
from ckprof_plugins.consumers.requests import AuditCall, kernel_lists, read_kernel_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.consumers.records import AuditFinding, FileAudit
    from ckprof_plugins.consumers.requests import UsedDevice
    from ckprof_plugins.extract.lists import ExtractionReport

#: a file with this among its first bytes has no lines
_NO_TEXT = b"\0"
_HEAD_BYTES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """A finding about a row of a database that one side alone leads to, or a row whose kernel has changed."""

    path: Path
    #: what is found on one side; ``None`` where the row's kernel has changed
    finding: AuditFinding | None = None
    #: true if the new side leads to it
    new: bool = True
    line: int = 0
    #: what has changed of the row's kernel
    message: str = ""


@dataclass(slots=True, kw_only=True)
class RowJudge:
    """Judges databases by both sides."""

    registry: Registry
    #: lists of both sides; ``None`` for one without
    reports: tuple[ExtractionReport | None, ExtractionReport | None]
    #: where programs that own databases may have lists of their own
    trees: tuple[Path | None, Path | None]
    device: UsedDevice
    #: ``list:line`` of a kernel that was built -> the kernel, and what has changed of its code
    changed: Mapping[str, tuple[Candidate, str]]
    #: automatic numbers of splits of both sides; ``None`` if no kernels were built
    splits: Callable[[Candidate, object], tuple[int, int] | None] | None
    entries: int = 0
    notes: list[str] = field(default_factory=list)

    def judge(self, paths: Sequence[Path]) -> Iterator[RowChange]:
        """Yield what is found by one side alone, and rows whose kernels have changed.

        :raises InputError: a path is of no known program, or cannot be read.
        """
        lists = self._lists()
        built = self._built_lists()
        for path, owner in owned_files(self.registry, AuditCall(paths=tuple(paths))):
            if not offers(owner, Consumer.audit):
                self.notes.append(f"{path}: files of {owner.id} cannot be judged")
                continue
            old, new = (
                self._audited(owner, path, side, tree) for side, tree in zip(lists, self.trees, strict=True)
            )
            self.entries += new.entries
            yield from _differences(path, old, new)
            if built and offers(owner, Consumer.sightings):
                yield from self._changed(owner, path, new, built)

    def _lists(self) -> tuple[tuple[KernelList, ...], tuple[KernelList, ...]]:
        old, new = self.reports
        if old is None or new is None:
            self.notes.append(
                "kernels of rows are looked up in the lists that ship with ckprof, for both sides"
            )
            shipped = kernel_lists(())
            return shipped, shipped
        return _of_report(old), _of_report(new)

    def _built_lists(self) -> tuple[KernelList, ...]:
        """Return the lists of the kernels that were built, under the names that the kernels have."""
        paths = dict.fromkeys(source.rpartition(":")[0] for source in self.changed)
        return tuple(read_kernel_list(Path(path), path) for path in paths if Path(path).is_file())

    def _audited(
        self, owner: Consumer, path: Path, lists: tuple[KernelList, ...], tree: Path | None
    ) -> FileAudit:
        def request(tree: Path | None) -> AuditRequest:
            return AuditRequest(
                path=path,
                lists=lists,
                tree=tree,
                arch=self.device.arch,
                compute_units=self.device.compute_units or 0,
            )

        try:
            return owner.audit(request(tree))
        except InputError as exc:
            # a tree of the library is none of every program that owns databases
            if tree is None or exc.path is None or Path(exc.path) != tree:
                raise
            return owner.audit(request(None))

    def _changed(
        self, owner: Consumer, path: Path, audit: FileAudit, lists: tuple[KernelList, ...]
    ) -> Iterator[RowChange]:
        automatic = {one.line for one in audit.findings if one.reason is Reason.AUTOMATIC_SPLIT}
        data = path.read_bytes()
        if _NO_TEXT in data[:_HEAD_BYTES]:
            self.notes.append(f"{path}: is no text: rows whose kernels have changed are not told")
            return
        for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
            for sighting in owner.sightings(line, lists) if line.strip() else ():
                for source in sighting.lines:
                    if source not in self.changed:
                        continue
                    candidate, text = self.changed[source]
                    parts = [text] if text else []
                    if number in automatic and self.splits is not None and sighting.problem is not None:
                        counts = self.splits(candidate, sighting.problem)
                        if counts is not None and counts[0] != counts[1]:
                            parts.append(f"automatic splits {counts[0]} -> {counts[1]}")
                    if parts:
                        yield RowChange(
                            path=path, line=number, message=f"{candidate.name}: {', '.join(parts)}"
                        )


def _of_report(report: ExtractionReport) -> tuple[KernelList, ...]:
    return tuple(KernelList(path=file.place, lines=tuple(enumerate(file.texts, 1))) for file in report.files)


def _differences(path: Path, old: FileAudit, new: FileAudit) -> Iterator[RowChange]:
    """Yield findings that one side alone has; messages may name other lines of lists."""
    for mine, other, is_new in ((new, old, True), (old, new, False)):
        left = Counter(map(_key, other.findings))
        for finding in mine.findings:
            if left[_key(finding)]:
                left[_key(finding)] -= 1
            else:
                yield RowChange(path=path, finding=finding, new=is_new, line=finding.line)


def _key(finding: AuditFinding) -> tuple[int, int | None, Reason]:
    return finding.line, finding.entry, finding.reason
