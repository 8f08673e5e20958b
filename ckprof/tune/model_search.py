"""The default strategy: predictions by the time model, corrected by all measurements, and gain per second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ckprof.tune.batch import Offer, best_batch
from ckprof.tune.outlook import DRAWS, Forecaster, certainty_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.tune.knowledge import Knowledge
    from ckprof.tune.space import Cell
    from ckprof.tune.strategy import SearchRequest
    from ckprof.tune.surrogate import Array

#: a kernel is built ahead if it is expected to improve some problem by this share of the tie
_AHEAD = 0.5


class ModelSearch:
    """Searches by expected gain per second.

    :param request: what is searched.
    """

    #: what is measured is chosen again when kernels are built: among all that are, by all that is known
    replans = True

    def __init__(self, request: SearchRequest) -> None:
        self._request = request
        self._forecaster = Forecaster(request)
        self._batches = 0

    def propose(self, knowledge: Knowledge) -> Sequence[Cell]:
        """Return the batch that gains most per second; nothing if no problem can be expected to improve."""
        started = time.perf_counter()
        listed = self._forecaster.shortlist(knowledge)
        draws = listed.draws(DRAWS, self._request.seed + self._batches)
        self._batches += 1
        pending = np.take_along_axis(knowledge.pending, listed.choices, axis=1) & listed.used
        coming = np.where(pending[None], draws, np.inf).min(axis=2, initial=np.inf)
        best = np.minimum(knowledge.best_log_us[None], coming)
        outlook = certainty_of(np.where(pending[None], np.inf, draws), best, self._request.tie)
        worth = np.array([one.gain >= self._request.tie for one in outlook])
        if not worth.any():
            return []
        draws = np.where(worth[None, :, None] | pending[None], draws, np.inf)
        weights = np.where(worth, _weights(knowledge, listed.mean), 0.0)
        offer = Offer(
            choices=listed.choices,
            draws=draws,
            weights=weights,
            worth=_AHEAD * self._request.tie,
            pending=pending,
        )
        share = self._request.planning_share
        least_s = (time.perf_counter() - started) / share if share > 0 else 0.0
        return best_batch(offer, knowledge, least_s=least_s)


def _weights(knowledge: Knowledge, means: Array) -> Array:
    """Return what a relative improvement of each problem is worth: its time in the user's model.

    Problems that all occur once are equally important: no model is known.
    """
    space = knowledge.space
    if not space.weighted:
        return np.ones(len(space.problems))
    best = knowledge.best_log_us
    times = np.exp(np.where(np.isfinite(best), best, means.min(axis=1)))
    weights: Array = np.array(space.counts) * times
    weights /= weights.mean()
    return weights
