"""Strategies that look at no prediction: everything in order, or at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckprof.tune.space import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.tune.knowledge import Knowledge
    from ckprof.tune.strategy import SearchRequest


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
        some = left[: knowledge.costs.builds.round]
        problems, choices = np.nonzero(open_cells & np.isin(kernel_of, some)[None])
        order = np.argsort(kernel_of[choices], kind="stable")
        return [Cell(int(problems[one]), int(choices[one])) for one in order]


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
