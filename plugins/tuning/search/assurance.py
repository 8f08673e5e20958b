"""What a search measures before it may end: built kernels wherever they may be the best.

A kernel that was built for one problem costs little to measure on the others. So whatever the strategy is, a
search ends only if every kernel that was tried, those of the library that is kept among them, was measured on
each problem that it supports, unless its prediction there is hopeless: slower than the best at the fast end
of its interval, which the residuals of the search itself make as wide as it has to be, and which is wider for
kernels of the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.plugin.protocols.searches import replans
from ckprof_plugins.tuning.search.libraries import kept_cells
from ckprof_plugins.tuning.search.space import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Search
    from ckprof_plugins.tuning.search.knowledge import Knowledge
    from ckprof_plugins.tuning.search.outlook import Forecaster

#: measurements of one problem at a time: what they say may make the others hopeless
_OF_PROBLEM: Final = 4


@dataclass(slots=True)
class AssuredSearch:
    """A search that also proposes what it takes to trust its end.

    :param search: what it proposes comes first, while there is time for what must be measured at last.
    :param forecaster: says what is hopeless.
    :param most: kernels of the library that is kept at most; ``None`` for the smallest within the tie.
    :param tie: of the library that is kept.
    """

    search: Search
    forecaster: Forecaster
    most: int | None
    tie: float

    @property
    def replans(self) -> bool:
        """Whether what the search proposes of kernels that are not built is only a wish."""
        return replans(self.search)

    def propose(self, knowledge: Knowledge) -> Sequence[tuple[int, int]]:
        """Return what the search proposes; when it has nothing left or time is short, what is missing."""
        proposed = self.search.propose(knowledge)
        if proposed and not self._leaves_too_little(proposed, knowledge):
            return proposed
        # a search that waits for a build has not ended
        missing = [] if knowledge.building and not proposed else self._missing(knowledge)
        return missing or proposed

    def _leaves_too_little(self, proposed: Sequence[tuple[int, int]], knowledge: Knowledge) -> bool:
        """Say whether what is missing could not be measured any more within the budget."""
        if knowledge.left_s is None:
            return False
        kernel_of, costs = knowledge.space.kernel_of, knowledge.costs
        new = {int(kernel_of[choice]) for _, choice in proposed if not knowledge.built[kernel_of[choice]]}
        left_s = knowledge.left_s - costs.builds.seconds(len(new)) - costs.visit_s * len(proposed)
        if int(knowledge.open[:, knowledge.tried[kernel_of]].sum()) * costs.visit_s < left_s:
            return False
        return int((self.forecaster.hopes(knowledge) > 0.0).sum()) * costs.visit_s >= left_s

    def _missing(self, knowledge: Knowledge) -> list[Cell]:
        """Return the most promising cells of each problem that must be measured."""
        kept, resting = kept_cells(knowledge, self.forecaster, self.most, self.tie)
        hopes = self.forecaster.hopes(knowledge, kept)
        for cell in resting:
            hopes[cell] = np.inf
        order = np.argsort(-hopes, axis=1, kind="stable")[:, :_OF_PROBLEM]
        return [
            Cell(problem, choice)
            for problem, row in enumerate(order.tolist())
            for choice in row
            if hopes[problem, choice] > 0.0
        ]
