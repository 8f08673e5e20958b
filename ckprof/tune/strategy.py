"""What a search strategy is: it proposes what to measure next, and reads what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.selection.measurements import Measurements
    from ckprof.selection.model import TimeModel
    from ckprof.selection.sizes import GemmSizes
    from ckprof.tune.knowledge import Knowledge
    from ckprof.tune.space import Cell, SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What a strategy is told once, before the search begins."""

    space: SearchSpace
    gemm_sizes: GemmSizes
    #: bytes of an element of every tensor
    element_bytes: int
    #: compute units of the device; 0 if unknown
    units: int = 0
    #: a trained model; ``None`` if there is none
    model: TimeModel | None = None
    #: earlier measurements of other problems on the same device; ``None`` if there are none
    lessons: Measurements | None = None
    #: an expected improvement below this share is not worth measuring
    tie: float = 0.02
    #: of everything that is drawn at random
    seed: int = 0
    #: share of the time that planning may take: batches are made long enough for that. 0: as short as is
    #: good, so that the search does not depend on what else the machine does
    planning_share: float = 0.0


class Search(Protocol):
    """One search of a strategy.

    One with an attribute ``replans`` that is true chooses again what to measure when kernels are built; for
    others, what was proposed with the kernels is measured.
    """

    def propose(self, knowledge: Knowledge) -> Sequence[Cell]:
        """Return what to build and measure next; nothing if no further measurement is worth it.

        :param knowledge: everything that is known; do not change it. Only open cells may be returned.
        """


def replans(search: Search) -> bool:
    """Say whether what a search proposes of kernels that are not built is only a wish to have them built."""
    return bool(getattr(search, "replans", False))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStrategy:
    """A way to search that a plugin adds."""

    #: what ``--strategy`` takes
    id: str
    label: str
    #: begins a search; raises a :class:`~ckprof.errors.CkprofError` if something that it needs is missing
    start: Callable[[SearchRequest], Search] = field(repr=False)
