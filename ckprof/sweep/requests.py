"""How a sweep runs, and where outcomes go: frozen, typed, each default in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ckprof import formatting
from ckprof.events import StatusLine
from ckprof.formatting import counted
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import StoreOptions
from ckprof.measure.rounds import RoundOptions
from ckprof.model.problem import brief
from ckprof.option import duration, same_option, settable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.measure.requests import RunRequest
    from ckprof.session import Session
    from ckprof.store.attempt import Attempt
    from ckprof.sweep.sweep import SweepResult


class SweepRunner(Protocol):
    """Runs sweeps in other processes than the one that asks.

    A plugin adds the options that choose it with the hook ``ckprof_add_arguments`` of the command ``sweep``,
    and has ``parser.set_defaults(sweep_runner=...)`` name a function of what was typed that returns it, or
    ``None`` where nothing asks for it.
    """

    def describe(self, session: Session, request: RunRequest, options: SweepOptions) -> list[str]:
        """Return what :meth:`run` would do, in lines for people; nothing is built or measured.

        :raises CkprofError: the options contradict each other, or the store cannot be read.
        """

    def run(self, session: Session, request: RunRequest, options: SweepOptions) -> SweepResult:
        """Build what is missing, and measure what the store does not have.

        :raises CkprofError: the store cannot be written, no toolchain, or nothing can measure.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions(StoreOptions):
    """How a sweep runs, and where its outcomes go."""

    #: when kernels leave the rounds, and when these are enough
    rounds: RoundOptions = field(default_factory=RoundOptions)
    fresh: bool = settable(False, "measure again; adds to the store, deletes nothing")
    retry_failed: bool = settable(False, "try again what failed")
    #: seconds after which no further kernel is measured; ``None`` for as long as it takes
    max_time_s: float | None = settable(
        None, "end after this time, e.g. 90s, 30m or 2h", flag="--budget", metavar="TIME", parse=duration
    )
    wait: bool = settable(False, "wait while another process writes the store")
    #: runs it on many devices; ``None``: this process does, on one
    runner: SweepRunner | None = None
    #: asked before every attempt; ``bool()`` is false
    should_stop: Callable[[], bool] = bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRunOptions(RunOptions):
    """How kernels are run in each round.

    Rounds are short: what varies between them is larger than what more samples within one would tell.
    """

    min_samples: int = field(default=5, metadata=same_option(RunOptions, "min_samples"))
    max_time_s: float = settable(
        0.1, "most time spent on timing one kernel in s", flag="--round-time", metavar="S"
    )
    keep_samples: bool = True
    #: no option here: the passes of a sweep are those of its :class:`RoundOptions`
    passes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepProgress(StatusLine):
    """One attempt of a sweep is stored: how far it is."""

    #: rankings that are finished, and all of them
    rankings_done: int
    rankings: int
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

    @property
    def text(self) -> str:
        """Done, left, time, failures, and the time of the best so far."""
        parts = [
            f"sweep: {self.rankings_done}/{counted(self.rankings, 'ranking')}, "
            f"{counted(self.attempts, 'attempt')}",
            f"at most {self.left} left"
            + (f", {formatting.duration(self.eta_s)}" if self.eta_s is not None else ""),
        ]
        if self.failures:
            parts.append(f"{self.failures} failed")
        if self.best is not None:
            parts.append(f"best {self.best[1]:.4g} ms on {brief(self.last.key.problem)}")
        return "; ".join(parts)

    @property
    def name(self) -> str:
        """The best so far."""
        return self.best[0] if self.best is not None else ""
