"""What an upgrade changes: lists, machine code, automatic splits, support, and rows of databases."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.consumers.changed_rows import RowJudge
from ckprof.consumers.requests import DeviceChoice
from ckprof.errors import CkprofError, InputError, NothingLeftError, UsageError
from ckprof.kernels.inspection import Inspection, compare, inspect_what_compiles
from ckprof.kernels.requests import BuildOptions
from ckprof.lists.extraction import extract_lists, find_extractor
from ckprof.measure.support import support_answers
from ckprof.measure.worker.messages import SupportQuery
from ckprof.model.architecture import architectures
from ckprof.model.extraction import ExtractedFile, ExtractRequest
from ckprof.model.upgrade import (
    CodeChange,
    LostKernel,
    SplitChange,
    SupportChange,
    Upgrade,
    UpgradePart,
)
from ckprof.option import members, option
from ckprof.plain_text import one_line
from ckprof.plugin.protocols import DeducingPipeline
from ckprof.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.model.extraction import ExtractionReport, ListComparison
    from ckprof.model.problem_case import ProblemCase
    from ckprof.session import Session

_PACKAGES: Final = (".deb", ".a")
#: the lists with every instance; others are samples of it, or say the same in fewer words
_SETS: Final = ("profiler",)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeSide:
    """One of the two states."""

    #: as the user named it
    name: str
    #: a tree or a package, which has lists; ``None`` for a compiler
    source: Path | None = None
    #: headers to compile with; ``None`` for what both sides share
    headers: Path | None = None
    #: ``None`` for the compiler that both sides share
    compiler: str | None = None

    @classmethod
    def of(cls, name: str) -> UpgradeSide:
        """Return what a name means: a folder, a package, or a compiler.

        :raises InputError: it is none of these.
        """
        path = Path(name)
        if name and path.is_dir():
            return cls(name=name, source=path, headers=path)
        if path.is_file() and path.suffix in _PACKAGES:
            return cls(name=name, source=path)
        words = name.split()
        if words and (shutil.which(words[0]) or (Path(words[0]).is_file() and os.access(words[0], os.X_OK))):
            return cls(name=name, compiler=name)
        raise InputError(
            f"is neither a folder, nor a package ({', '.join(_PACKAGES)}), nor a compiler that can be called",
            name or "''",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeCall:
    """Which states are compared, and by what."""

    old: str = field(
        metadata=option(
            "what there was: a source tree or installation, a package (.deb, .a), or a compiler",
            metavar="PATH",
        )
    )
    new: str = field(metadata=option("what comes: the same", metavar="PATH"))
    databases: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            "database of tuned results as 'ckprof audit' takes it, or a folder of them, of which affected "
            "rows are told (repeatable)",
            flag="--database",
            metavar="PATH",
        ),
    )
    #: ``None``: no kernels are built
    selection: Selection | None = None
    problems: tuple[ProblemCase, ...] = ()
    build: BuildOptions = field(default_factory=BuildOptions)
    device: DeviceChoice = field(default_factory=DeviceChoice)
    fail_on: tuple[UpgradePart, ...] = field(
        default=tuple(UpgradePart),
        metadata=option(
            "changes that make the command exit with 1, separated by commas, or none (default: all): "
            f"{', '.join(part.value for part in UpgradePart)}",
            metavar="LIST",
            parse=partial(members, UpgradePart),
            several="store",
        ),
    )


def upgrade(session: Session, call: UpgradeCall) -> Upgrade:
    """Compare both sides; what a side does not have is noted, and not compared.

    :raises UsageError: a compiler stands beside something else, or nothing can be compared.
    :raises InputError: a side is nothing, or a database cannot be read.
    :raises CkprofError: kernels cannot be built.
    """
    old, new = UpgradeSide.of(call.old), UpgradeSide.of(call.new)
    _require_alike(old, new, call)
    notes: list[str] = []
    judged: list[str] = []
    reports = [_extracted(session, side, call, notes) for side in (old, new)]
    found = Upgrade(old=old.name, new=new.name, fail_on=frozenset(call.fail_on))
    if reports[0] is not None and reports[1] is not None:
        lists = _list_changes(session, reports[0], reports[1])
        judged.append(counted(len(lists), "list"))
        found = replace(found, lists=lists)
    builds: _Builds | None = None
    if call.selection is not None:
        builds = _Builds.of(session, call, call.selection, (old, new))
        found = builds.judge(session, call, found)
        judged += builds.judged
    if call.databases:
        judge = RowJudge(
            registry=session.registry,
            reports=(reports[0], reports[1]),
            trees=(old.source, new.source),
            device=call.device,
            changed=builds.changed_lines() if builds is not None else {},
            splits=builds.splits_of if builds is not None else None,
        )
        rows = tuple(judge.judge(call.databases))
        judged.append(f"{counted(judge.entries, 'entry', 'entries')} of databases")
        notes += judge.notes
        found = replace(found, rows=rows)
    if not judged:
        raise UsageError(
            "nothing to compare: there are no lists of both sides, no instances (--conf) and no databases "
            f"(--database): {'; '.join(notes)}"
        )
    return replace(found, judged=tuple(judged), notes=tuple(notes))


def _require_alike(old: UpgradeSide, new: UpgradeSide, call: UpgradeCall) -> None:
    if (old.compiler is None) != (new.compiler is None):
        raise UsageError(f"{old.name} and {new.name}: a compiler is compared with a compiler only")
    if old.compiler is not None:
        if call.build.compiler:
            raise UsageError("--compiler names a third compiler: --old and --new are compilers already")
        if call.selection is None:
            raise UsageError("two compilers are compared by what they make of kernels: name some with --conf")
        return
    packages = [side.name for side in (old, new) if side.headers is None]
    if call.selection is not None and packages:
        raise UsageError(f"{packages[0]} is a package, whose headers are not compiled with: leave out --conf")
    if call.selection is not None and call.build.ck_root is not None:
        raise UsageError("--ck-root names third headers: --old and --new are trees already")


def _extracted(
    session: Session, side: UpgradeSide, call: UpgradeCall, notes: list[str]
) -> ExtractionReport | None:
    if side.source is None:
        return None
    directions = (call.selection.direction,) if call.selection is not None else ()
    try:
        report = extract_lists(session, ExtractRequest(source=side.source, directions=directions, sets=_SETS))
    except CkprofError as exc:
        notes.append(one_line(f"{side.name}: no lists: {exc}"))
        return None
    notes += [f"{side.name}: {name}: {error}" for name, error in report.failures.items()]
    return report


def _list_changes(
    session: Session, old: ExtractionReport, new: ExtractionReport
) -> tuple[ListComparison, ...]:
    """Compare the lists of both sides by their places; one that a side lacks is empty there."""
    extractor = find_extractor(session, new.extractor)
    kept, derived = ({file.place: file for file in report.files} for report in (old, new))
    changes = []
    for place in dict.fromkeys((*kept, *derived)):
        known = kept.get(place) or derived[place]
        file = derived.get(place) or ExtractedFile(place=place, set_name=known.set_name, lines=())
        changes.append(extractor.compare(file, kept[place].texts if place in kept else ()))
    return tuple(changes)


@dataclass(kw_only=True)
class _Builds:
    """What both sides make of the same instances."""

    selection: Selection
    inspections: tuple[Inspection, Inspection]
    #: per side: kernel -> why it has none
    reasons: tuple[Mapping[str, str], Mapping[str, str]]
    options: tuple[BuildOptions, BuildOptions]
    judged: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, session: Session, call: UpgradeCall, selection: Selection, sides: Sequence[UpgradeSide]
    ) -> _Builds:
        """Build both sides.

        :raises UsageError: the target builds no code objects.
        :raises CkprofError: there is no toolchain, or neither side compiles a kernel.
        """
        inspections, reasons, options = [], [], []
        for part, side in zip(("old", "new"), sides, strict=True):
            build = replace(
                call.build,
                ck_root=side.headers or call.build.ck_root,
                compiler=side.compiler or call.build.compiler,
                build_dir=call.build.build_dir / part if call.build.build_dir else None,
            )
            inspection, library = inspect_what_compiles(session, selection, build)
            inspections.append(inspection)
            reasons.append({one.candidate.name: one.reason for one in library.rejected})
            options.append(replace(build, target=inspection.target))
        if not any(inspection.kernels for inspection in inspections):
            why = next((reason for found in reasons for reason in found.values()), "")
            raise NothingLeftError(one_line(f"neither side has a kernel of the instances: {why}"))
        return cls(
            selection=selection,
            inspections=(inspections[0], inspections[1]),
            reasons=(reasons[0], reasons[1]),
            options=(options[0], options[1]),
        )

    def judge(self, session: Session, call: UpgradeCall, found: Upgrade) -> Upgrade:
        """Add what differs between the builds."""
        old, new = self.inspections
        comparison = compare(old, new)
        both = {one.name for one in old.kernels} & {one.name for one in new.kernels}
        self.judged.append(f"{counted(len(both), 'kernel')} built for both")
        lost = [
            LostKernel(kernel=name, new=False, reason=self.reasons[1].get(name, ""))
            for name in comparison.only_before
        ]
        lost += [
            LostKernel(kernel=name, new=True, reason=self.reasons[0].get(name, ""))
            for name in comparison.only_after
        ]
        code = [
            CodeChange(kernel=one.name, figure=one.field, old=one.before, new=one.after, worse=one.worse)
            for one in comparison.changes
        ]
        return replace(
            found,
            kernels=tuple(lost),
            code=tuple(code),
            splits=tuple(self._splits(call.problems)),
            support=tuple(self._support(session, call.problems)),
        )

    def splits_of(self, candidate: Candidate, problem: object) -> tuple[int, int] | None:
        """Return the automatic numbers of splits of both sides; ``None`` where there are none.

        They follow from the occupancy of the most demanding device function.
        """
        pipeline = candidate.pipeline
        if not isinstance(pipeline, DeducingPipeline):
            return None
        counts = []
        for inspection in self.inspections:
            kernel = next((one for one in inspection.kernels if one.key == candidate.instance.key), None)
            arch = architectures().get(inspection.arch)
            if kernel is None or arch is None:
                return None
            resident = kernel.worst.occupancy.workgroups_per_cu * arch.compute_units
            chosen = pipeline.automatic_splits(candidate.instance, problem, resident)
            if chosen is None:
                return None
            counts.append(chosen)
        return counts[0], counts[1]

    def _splits(self, problems: Sequence[ProblemCase]) -> list[SplitChange]:
        changes, compared = [], 0
        for candidate in self.selection.candidates:
            for case in problems:
                counts = self.splits_of(candidate, case.problem)
                if counts is None:
                    continue
                compared += 1
                if counts[0] != counts[1]:
                    changes.append(
                        SplitChange(
                            kernel=candidate.name,
                            problem=case.problem.describe(),
                            old=counts[0],
                            new=counts[1],
                        )
                    )
        if compared:
            self.judged.append(counted(compared, "automatic number of splits", "automatic numbers of splits"))
        return changes

    def _support(self, session: Session, problems: Sequence[ProblemCase]) -> list[SupportChange]:
        if not problems:
            return []
        queries = [
            SupportQuery(problem=case.problem, split_k=split)
            for case in problems
            for split in (case.splits or (1,))
        ]
        old, new = (support_answers(session, self.selection, build, queries) for build in self.options)
        changes = []
        compared = 0
        for candidate in self.selection.candidates:
            key = candidate.instance.key
            if key not in old or key not in new:
                continue
            for query, before, after in zip(queries, old[key], new[key], strict=True):
                compared += 1
                if before.supported is not after.supported:
                    changes.append(
                        SupportChange(
                            kernel=candidate.name,
                            problem=query.problem.describe(),
                            split_k=query.split_k,
                            gained=after.supported,
                            reason=before.reason or after.reason,
                        )
                    )
        self.judged.append(counted(compared, "answer") + " about support")
        return changes

    def changed_lines(self) -> Mapping[str, tuple[Candidate, str]]:
        """Return, per source of a candidate, the candidate and what has changed of its machine code."""
        comparison = compare(*self.inspections)
        texts: dict[str, list[str]] = {}
        for one in comparison.changes:
            texts.setdefault(one.name, []).append(f"{one.field} {one.before} -> {one.after}")
        for name in comparison.only_before:
            texts.setdefault(name, []).append("no longer compiles")
        return {one.source: (one, ", ".join(texts.get(one.name, ()))) for one in self.selection.candidates}
