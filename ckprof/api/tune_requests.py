"""What a caller can ask of a search: frozen, typed, each default in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.errors import UsageError
from ckprof.rounds.options import RoundOptions
from ckprof.tune.replay_costs import ReplayCosts
from ckprof.tune.strategies import DEFAULT_STRATEGY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ckprof.api.instances import Selection
    from ckprof.model.dtype import DataType
    from ckprof.model.problem import Problem


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How kernels are looked for.

    :raises UsageError: a value is out of range.
    """

    #: id of the strategy
    strategy: str = DEFAULT_STRATEGY
    #: seconds that the search may take, builds included; ``None`` for as long as it takes
    budget_s: float | None = None
    #: kernels of the library that is kept at most; ``None`` for as many as it takes to stay within the tie
    kernels: int | None = None
    #: improvements below this share are not worth measuring
    tie: float = 0.02
    #: of everything that is drawn at random
    seed: int = 0
    #: file of a time model; ``None`` for one that is fitted to ``lessons``, or physical defaults
    model: Path | None = None
    #: take a model of another device
    force_model: bool = False
    #: tables or stores of earlier measurements of the same kernels on the same device
    lessons: tuple[Path, ...] = ()
    #: measurements at most, over all problems; ``None`` for no limit
    most_measurements: int | None = None
    #: asked before every measurement
    should_stop: Callable[[], bool] = _never

    def __post_init__(self) -> None:
        if self.budget_s is not None and not (math.isfinite(self.budget_s) and self.budget_s >= 0):
            raise UsageError(f"--budget is {self.budget_s}, expected at least 0 seconds")
        if not (math.isfinite(self.tie) and 0 <= self.tie < 1):
            raise UsageError(f"--tie is {self.tie}, expected 0 to less than 1")
        for option, value in (("--kernels", self.kernels), ("--max-measurements", self.most_measurements)):
            if value is not None and value < 1:
                raise UsageError(f"{option} is {value}, expected at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """How a search on a device goes on, and where its outcomes go."""

    #: file of the store, made if it does not exist
    store: str | Path
    search: SearchOptions = field(default_factory=SearchOptions)
    #: when kernels leave the rounds on a problem, and when these are enough
    rounds: RoundOptions = field(default_factory=RoundOptions)
    #: names for this session, to find it again
    tags: tuple[str, ...] = ()
    #: try again what failed
    retry_failed: bool = False
    #: wait while another process writes the store, instead of failing
    wait: bool = False
    #: ids of the baselines that what was found is compared with
    baselines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """A search in recorded measurements: nothing is built or run.

    :raises UsageError: a value is out of range.
    """

    #: tables or stores
    files: tuple[Path, ...]
    #: id or alias of the direction
    direction: str
    dtype: DataType
    #: target that ran the kernels of tables, if not the architecture itself; stores say it themselves
    target: str = ""
    #: compute units of the device; ``None`` for what the files or the architecture say
    units: int | None = None
    search: SearchOptions = field(default_factory=SearchOptions)
    #: only kernels of these names take part, and these can be emitted; ``None`` for all of the table
    selection: Selection | None = None
    #: occurrences of problems; 1 for those that are missing
    counts: tuple[tuple[Problem, int], ...] = ()
    #: seconds that are counted for building and measuring
    costs: ReplayCosts = field(default_factory=ReplayCosts)

    def __post_init__(self) -> None:
        costs = self.costs
        for option, value in (
            ("--replay-build-time", costs.build_s),
            ("--replay-visit-time", costs.visit_s),
            ("--replay-unit-time", costs.unit_s),
            ("--replay-start-time", costs.start_s),
        ):
            if not (math.isfinite(value) and value >= 0):
                raise UsageError(f"{option} is {value}, expected at least 0 seconds")
        for option, count in (("--replay-kernels-per-unit", costs.per_unit), ("--jobs", costs.jobs)):
            if count < 1:
                raise UsageError(f"{option} is {count}, expected at least 1")
        if costs.build_s + costs.visit_s == 0:
            raise UsageError("--replay-build-time and --replay-visit-time are both 0: nothing takes time")
