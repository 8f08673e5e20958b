"""What an upgrade changes: lists, machine code, automatic splits, support, and rows of databases."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, InputError, UsageError
from ckprof.formatting import counted
from ckprof.kernels.requests import BuildOptions
from ckprof.option import members, option, settable
from ckprof.sanitize import one_line
from ckprof_plugins.consumers.upgrade_changes import UpgradeBuilds, UpgradePart, row_changes
from ckprof_plugins.extract.lists import ExtractedFile, ExtractRequest, compare, extract_lists

if TYPE_CHECKING:
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.inspection import FigureChange
    from ckprof.model.problem_case import ProblemCase
    from ckprof.session import Session
    from ckprof_plugins.consumers.upgrade_changes import UpgradeChange
    from ckprof_plugins.extract.lists import ExtractionReport, ListComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """Everything that differs between two sides."""

    #: what the sides are, as users named them
    old: str
    new: str
    lists: tuple[ListComparison, ...] = ()
    code: tuple[FigureChange, ...] = ()
    #: of kernels, splits, support and rows
    changes: tuple[UpgradeChange, ...] = ()
    #: what was looked at, e.g. ``2 kernels built for both``
    judged: tuple[str, ...] = ()
    #: what was not, and why
    notes: tuple[str, ...] = ()
    fail_on: frozenset[UpgradePart] = field(default_factory=lambda: frozenset(UpgradePart))

    def of(self, part: UpgradePart) -> list[UpgradeChange]:
        """Return what has changed of kernels, splits, support or rows."""
        return [one for one in self.changes if one.part is part]

    @property
    def counts(self) -> dict[UpgradePart, int]:
        """How much has changed of each part."""
        return {
            **{part: len(self.of(part)) for part in UpgradePart},
            UpgradePart.LISTS: sum(not one.is_same for one in self.lists),
            UpgradePart.CODE: len(self.code),
            UpgradePart.WORSE_CODE: sum(one.worse for one in self.code),
        }

    @property
    def passed(self) -> bool:
        """True if nothing has changed that fails the gate."""
        return not any(self.counts[part] for part in self.fail_on)


_PACKAGES: Final = (".deb", ".a")


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
    databases: tuple[Path, ...] = settable(
        (),
        "database of tuned results as 'ckprof audit' takes it, or a folder of them, whose affected "
        "rows are named (repeatable)",
        flag="--database",
        metavar="PATH",
    )
    #: ``None``: no kernels are built
    selection: Selection | None = None
    problems: tuple[ProblemCase, ...] = ()
    build: BuildOptions = field(default_factory=BuildOptions)
    #: of the device that uses the databases; what they say if there is none
    arch: str = ""
    compute_units: int | None = None
    fail_on: tuple[UpgradePart, ...] = settable(
        tuple(UpgradePart),
        "changes that make the command exit with 1, separated by commas, or none (default: all): "
        f"{', '.join(part.value for part in UpgradePart)}",
        metavar="LIST",
        parse=partial(members, UpgradePart),
        several="store",
    )


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
    lists: tuple[ListComparison, ...] = ()
    if reports[0] is not None and reports[1] is not None:
        lists = _list_changes(reports[0], reports[1])
        judged.append(counted(len(lists), "list"))
    changes: list[UpgradeChange] = []
    builds: UpgradeBuilds | None = None
    if call.selection is not None:
        builds = UpgradeBuilds(session, call, call.selection, (old, new))
        changes += builds.changes()
        judged += builds.judged
    if call.databases:
        rows, entries = row_changes(session, call, reports, (old.source, new.source), builds, notes)
        changes += rows
        judged.append(f"{counted(entries, 'entry', 'entries')} of databases")
    if not judged:
        raise UsageError(
            "nothing to compare: there are no lists of both sides, no instances (--conf) and no databases "
            f"(--database): {'; '.join(notes)}"
        )
    return Upgrade(
        old=old.name,
        new=new.name,
        lists=lists,
        code=builds.comparison.changes if builds is not None else (),
        changes=tuple(changes),
        judged=tuple(judged),
        notes=tuple(notes),
        fail_on=frozenset(call.fail_on),
    )


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
        raise UsageError(f"{packages[0]} is a package, whose headers are not compiled with: omit --conf")
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


def _list_changes(old: ExtractionReport, new: ExtractionReport) -> tuple[ListComparison, ...]:
    """Compare the lists of both sides by their places; one that a side lacks is empty there."""
    kept, derived = ({file.place: file for file in report.files} for report in (old, new))
    changes = []
    for place in dict.fromkeys((*kept, *derived)):
        file = derived.get(place) or ExtractedFile(place=place, lines=())
        changes.append(compare(file, kept[place].texts if place in kept else ()))
    return tuple(changes)
