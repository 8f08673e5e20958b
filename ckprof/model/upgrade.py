"""What changes from one state of a library, or of a compiler, to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.audit import AuditFinding
    from ckprof.model.extraction import ListComparison


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
class CodeChange:
    """A figure of a kernel that differs."""

    kernel: str
    figure: str
    old: int
    new: int
    #: a new spill, or lost occupancy
    worse: bool


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
    code: tuple[CodeChange, ...] = ()
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
