"""What building and measuring cost in seconds: declared at first, learned from every build of the search.

Compilers run at once, each on a translation unit; a unit costs a fixed part, for what its kernels share, and
a part for each kernel. How many units there are follows the rule of the build itself. So a few kernels more
cost nothing while compilers are idle, little while units have room, and a whole round of compilers otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.kernels.build.units import unit_count

if TYPE_CHECKING:
    from collections.abc import Sequence


#: weight of the latest figure in running averages
_LATEST: Final = 0.3
#: standard deviation of a unit's time that its kernels do not explain, as a share of what is expected
_SPREAD: Final = 0.3
#: how wrong the declared parts may be, as a multiple of themselves
_DOUBT: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBuild:
    """What a build took."""

    #: kernels that it was asked for
    kernels: int
    #: wall seconds in all
    seconds: float
    #: (kernels, wall seconds) of each translation unit that was compiled; ``None`` where nobody says
    units: Sequence[tuple[int, float]] | None = None


@dataclass(slots=True, kw_only=True)
class BuildCosts:
    """Seconds that builds take."""

    #: of a build without its compilers: generating, linking, starting a worker
    start_s: float = 1.0
    #: of a translation unit without its kernels
    unit_s: float = 0.0
    #: of each kernel in a translation unit
    kernel_s: float = 3.0
    #: compilers at once
    jobs: int = 1
    #: most kernels of a translation unit
    per_unit: int = 1
    _precision: np.ndarray[tuple[int, int], np.dtype[np.float64]] = field(init=False, repr=False)
    _weighted: np.ndarray[tuple[int], np.dtype[np.float64]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        expected = np.array([self.unit_s, self.kernel_s])
        doubt = np.maximum(_DOUBT * expected, 1e-3)
        self._precision = np.diag(1.0 / doubt**2)
        self._weighted = expected / doubt**2

    @property
    def round(self) -> int:
        """Kernels that compilers take at once, in full translation units."""
        return self.jobs * self.per_unit

    def seconds(self, kernels: int) -> float:
        """Return what building some kernels takes; nothing for none."""
        if kernels <= 0:
            return 0.0
        return self.start_s + self._compiling_s(kernels)

    def further_s(self, before: int) -> float:
        """Return the seconds that one kernel more adds to a build of some kernels."""
        return max(0.0, self.seconds(before + 1) - self.seconds(before))

    def saw(self, build: SeenBuild) -> None:
        """Learn from a build."""
        if build.kernels <= 0:
            return
        compiled = build.kernels
        if build.units is not None:
            self._learn_parts(build.units)
            compiled = sum(kernels for kernels, _ in build.units)
        rest = max(0.0, build.seconds - self._compiling_s(compiled))
        self.start_s += _LATEST * (rest - self.start_s)

    def _compiling_s(self, kernels: int) -> float:
        if kernels <= 0:
            return 0.0
        units = unit_count(kernels, kernels, self.jobs, self.per_unit)
        rounds = -(-units // self.jobs)
        return rounds * (self.unit_s + -(-kernels // units) * self.kernel_s)

    def _learn_parts(self, units: Sequence[tuple[int, float]]) -> None:
        """Fit both parts to the units seen, with the declared ones as what is believed before."""
        for kernels, seconds in units:
            row = np.array([1.0, kernels])
            variance = max(_SPREAD * (self.unit_s + kernels * self.kernel_s), 1e-3) ** 2
            self._precision += np.outer(row, row) / variance
            self._weighted += row * seconds / variance
        if units:
            unit_s, kernel_s = np.linalg.solve(self._precision, self._weighted).tolist()
            self.unit_s, self.kernel_s = max(0.0, unit_s), max(0.0, kernel_s)


@dataclass(slots=True, kw_only=True)
class Costs:
    """What a search counts on."""

    builds: BuildCosts = field(default_factory=BuildCosts)
    #: of measuring a kernel on a problem for the first time
    visit_s: float = 0.1

    def saw_visits(self, visits: int, seconds: float) -> None:
        """Learn from measured kernels."""
        if visits > 0:
            self.visit_s += _LATEST * (seconds / visits - self.visit_s)
