"""Events of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.events import StatusLine
from ckprof.wording import counted

if TYPE_CHECKING:
    from ckprof_plugins.tuning.search.loop import Progress as SearchProgress
    from ckprof_plugins.tuning.search.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneProgress(StatusLine):
    """A batch of a search is measured."""

    progress: SearchProgress
    space: SearchSpace

    @property
    def text(self) -> str:
        """Time, what is built and measured, and the best so far."""
        now, space = self.progress, self.space
        return (
            f"tune: {now.seconds:.4g} s, {now.built} of {counted(len(space.kernels), 'kernel')} built, "
            f"{counted(now.measured, 'measurement')}, {now.problems} of "
            f"{counted(len(space.problems), 'problem')}, "
            f"best so far {now.total_us:.4g} us in sum"
        )
