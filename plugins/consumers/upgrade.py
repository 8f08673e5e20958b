"""What an upgrade changes: lists, machine code, automatic splits, support, and rows of databases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, UsageError
from ckprof.model.extraction import ExtractedFile, ExtractRequest
from ckprof.plain_text import one_line
from ckprof.wording import counted
from ckprof_plugins.consumers.changed_rows import RowJudge
from ckprof_plugins.consumers.changes import Upgrade, UpgradeSide
from ckprof_plugins.consumers.upgrade_builds import UpgradeBuilds
from ckprof_plugins.extract.lists import extract_lists, find_extractor

if TYPE_CHECKING:
    from ckprof.model.extraction import ExtractionReport, ListComparison
    from ckprof.session import Session
    from ckprof_plugins.consumers.changes import UpgradeCall

#: the lists with every instance; others are samples of it, or say the same in fewer words
_SETS: Final = ("profiler",)


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
    builds: UpgradeBuilds | None = None
    if call.selection is not None:
        builds = UpgradeBuilds.of(session, call, call.selection, (old, new))
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
