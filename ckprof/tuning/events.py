"""Events of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.events import Event

if TYPE_CHECKING:
    from ckprof.tuning.search.loop import Progress as SearchProgress
    from ckprof.tuning.search.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneProgress(Event):
    """A batch of a search is measured."""

    progress: SearchProgress
    space: SearchSpace
