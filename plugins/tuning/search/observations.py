"""What a search chooses from, what it has seen of it, and what building and measuring cost.

Costs are declared at first, and learned from every build. Compilers run in parallel, each on a translation
unit; a unit costs a fixed part, for what its kernels share, and a part for each kernel. How many units there
are follows the rule of the build itself. So a few kernels more cost nothing while compilers are idle, little
while units have room, and a whole round of compilers otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ckprof.kernels.units import unit_count
from ckprof.model.ranking import ranked_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.model.ranking import KernelTime, RankedSet


#: weight of the latest figure in running averages
_LATEST: Final = 0.3
#: visits that the declared seconds of one count as
_DECLARED_VISITS: Final = 10
#: one visit says no more than that a kernel is within this share of the best
_NEAR: Final = 0.1
#: surprises that are expected of each problem before any blind measurement, and what that counts as
_EXPECTED: Final = 0.5
_PRIOR_SURPRISES: Final = 0.25
#: standard deviation of a unit's time that its kernels do not explain, as a share of what is expected
_SPREAD: Final = 0.3
#: how wrong the declared parts may be, as a multiple of themselves
_DOUBT: Final = 1.0


class Costs:
    """Seconds that builds and measurements take.

    :param start_s: of a build without its compilers: generating, linking, starting a worker.
    :param unit_s: of a translation unit without its kernels.
    :param kernel_s: of each kernel in a translation unit.
    :param visit_s: of measuring a kernel on a problem for the first time.
    :param jobs: parallel compilers.
    :param per_unit: most kernels of a translation unit.
    """

    def __init__(
        self,
        *,
        start_s: float = 1.0,
        unit_s: float = 0.0,
        kernel_s: float = 3.0,
        visit_s: float = 0.03,
        jobs: int = 1,
        per_unit: int = 1,
    ) -> None:
        self.start_s, self.unit_s, self.kernel_s, self.visit_s = start_s, unit_s, kernel_s, visit_s
        self._jobs, self._per_unit, self._visits = jobs, per_unit, _DECLARED_VISITS
        expected = np.array([unit_s, kernel_s])
        doubt = np.maximum(_DOUBT * expected, 1e-3)
        self._precision: NDArray[np.float64] = np.diag(1.0 / doubt**2)
        self._weighted: NDArray[np.float64] = expected / doubt**2

    @property
    def build_round(self) -> int:
        """Kernels of one round of parallel compilers, in full translation units."""
        return self._jobs * self._per_unit

    def build_s(self, kernels: int) -> float:
        """Return what building some kernels takes; nothing for none."""
        return self.start_s + self._compiling_s(kernels) if kernels > 0 else 0.0

    def further_s(self, before: int) -> float:
        """Return the seconds that one kernel more adds to a build of some kernels."""
        return max(0.0, self.build_s(before + 1) - self.build_s(before))

    def saw_build(
        self, kernels: int, seconds: float, units: Sequence[tuple[int, float]] | None = None
    ) -> None:
        """Learn from a build.

        :param kernels: that it was asked for.
        :param seconds: on the wall, in all.
        :param units: kernels and seconds of each translation unit that was compiled; ``None`` if unknown.
        """
        if kernels <= 0:
            return
        if units is not None:
            self._learn_parts(units)
            kernels = sum(count for count, _ in units)
        rest = max(0.0, seconds - self._compiling_s(kernels))
        self.start_s += _LATEST * (rest - self.start_s)

    def saw_visits(self, visits: int, seconds: float) -> None:
        """Learn from measured kernels."""
        if visits > 0:
            self._visits += visits
            self.visit_s += (seconds - visits * self.visit_s) / self._visits

    def _compiling_s(self, kernels: int) -> float:
        if kernels <= 0:
            return 0.0
        units = unit_count(kernels, kernels, self._jobs, self._per_unit)
        rounds = -(-units // self._jobs)
        return rounds * (self.unit_s + -(-kernels // units) * self.kernel_s)

    def _learn_parts(self, units: Sequence[tuple[int, float]]) -> None:
        """Fit both parts to the units seen, with the declared ones as prior."""
        for kernels, seconds in units:
            row = np.array([1.0, kernels])
            variance = max(_SPREAD * (self.unit_s + kernels * self.kernel_s), 1e-3) ** 2
            self._precision += np.outer(row, row) / variance
            self._weighted += row * seconds / variance
        if units:
            unit_s, kernel_s = np.linalg.solve(self._precision, self._weighted).tolist()
            self.unit_s, self.kernel_s = max(0.0, unit_s), max(0.0, kernel_s)


class Pair(NamedTuple):
    """One thing to measure: positions of a problem and of a choice in the space."""

    problem: int
    choice: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchKernel:
    """A kernel that may be built."""

    #: content key of the instance, or what else identifies it where measurements come from a table
    key: str
    name: str
    #: what its time depends on; ``None`` for a family without a time model
    traits: KernelTraits | None


@dataclass(frozen=True, kw_only=True)
class SearchSpace:
    """Problems x choices.

    A choice is offered on every problem; those that turn out not to be supported leave the search.
    """

    problems: tuple[Problem, ...]
    #: occurrences of each problem, at least 1
    counts: tuple[int, ...]
    kernels: tuple[SearchKernel, ...]
    #: what competes on a problem: position of a kernel, number of splits
    choices: tuple[tuple[int, int], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of problems and of choices."""
        return len(self.problems), len(self.choices)

    @cached_property
    def kernel_of(self) -> NDArray[np.int64]:
        """Position of the kernel of each choice."""
        return np.array([kernel for kernel, _ in self.choices], dtype=np.int64)

    @property
    def weighted(self) -> bool:
        """True if problems occur with different frequency, so that time saved counts, not the ratio."""
        return len(set(self.counts)) > 1


