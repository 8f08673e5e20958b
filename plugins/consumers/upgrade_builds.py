"""The same kernels built for both sides of an upgrade: machine code, automatic splits, support."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ckprof.errors import NothingLeftError
from ckprof.kernels.inspection import Inspection, compare, inspect_what_compiles
from ckprof.measure.support import support_answers
from ckprof.measure.worker.messages import SupportQuery
from ckprof.model.architecture import architectures
from ckprof.plain_text import one_line
from ckprof.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.requests import BuildOptions
    from ckprof.model.problem_case import ProblemCase
    from ckprof.session import Session
    from ckprof_plugins.consumers.upgrade import Upgrade, UpgradeCall, UpgradeSide


@dataclass(frozen=True, slots=True, kw_only=True)
class LostKernel:
    """A kernel that one side alone has."""

    kernel: str
    #: true if the new side has it
    new: bool
    #: why the other one has not
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitChange:
    """An automatic number of splits that differs, because occupancy does."""

    kernel: str
    problem: str
    old: int
    new: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportChange:
    """A problem that one side's kernel supports and the other one's does not."""

    kernel: str
    problem: str
    split_k: int
    #: true if the new side supports it
    gained: bool
    #: condition that is not met on the other side
    reason: str


@dataclass(kw_only=True)
class UpgradeBuilds:
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
    ) -> UpgradeBuilds:
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
        return replace(
            found,
            kernels=tuple(lost),
            code=comparison.changes,
            splits=tuple(self._splits(call.problems)),
            support=tuple(self._support(session, call.problems)),
        )

    def splits_of(self, candidate: Candidate, problem: object) -> tuple[int, int] | None:
        """Return the automatic numbers of splits of both sides; ``None`` where there are none.

        They follow from the occupancy of the most demanding device function.
        """
        pipeline = candidate.pipeline
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
