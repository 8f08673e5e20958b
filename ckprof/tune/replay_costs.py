"""What a replay counts for building and measuring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof.tune.costs import BuildCosts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCosts:
    """Seconds that a replay counts: those of :class:`~ckprof.tune.costs.BuildCosts`, and measuring.

    The defaults are a build that compiles one kernel after the other.
    """

    #: of each kernel in a translation unit
    build_s: float = 3.0
    #: of measuring one kernel on one problem
    visit_s: float = 0.02
    #: of a build without its compilers
    start_s: float = 0.0
    #: of a translation unit without its kernels
    unit_s: float = 0.0
    #: compilers at once
    jobs: int = 1
    #: most kernels of a translation unit
    per_unit: int = 1
    #: kernels are measured while others are built
    overlap: bool = False

    def builds(self) -> BuildCosts:
        """Return what builds cost."""
        from ckprof.tune.costs import BuildCosts

        return BuildCosts(
            start_s=self.start_s,
            unit_s=self.unit_s,
            kernel_s=self.build_s,
            jobs=self.jobs,
            per_unit=self.per_unit,
        )
