"""What an upgrade compares, and what changes from one state of a library, or of a compiler, to the next."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.kernels.requests import BuildOptions
from ckprof.option import members, option
from ckprof_plugins.consumers.requests import UsedDevice

if TYPE_CHECKING:
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.inspection import FigureChange
    from ckprof.model.audit import AuditFinding
    from ckprof.model.extraction import ListComparison
    from ckprof.model.problem_case import ProblemCase


class UpgradePart(Enum):
    """What may change; the value is what users type and what reports print."""

    #: instances of the library's lists
    LISTS = "lists"
    #: kernels that one side alone compiles
    KERNELS = "kernels"
    #: registers, spills, LDS, size or occupancy of kernels that both compile
    CODE = "code"
    #: of these, new spills and lost occupancy
    WORSE_CODE = "worse_code"
    #: automatic numbers of splits
    SPLITS = "splits"
    #: whether a kernel supports a problem
    SUPPORT = "support"
    #: rows of databases
    ROWS = "rows"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """Everything that differs between two sides."""

    #: what the sides are, as users named them
    old: str
    new: str
    lists: tuple[ListComparison, ...] = ()
    kernels: tuple[LostKernel, ...] = ()
    code: tuple[FigureChange, ...] = ()
    splits: tuple[SplitChange, ...] = ()
    support: tuple[SupportChange, ...] = ()
    rows: tuple[RowChange, ...] = ()
    #: what was looked at, e.g. ``2 kernels built for both``
    judged: tuple[str, ...] = ()
    #: what was not, and why
    notes: tuple[str, ...] = ()
    fail_on: frozenset[UpgradePart] = field(default_factory=lambda: frozenset(UpgradePart))

    @property
    def counts(self) -> dict[UpgradePart, int]:
        """How much has changed of each part."""
        return {
            UpgradePart.LISTS: sum(not one.is_same for one in self.lists),
            UpgradePart.KERNELS: len(self.kernels),
            UpgradePart.CODE: len(self.code),
            UpgradePart.WORSE_CODE: sum(one.worse for one in self.code),
            UpgradePart.SPLITS: len(self.splits),
            UpgradePart.SUPPORT: len(self.support),
            UpgradePart.ROWS: len(self.rows),
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
    device: UsedDevice = field(default_factory=UsedDevice)
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
