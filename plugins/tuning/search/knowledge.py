"""What a search knows so far: times, failures, what is built and what is under way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ckprof_plugins.tuning.search.costs import Costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckprof_plugins.tuning.search.space import Cell, SearchSpace


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
    #: problems x choices -> it will be measured next, or as soon as its kernel is built
    pending: NDArray[np.bool_] = field(init=False)
    #: a build is under way, so that only what is built can be measured meanwhile
    building: bool = False
    #: kernels are measured while others are built
    overlaps: bool = False
    #: seconds of the budget that are left; ``None`` without one
    left_s: float | None = None
    #: measurements at most, of all problems together; ``None`` for no limit
    most_cells: int | None = None

    def __post_init__(self) -> None:
        self.log_us = np.full(self.space.shape, np.nan)
        self.possible = np.ones(self.space.shape, dtype=bool)
        self.built = np.zeros(len(self.space.kernels), dtype=bool)
        self.broken = np.zeros(len(self.space.kernels), dtype=bool)
        self.pending = np.zeros(self.space.shape, dtype=bool)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Problems x choices -> there is a verified time."""
        return np.isfinite(self.log_us)

    @property
    def tried(self) -> NDArray[np.bool_]:
        """Kernel -> it is built, or was in an earlier session."""
        tried: NDArray[np.bool_] = self.built.copy()
        tried[self.space.kernel_of[self.measured.any(axis=0)]] = True
        return tried

    @property
    def open(self) -> NDArray[np.bool_]:
        """Problems x choices -> it may be proposed: it could be measured, and is not going to be anyway."""
        left: NDArray[np.bool_] = self.possible & ~self.measured & ~self.pending
        if self.building:
            left &= self.built[self.space.kernel_of][None]
        return left

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
