"""Search strategies: what they are given, how proposals are checked, and two that look at no prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ckprof.errors import PluginError
from ckprof.plugin.protocols.searches import replans
from ckprof_plugins.tuning.search.space import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.kinds import RegistryEntries
    from ckprof.plugin.protocols import SearchStrategy
    from ckprof_plugins.tuning.search.knowledge import Knowledge
    from ckprof_plugins.tuning.search.outlook import Forecaster
    from ckprof_plugins.tuning.search.space import Cell, SearchSpace
    from ckprof_plugins.tuning.time_model.measurements import Measurements
    from ckprof_plugins.tuning.time_model.model import TimeModel
    from ckprof_plugins.tuning.time_model.work import GemmSizes


# Not slotted: what is predicted is prepared once and kept.
@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """What a strategy is given once, before the search begins."""

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

    @cached_property
    def forecaster(self) -> Forecaster:
        """Predictions that learn: the same for proposals, for the end of the search, and for its report."""
        from ckprof_plugins.tuning.search.outlook import Forecaster

        return Forecaster(self)


class ExhaustiveSearch:
    """Measures every kernel on every problem, kernel by kernel in the order of the list.

    :param request: what is searched.
    """

    def __init__(self, request: SearchRequest) -> None:
        del request

    def propose(self, knowledge: Knowledge) -> Sequence[Cell]:
        """Return all that is open of the next kernels, as many as compilers take at once."""
        open_cells, kernel_of = knowledge.open, knowledge.space.kernel_of
        left = np.unique(kernel_of[open_cells.any(axis=0)])
        next_kernels = left[: knowledge.costs.builds.round]
        problems, choices = np.nonzero(open_cells & np.isin(kernel_of, next_kernels)[None])
        order = np.argsort(kernel_of[choices], kind="stable")
        return [Cell(int(problems[index]), int(choices[index])) for index in order]


class RandomSearch:
    """Measures one random kernel on each problem at a time.

    :param request: what is searched.
    """

    def __init__(self, request: SearchRequest) -> None:
        self._chance = np.random.default_rng(request.seed)

    def propose(self, knowledge: Knowledge) -> Sequence[Cell]:
        """Return a random open choice of each problem."""
        batch = []
        for problem, row in enumerate(knowledge.open):
            left = np.flatnonzero(row)
            if len(left):
                batch.append(Cell(problem, int(self._chance.choice(left))))
        return batch


class StrategySearch:
    """A search of a strategy, whose proposals are checked.

    :param strategies: what plugins provide.
    :param name: id of a strategy.
    :raises UsageError: there is none of that id.
    :raises CkprofError: it cannot begin, e.g. because something that it needs is not installed.
    """

    def __init__(
        self, strategies: RegistryEntries[SearchStrategy], name: str, request: SearchRequest
    ) -> None:
        self._search = strategies.find(name).start(request)
        self._origin = f"plugin {strategies.provider(name)}: strategy {name!r}"
        self.replans = replans(self._search)

    def propose(self, knowledge: Knowledge) -> Sequence[Cell]:
        """Return the proposal of the search.

        :raises PluginError: it raises an error, or proposes what cannot be measured.
        """
        proposed = self._search.propose(knowledge)
        cells = list(dict.fromkeys(Cell(int(problem), int(choice)) for problem, choice in proposed))
        problems, choices = knowledge.space.shape
        for cell in cells:
            inside = 0 <= cell.problem < problems and 0 <= cell.choice < choices
            if not inside or not knowledge.open[cell]:
                raise PluginError(
                    f"{self._origin} proposes problem {cell.problem}, choice {cell.choice}, "
                    "which is measured already or cannot be measured"
                )
        return cells
