"""What a :class:`~ckprof.api.profiler.Profiler` tells while it works; none of it changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ckprof.run.events import RunEvent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.flow.validity import InvalidInstance
    from ckprof.model.batch_results import ListResult
    from ckprof.model.conversion import Conversion
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.rounds.visit import RoundReport
    from ckprof.sweep.cluster.tally import ClusterProgress
    from ckprof.sweep.engine import Progress
    from ckprof.sweep.plan import KernelCell, Plan, PlannedContest
    from ckprof.tune.loop import Progress as SearchProgress
    from ckprof.tune.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRead:
    """A list was read and converted."""

    conversion: Conversion


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidLeftOut:
    """Instances were sorted out that are not valid for the architecture."""

    #: what the instances come from
    source: str
    arch: str
    #: instances that are kept
    kept: int
    invalid: tuple[InvalidInstance, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultProblemUsed:
    """No problem was given: the instances are run on this one."""

    problem: Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemNote:
    """Problem lines were left out, or are not taken word for word."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildStarted:
    """Kernels are about to be built."""

    #: one line about the compiler
    compiler: str
    kernels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildProgress:
    """A compile step is over."""

    done: int
    total: int
    #: the step
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFinished:
    """The build is over."""

    #: ``None`` when it was ended by an error
    library: BuiltLibrary | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """Outcomes are about to come."""

    #: how many
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeKnown:
    """One outcome is known."""

    outcome: Outcome
    #: of the kernel
    name: str
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """A kernel was measured once more."""

    #: its name
    name: str
    #: the outcome of this measurement alone
    outcome: Outcome
    round: int
    #: measurements so far, and with those that are left at most
    done: int
    total: int
    #: seconds that are left
    eta_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWarning:
    """Something disturbs the times of a run; told once of each kind."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """No further outcome comes, be it for an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchListStarted:
    """A batch comes to its next list."""

    #: from 1
    position: int
    total: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchListFinished:
    """A batch is done with a list."""

    position: int
    total: int
    result: ListResult


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFrozen:
    """Nothing of a comparison goes into the lock file: every instance is skipped."""

    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionNotes:
    """Assumptions that a comparison had to make about a list."""

    path: Path
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlanned:
    """What a sweep is about to do, or what it would do."""

    plan: Plan
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepProgress:
    """One attempt of a sweep is stored."""

    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineProgress:
    """How far the workers of an engine are together."""

    progress: ClusterProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRound:
    """A round of a sweep is over."""

    planned: PlannedContest
    report: RoundReport[KernelCell]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepWarning:
    """Something disturbs the times of a sweep."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepMessage:
    """A sweep waits, or says what else its user should know."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneProgress:
    """A batch of a search is measured."""

    progress: SearchProgress
    space: SearchSpace


Event: TypeAlias = (
    ListRead
    | InvalidLeftOut
    | DefaultProblemUsed
    | ProblemNote
    | BuildStarted
    | BuildProgress
    | BuildFinished
    | RunStarted
    | OutcomeKnown
    | RunProgress
    | RunWarning
    | RunFinished
    | BatchListStarted
    | BatchListFinished
    | NotFrozen
    | ConversionNotes
    | SweepPlanned
    | SweepProgress
    | EngineProgress
    | SweepRound
    | SweepWarning
    | SweepMessage
    | TuneProgress
    | RunEvent
)

Listener: TypeAlias = "Callable[[Event], None]"
