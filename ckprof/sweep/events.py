"""Events of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.events import Event

if TYPE_CHECKING:
    from ckprof.measure.rounds import KernelCell, RoundReport
    from ckprof.store.attempt import Attempt
    from ckprof.sweep.plan import Plan, PlannedContest


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlanned(Event):
    """What a sweep is about to do, or what it would do."""

    plan: Plan
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepProgress(Event):
    """One attempt of a sweep is stored: how far it is."""

    planned: PlannedContest
    #: rankings that are finished, and all of them
    contests_done: int
    contests: int
    #: attempts of this session, and those of them that failed
    attempts: int
    failures: int
    #: attempts that are left at most
    left: int
    #: seconds that are left, from what the last attempts took
    eta_s: float | None
    last: Attempt
    #: name and time in milliseconds of the fastest attempt on the problem so far
    best: tuple[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRound(Event):
    """A round of a sweep is over."""

    planned: PlannedContest
    report: RoundReport[KernelCell]