class Observations:
    """Everything that a strategy may look at.

    :param space: what is searched.
    """

    def __init__(self, space: SearchSpace, costs: Costs | None = None) -> None:
        self.space, self.costs = space, costs or Costs()
        #: problems x choices -> logarithm of microseconds; not a number where nothing was measured
        self.log_us: NDArray[np.float64] = np.full(space.shape, np.nan)
        #: problems x choices -> false where the kernel does not support the problem, failed, or cannot be
        #: built
        self.possible: NDArray[np.bool_] = np.ones(space.shape, dtype=bool)
        #: kernel -> it is built, so that measuring it costs no build
        self.built: NDArray[np.bool_] = np.zeros(len(space.kernels), dtype=bool)
        #: kernel -> it was tried and cannot be built
        self.broken: NDArray[np.bool_] = np.zeros(len(space.kernels), dtype=bool)
        #: problems x choices -> it will be measured next, or as soon as its kernel is built
        self.pending: NDArray[np.bool_] = np.zeros(space.shape, dtype=bool)
        #: a build is under way, so that only what is built can be measured meanwhile
        self.building = False
        #: kernels are measured while others are built
        self.overlaps = False
        #: seconds of the budget that are left; ``None`` without one
        self.left_s: float | None = None
        #: pairs that were drawn at random among those that would be skipped -> logarithm of the best time of
        #: the problem at that moment
        self.blind: dict[Pair, float] = {}
        #: measurements at most, of all problems together; ``None`` for no limit
        self.most_pairs: int | None = None
        self._times: dict[Pair, KernelTime] = {}

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

    def surprises(self, tie: float) -> tuple[int, int]:
        """Return the number of blind measurements, and of those that beat the best by more than a tie."""
        saved = [best - self.log_us[pair] for pair, best in self.blind.items()]
        return int(np.isfinite(saved).sum()), sum(one > np.log1p(tie) for one in saved)

    def unforeseen(self, tie: float) -> NDArray[np.float64]:
        """Return the probability that something better than the best of each problem is where nobody looks.

        Blind measurements say how often a pair that would be skipped is better: a rate, with a gamma
        distribution as prior.
        """
        count, surprises = self.surprises(tie)
        prior = _PRIOR_SURPRISES / _EXPECTED * self.space.shape[1]
        rate = (_PRIOR_SURPRISES + surprises) / (prior + count)
        unforeseen: NDArray[np.float64] = 1.0 - np.exp(-rate * self.open.sum(axis=1))
        return unforeseen

    def finalists(self, most: int, visits: int) -> list[Pair]:
        """Return the pairs that may be the fastest of their problems, measured less often than that.

        :param most: of each problem.
        """
        near = np.where(self.measured, self.log_us, np.inf)
        order = np.argsort(near, axis=1, kind="stable")[:, :most]
        return [
            pair
            for problem, choices in enumerate(order.tolist())
            for pair in (Pair(problem, choice) for choice in choices)
            if np.isfinite(near[pair])
            and near[pair] <= self.best_log_us[problem] + np.log1p(_NEAR)
            and len(self._times[pair].rounds) < visits
        ]

    def ranking(self, problem: int) -> tuple[list[int], RankedSet]:
        """Return the measured choices of a problem, the fastest first, and their times."""
        space = self.space
        return ranked_set(
            (time, space.kernels[kernel].key, splits, choice)
            for (number, choice), time in self._times.items()
            if number == problem
            for kernel, splits in [space.choices[choice]]
        )

    def note(self, pair: Pair, time: KernelTime | None) -> None:
        """Note a verified time; ``None`` where a kernel does not support a problem, or failed on it."""
        if time is None:
            self.possible[pair] = False
        else:
            self.log_us[pair] = np.log(1000 * time.time_ms)
            self._times[pair] = time

    def note_broken(self, kernel: int) -> None:
        """Note that a kernel cannot be built."""
        self.broken[kernel] = True
        self.possible[:, self.space.kernel_of == kernel] = False
