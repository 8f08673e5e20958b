"""What a search knows so far: times, failures, what is built, and what each of these costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckprof.tune.space import Cell, SearchSpace

#: weight of the latest figure in running averages of costs
_LATEST = 0.3


@dataclass(slots=True, kw_only=True)
class Costs:
    """Seconds that building and measuring take; learned while the search goes on."""

    #: of compiling as many kernels as run at once, with generating, linking and starting a worker
    build_s: float = 4.0
    #: kernels that are compiled at once: the first of them costs the time, the others come with it
    at_once: int = 1
    #: of measuring a kernel on a problem for the first time
    visit_s: float = 0.1

    def saw_build(self, kernels: int, seconds: float) -> None:
        """Learn from a build."""
        if kernels > 0:
            self.build_s += _LATEST * (seconds / -(-kernels // self.at_once) - self.build_s)

    def further_build_s(self, before: int) -> float:
        """Return the seconds that one kernel more adds to a batch with some kernels to be built."""
        return self.build_s if before % self.at_once == 0 else 0.0

    def saw_visits(self, visits: int, seconds: float) -> None:
        """Learn from measured kernels."""
        if visits > 0:
            self.visit_s += _LATEST * (seconds / visits - self.visit_s)


@dataclass(slots=True)
class Knowledge:
    """Everything that a strategy may look at.

    :param space: what is searched.
    """

    space: SearchSpace
    costs: Costs = field(default_factory=Costs)
    #: problems x choices -> logarithm of microseconds; not a number where nothing was measured
    log_us: NDArray[np.float64] = field(init=False)
    #: problems x choices -> false where the kernel does not support the problem, failed, or cannot be built
    possible: NDArray[np.bool_] = field(init=False)
    #: kernel -> it is built, so that measuring it costs no build
    built: NDArray[np.bool_] = field(init=False)
    #: kernel -> it was tried and cannot be built
    broken: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.log_us = np.full(self.space.shape, np.nan)
        self.possible = np.ones(self.space.shape, dtype=bool)
        self.built = np.zeros(len(self.space.kernels), dtype=bool)
        self.broken = np.zeros(len(self.space.kernels), dtype=bool)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Problems x choices -> there is a verified time."""
        return np.isfinite(self.log_us)

    @property
    def tried(self) -> NDArray[np.bool_]:
        """Kernel -> it is built, or was in an earlier session."""
        found = self.built.copy()
        found[self.space.kernel_of[self.measured.any(axis=0)]] = True
        return found

    @property
    def open(self) -> NDArray[np.bool_]:
        """Problems x choices -> it could be measured."""
        return self.possible & ~self.measured

    @property
    def best_log_us(self) -> NDArray[np.float64]:
        """Logarithm of the least time of each problem; infinity where nothing was measured."""
        best: NDArray[np.float64] = np.where(self.measured, self.log_us, np.inf).min(axis=1, initial=np.inf)
        return best

    def note_time(self, cell: Cell, time_us: float) -> None:
        """Note a verified time in microseconds."""
        self.log_us[cell] = np.log(time_us)

    def note_failure(self, cell: Cell) -> None:
        """Note that a kernel does not support a problem, or failed on it."""
        self.possible[cell] = False

    def note_broken(self, kernel: int) -> None:
        """Note that a kernel cannot be built."""
        self.broken[kernel] = True
        self.possible[:, self.space.kernel_of == kernel] = False
