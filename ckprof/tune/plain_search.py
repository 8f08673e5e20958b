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
        self._kernels = np.arange(len(request.space.kernels))

    def propose(self, knowledge: Knowledge) -> Sequence[Cell]:
        """Return all that is open of the next kernel."""
        open_cells, kernel_of = knowledge.open, knowledge.space.kernel_of
        for kernel in self._kernels.tolist():
            problems, choices = np.nonzero(open_cells & (kernel_of == kernel)[None])
            if len(problems):
                return [Cell(*pair) for pair in zip(problems.tolist(), choices.tolist(), strict=True)]
        return []


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
