"""What is built and measured in a given time.

Time that is left at the end is worth nothing. So more is built than what promises to be worth its seconds by
itself: as many kernels as can be built and, on some of their problems, measured; and where the time suffices,
everything is measured that is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof_plugins.tuning.search.observations import Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckprof_plugins.tuning.search.observations import Observations

#: share of the pairs of a kernel for which there must be time when it is built: predictions choose among them
_MEASURED: Final = 0.33
#: share of the time that the first build may take: what builds take here is learned by it
_FIRST: Final = 0.25
#: what takes no more than this share of the time that is left is cheap
_CHEAP: Final = 0.5
#: seconds of measuring after which is looked again at what to do
SLICE_S: Final = 2.0


def kernels_to_build(observations: Observations, means: NDArray[np.float64]) -> list[int]:
    """Return which kernels to build now, within the time that is left, the most promising ones first.

    :param means: problems x choices -> expected logarithm of microseconds.
    """
    space, costs, left_s = observations.space, observations.costs, observations.left_s
    if observations.building or left_s is None:
        return []
    open_ = observations.open
    behind = np.where(open_, means - means.min(axis=1, keepdims=True), np.inf).min(axis=0, initial=np.inf)
    lead, pairs = np.full(len(space.kernels), np.inf), np.zeros(len(space.kernels))
    np.minimum.at(lead, space.kernel_of, behind)
    np.add.at(pairs, space.kernel_of, open_.sum(axis=0))
    wanted = np.flatnonzero(np.isfinite(lead) & ~observations.built)
    wanted = wanted[np.argsort(lead[wanted], kind="stable")]
    building = np.array([costs.build_s(count) for count in range(1, len(wanted) + 1)])
    fits = building + _MEASURED * costs.visit_s * np.cumsum(pairs[wanted]) <= left_s
    if not observations.tried.any():
        # one kernel in any case: without it there is nothing
        fits = building <= max(costs.build_s(1), _FIRST * left_s)
    return [int(kernel) for kernel in wanted[: int(fits.sum())]]


def everything_built(
    observations: Observations, means: NDArray[np.float64], *, builds: bool
) -> list[Pair] | None:
    """Return open pairs of built kernels if there is time for all of them; ``None`` if not.

    All of them if they are cheap; else those that may gain most, so that the search can end before.

    :param means: problems x choices -> expected logarithm of microseconds.
    :param builds: kernels are built now, or will be.
    """
    costs, left_s = observations.costs, observations.left_s or 0.0
    wanted = observations.open & observations.built[observations.space.kernel_of]
    needed_s = int(wanted.sum()) * costs.visit_s
    if needed_s > (_CHEAP if builds else 1.0) * left_s:
        return None
    problems, choices = np.nonzero(wanted)
    best = np.minimum(observations.best_log_us, means.max(axis=1))
    order = np.argsort((means - best[:, None])[problems, choices], kind="stable")
    if builds or needed_s > _CHEAP * left_s:
        order = order[: max(1, int(SLICE_S / max(costs.visit_s, 1e-6)))]
    return [Pair(int(problems[place]), int(choices[place])) for place in order]
