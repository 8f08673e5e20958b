"""Everything that a batch over many lists found out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ckprof.errors import ExitCode
from ckprof.model.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.results import RunResults


class Verdict(Enum):
    """What became of one list."""

    #: every instance that supports a problem was verified, and each problem had one
    FINE = "fine"
    #: an outcome failed, or no instance supports a problem
    FAILED = "failed"
    #: the list cannot be read
    BROKEN = "broken"
    #: nothing of it was asked for
    SKIPPED = "skipped"

    @property
    def is_broken(self) -> bool:
        """True when the list cannot be read."""
        return self is Verdict.BROKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class ListResult:
    """One list of a batch."""

    #: as a path below the root of the tree
    name: str
    #: empty for a broken list
    direction: str
    verdict: Verdict
    #: why the list is broken or skipped
    reason: str = ""
    results: RunResults | None = None
    #: wall seconds from reading to the last outcome
    seconds: float = 0.0
    #: what the command shall return because of a broken list
    exit_code: ExitCode = ExitCode.OK

    @property
    def counts(self) -> Mapping[Status, int]:
        """Outcomes by status."""
        return Counter(outcome.status for outcome in self.results.outcomes) if self.results else Counter()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResults:
    """One call of ``ckprof run --tree``."""

    root: str
    #: name of the folders that lists were taken from; empty for all
    set_name: str
    #: lists that were found
    found: int
    #: those that the batch came to, in order
    lists: tuple[ListResult, ...]
    why: bool = False

    @property
    def stops(self) -> tuple[ListResult, ...]:
        """What ``lists`` was called before; for plugins that are older than the name."""
        return self.lists

    @property
    def finished(self) -> bool:
        """False when the batch was interrupted."""
        return len(self.lists) == self.found and not any(
            item.results is not None and item.results.partial for item in self.lists
        )

    @property
    def counts(self) -> Mapping[Status, int]:
        """Outcomes of all lists by status."""
        total: Counter[Status] = Counter()
        for item in self.lists:
            total.update(item.counts)
        return total

    @property
    def verdicts(self) -> Mapping[Verdict, int]:
        """Lists by what became of them."""
        return Counter(item.verdict for item in self.lists)
