"""What every search owes before it ends, whatever its strategy is: nothing that was built is overlooked, and
blind measurements say how often the strategy is surprised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof_plugins.tuning.search.observations import Pair
from ckprof_plugins.tuning.search.result import kept_library
from ckprof_plugins.tuning.strategies import replans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.tuning.options import SearchOptions
    from ckprof_plugins.tuning.search.acquisition import Forecaster
    from ckprof_plugins.tuning.search.observations import Observations
    from ckprof_plugins.tuning.strategies import Search


#: measurements of one problem at a time: what they say may make the others negligible
_OF_PROBLEM: Final = 4
#: blind measurements at a time: this share of the choices, but not fewer than that
_BLIND_SHARE: Final = 0.5
_LEAST_BLIND: Final = 8


class GuaranteedSearch:
    """A search that ends only when every built kernel was measured wherever it may be the best.

    A kernel that was built for one problem costs little to measure on the others. So whatever the strategy
    is, a search ends only if every kernel that was tried, those of the library that is kept among them, was
    measured on each problem that it supports, unless its prediction there is negligible: slower than the best
    at the fast end of its interval, which is wider for kernels of the library.

    Then pairs are drawn at random among those that nobody would measure, first of kernels that were never
    measured. What is found among them is what nobody has foreseen, and how often that happens says what to
    expect of the others. The search ends when that is little enough.

    :param search: what it proposes comes first.
    :param forecaster: says what is negligible.
    :param options: which library is kept.
    """

    def __init__(self, search: Search, forecaster: Forecaster, options: SearchOptions) -> None:
        self._search, self._forecaster, self._options = search, forecaster, options
        self._chance = np.random.default_rng(options.seed)
        self.replans = replans(search)

    def propose(self, observations: Observations) -> Sequence[tuple[int, int]]:
        """Return what the search proposes; then what is missing, and then what chance says."""
        proposed = self._search.propose(observations)
        # a search that waits for a build has not ended
        if proposed or observations.building:
            return proposed
        return self._missing(observations) or self._blind(observations)

    def _missing(self, observations: Observations) -> list[Pair]:
        """Return the most promising pairs of each problem that must be measured."""
        _, kept, served = kept_library(observations, self._forecaster, self._options)
        possible_gains = self._forecaster.possible_gains(observations, kept)
        for pair in served:
            # what the library rests on
            if pair is not None and observations.open[pair]:
                possible_gains[pair] = np.inf
        order = np.argsort(-possible_gains, axis=1, kind="stable")[:, :_OF_PROBLEM]
        return [
            Pair(problem, choice)
            for problem, row in enumerate(order.tolist())
            for choice in row
            if possible_gains[problem, choice] > 0.0
        ]

    def _blind(self, observations: Observations) -> list[Pair]:
        """Return pairs that are measured by chance; none if enough is known of what nobody foresees."""
        posterior = self._forecaster.posterior(observations)
        if posterior.settled or posterior.unsettled.any():
            return []
        best, open_, measured = observations.best_log_us, observations.open.copy(), observations.measured
        observations.blind = {pair: was for pair, was in observations.blind.items() if measured[pair]}
        seen, batch = measured.sum(axis=0), []
        for _ in range(max(_LEAST_BLIND, int(_BLIND_SHARE * len(seen)))):
            unseen = open_ & (seen == 0)[None]
            left = np.argwhere(unseen if unseen.any() else open_)
            if not len(left):
                break
            pair = Pair(*self._chance.choice(left).tolist())
            open_[pair], seen[pair.choice] = False, seen[pair.choice] + 1
            observations.blind[pair] = float(best[pair.problem])
            batch.append(pair)
        return batch
