"""What differs between the sides of an upgrade: kernels that are built for both, and rows of databases."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError, NothingLeftError
from ckprof.formatting import counted
from ckprof.kernels.inspection import compare, inspect_what_compiles
from ckprof.measure.support import support_answers
from ckprof.measure.worker.messages import SupportQuery
from ckprof.model.architecture import architectures
from ckprof.plugin.members import offers
from ckprof.sanitize import one_line
from ckprof_plugins.consumers.audit import AuditCall, kernel_lists, owned_files, read_kernel_list
from ckprof_plugins.consumers.protocols import Consumer
from ckprof_plugins.consumers.records import AuditRequest, KernelList, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.session import Session
    from ckprof_plugins.consumers.records import AuditFinding, FileAudit, Sighting
    from ckprof_plugins.consumers.upgrade import UpgradeCall, UpgradeSide
    from ckprof_plugins.extract.lists import ExtractionReport


class UpgradePart(Enum):
    """What may change; the value is what users type and what reports print."""

    LISTS = ("lists", "lists with other instances")
    KERNELS = ("kernels", "kernels that one side alone has")
    #: registers, spills, LDS, size or occupancy of kernels that both compile
    CODE = ("code", "figures of kernels' code that differ")
    #: of these
    WORSE_CODE = ("worse_code", "new spills and lost occupancy")
    SPLITS = ("splits", "automatic numbers of splits that flip")
    SUPPORT = ("support", "problems that are supported on one side alone")
    ROWS = ("rows", "rows of databases that are affected")

    #: what it counts, for readers of reports
    meaning: str

    def __new__(cls, value: str, meaning: str) -> UpgradePart:
        part = object.__new__(cls)
        part._value_, part.meaning = value, meaning
        return part


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeChange:
    """Something about a kernel or a row that differs."""

    part: UpgradePart
    #: one line for people
    text: str
    #: what JSON says
    values: Mapping[str, Any]


class UpgradeBuilds:
    """What both sides make of the same instances.

    :raises UsageError: the target builds no code objects.
    :raises CkprofError: there is no toolchain, or neither side compiles a kernel.
    """

    def __init__(
        self, session: Session, call: UpgradeCall, selection: Selection, sides: Sequence[UpgradeSide]
    ) -> None:
        self._session = session
        self._selection = selection
        self._problems = call.problems
        self._inspections = []
        #: per side: kernel -> why it has none
        self._reasons: list[Mapping[str, str]] = []
        self._options = []
        for part, side in zip(("old", "new"), sides, strict=True):
            build = replace(
                call.build,
                ck_root=side.headers or call.build.ck_root,
                compiler=side.compiler or call.build.compiler,
                build_dir=call.build.build_dir / part if call.build.build_dir else None,
            )
            inspection, library = inspect_what_compiles(session, selection, build)
            self._inspections.append(inspection)
            self._reasons.append({one.candidate.name: one.reason for one in library.rejected})
            self._options.append(replace(build, target=inspection.target))
        if not any(inspection.kernels for inspection in self._inspections):
            why = next((reason for found in self._reasons for reason in found.values()), "")
            raise NothingLeftError(one_line(f"neither side has a kernel of the instances: {why}"))
        old, new = self._inspections
        self.comparison = compare(old, new)
        both = {one.name for one in old.kernels} & {one.name for one in new.kernels}
        #: what was looked at
        self.judged = [f"{counted(len(both), 'kernel')} built for both"]

    def changes(self) -> Iterator[UpgradeChange]:
        """Yield what differs between the builds, but for their code."""
        for names, new, reasons in (
            (self.comparison.only_before, False, self._reasons[1]),
            (self.comparison.only_after, True, self._reasons[0]),
        ):
            for name in names:
                reason = reasons.get(name, "")
                text = f"{name}: only with {'the new' if new else 'the old'}"
                text += f"; {one_line(reason)}" if reason else ""
                values = {"kernel": name, "new": new, "reason": reason}
                yield UpgradeChange(part=UpgradePart.KERNELS, text=text, values=values)
        yield from self._splits()
        if self._problems:
            yield from self._support()

    def splits_of(self, candidate: Candidate, problem: object) -> tuple[int, int] | None:
        """Return the automatic numbers of splits of both sides; ``None`` where there are none.

        They follow from the occupancy of the most demanding device function.
        """
        counts = []
        for inspection in self._inspections:
            kernel = next((one for one in inspection.kernels if one.key == candidate.instance.key), None)
            arch = architectures().get(inspection.arch)
            if kernel is None or arch is None:
                return None
            resident = kernel.worst.occupancy.workgroups_per_cu * arch.compute_units
            chosen = candidate.pipeline.automatic_splits(candidate.instance, problem, resident)
            if chosen is None:
                return None
            counts.append(chosen)
        return counts[0], counts[1]

    def _splits(self) -> Iterator[UpgradeChange]:
        compared = 0
        for candidate in self._selection.candidates:
            for case in self._problems:
                counts = self.splits_of(candidate, case.problem)
                compared += counts is not None
                if counts is not None and counts[0] != counts[1]:
                    old, new = counts
                    problem = case.problem.describe()
                    yield UpgradeChange(
                        part=UpgradePart.SPLITS,
                        text=f"{candidate.name}: automatic splits {old} -> {new}: {problem}",
                        values={"kernel": candidate.name, "problem": problem, "old": old, "new": new},
                    )
        if compared:
            self.judged.append(counted(compared, "automatic number of splits", "automatic numbers of splits"))

    def _support(self) -> Iterator[UpgradeChange]:
        queries = [
            SupportQuery(problem=case.problem, split_k=split)
            for case in self._problems
            for split in (case.splits or (1,))
        ]
        old, new = (
            support_answers(self._session, self._selection, build, queries) for build in self._options
        )
        compared = 0
        for candidate in self._selection.candidates:
            key = candidate.instance.key
            if key not in old or key not in new:
                continue
            compared += len(queries)
            for query, before, after in zip(queries, old[key], new[key], strict=True):
                if before.supported is not after.supported:
                    problem, reason = query.problem.describe(), before.reason or after.reason
                    verb = "now supports" if after.supported else "no longer supports"
                    text = f"{candidate.name}: {verb} {problem} split_k {query.split_k}"
                    yield UpgradeChange(
                        part=UpgradePart.SUPPORT,
                        text=text + (f" ({reason})" if reason else ""),
                        values={
                            "kernel": candidate.name,
                            "problem": problem,
                            "split_k": query.split_k,
                            "gained": after.supported,
                            "reason": reason,
                        },
                    )
        self.judged.append(counted(compared, "answer") + " about support")

    @cached_property
    def changed_lines(self) -> Mapping[str, tuple[Candidate, str]]:
        """Source of a candidate -> the candidate, and what has changed of its machine code."""
        texts: dict[str, list[str]] = {}
        for one in self.comparison.changes:
            texts.setdefault(one.name, []).append(f"{one.field} {one.before} -> {one.after}")
        for name in self.comparison.only_before:
            texts.setdefault(name, []).append("no longer compiles")
        return {one.source: (one, ", ".join(texts.get(one.name, ()))) for one in self._selection.candidates}

    def changes_of(self, sighting: Sighting, *, automatic: bool) -> Iterator[str]:
        """Yield what has changed of the kernels that a row may name.

        :param automatic: the number of splits follows from occupancy.
        """
        for source in sighting.lines:
            if source not in self.changed_lines:
                continue
            candidate, text = self.changed_lines[source]
            parts = [text] if text else []
            if automatic and sighting.problem is not None:
                counts = self.splits_of(candidate, sighting.problem)
                if counts is not None and counts[0] != counts[1]:
                    parts.append(f"automatic splits {counts[0]} -> {counts[1]}")
            if parts:
                yield f"{candidate.name}: {', '.join(parts)}"


def row_changes(
    session: Session,
    call: UpgradeCall,
    reports: Sequence[ExtractionReport | None],
    trees: Sequence[Path | None],
    builds: UpgradeBuilds | None,
    notes: list[str],
) -> tuple[list[UpgradeChange], int]:
    """Judge databases by both sides.

    :param reports: lists of both sides; ``None`` for one without.
    :param trees: where programs that own databases may have lists of their own.
    :param builds: ``None`` if no kernels were built.
    :param notes: grows by what is not told, and why.
    :returns: what is found by one side alone, and rows whose kernels have changed; and how many entries there
        are.
    :raises InputError: a path is of no known program, or cannot be read.
    """
    if None in reports:
        notes.append("kernels of rows are looked up in the lists that ship with ckprof, for both sides")
        lists = [kernel_lists(())] * 2
    else:
        lists = [
            tuple(KernelList(path=file.place, lines=tuple(enumerate(file.texts, 1))) for file in report.files)
            for report in reports
            if report is not None
        ]
    # of the kernels that were built, under the names that the kernels have
    paths = dict.fromkeys(source.rpartition(":")[0] for source in (builds.changed_lines if builds else ()))
    built = tuple(read_kernel_list(Path(path), path) for path in paths if Path(path).is_file())
    changes: list[UpgradeChange] = []
    entries = 0
    for path, owner in owned_files(session.registry, AuditCall(paths=call.databases)):
        if not offers(owner, Consumer.audit):
            notes.append(f"{path}: files of {owner.id} cannot be judged")
            continue
        old, new = (_audited(owner, call, path, side, tree) for side, tree in zip(lists, trees, strict=True))
        entries += new.entries
        changes += _differences(path, old, new)
        if builds is None or not built or not offers(owner, Consumer.sightings):
            continue
        data = path.read_bytes()
        if b"\0" in data[:1024]:
            notes.append(f"{path}: is not text: rows whose kernels have changed are not found")
        else:
            automatic = {one.line for one in new.findings if one.reason is Reason.AUTOMATIC_SPLIT}
            for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
                for sighting in owner.sightings(line, built) if line.strip() else ():
                    for message in builds.changes_of(sighting, automatic=number in automatic):
                        changes.append(_row_change(path, number, True, "kernel_changed", message))
    return changes, entries


def _audited(
    owner: Consumer, call: UpgradeCall, path: Path, lists: tuple[KernelList, ...], tree: Path | None
) -> FileAudit:
    units = call.compute_units or 0
    request = AuditRequest(path=path, lists=lists, tree=tree, arch=call.arch, compute_units=units)
    try:
        return owner.audit(request)
    except InputError as exc:
        # a tree of the library is none of every program that owns databases
        if tree is None or exc.path is None or Path(exc.path) != tree:
            raise
        return owner.audit(replace(request, tree=None))


def _row_change(path: Path, line: int, new: bool, reason: str, message: str) -> UpgradeChange:
    place = f"{path}:{line}" if line else str(path)
    said = f"{'new' if new else 'no longer'}: {reason}"
    if reason == "kernel_changed":
        said = "the kernel has changed"
    side = "new" if new else "old"
    values = {"path": str(path), "line": line, "side": side, "reason": reason, "message": message}
    return UpgradeChange(part=UpgradePart.ROWS, text=f"{place}: {said}: {message}", values=values)


def _differences(path: Path, old: FileAudit, new: FileAudit) -> Iterator[UpgradeChange]:
    """Yield findings that one side alone has; messages may name other lines of lists."""
    for mine, other, is_new in ((new, old, True), (old, new, False)):
        left = Counter(map(_key, other.findings))
        for finding in mine.findings:
            if left[_key(finding)]:
                left[_key(finding)] -= 1
            else:
                yield _row_change(path, finding.line, is_new, finding.reason.value, finding.message)


def _key(finding: AuditFinding) -> tuple[int, int | None, Reason]:
    return finding.line, finding.entry, finding.reason
