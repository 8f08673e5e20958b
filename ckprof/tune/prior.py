"""What is believed before anything is measured: times by the analytic model, and how far they may be off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.plugin.timing import FeaturedProblem
from ckprof.selection.fit import stacked
from ckprof.selection.sizes import sizes_of
from ckprof.selection.time_model import terms
from ckprof.selection.work import work
from ckprof.tune.physical import physical_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.model.problem import Problem
    from ckprof.selection.model import ModelKernel, TimeModel
    from ckprof.selection.sizes import GemmSizes
    from ckprof.selection.work import Sizes
    from ckprof.tune.space import SearchSpace

#: A trained model's usual error; deviations of other kernels are given as multiples of it.
_USUAL: Final = 0.03
#: How much farther off a model is that was not trained at all.
UNTRAINED: Final = 3.0
_LARGEST: Final = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Predicted times, and the scale of their errors."""

    #: problems x choices -> logarithm of microseconds
    log_us: NDArray[np.float64]
    #: choice -> scale of its errors, 1 for a kernel that the model was trained on
    choice_scale: NDArray[np.float64]
    #: problem -> scale of the errors on it, 1 inside the trained range
    problem_scale: NDArray[np.float64]
    #: scale of all errors
    amplitude: float


def prior_of(
    space: SearchSpace,
    gemm_sizes: GemmSizes,
    element_bytes: int,
    model: TimeModel | None,
    units: int,
) -> Prior:
    """Predict all times.

    :param model: a trained one; ``None`` for physical defaults.
    :param units: compute units of the device, for these.
    """
    used = model if model is not None else physical_model(units, element_bytes)
    sizes = [sizes_of(one, gemm_sizes, element_bytes) for one in space.problems]
    together = stacked(sizes)
    times = np.ones(space.shape)
    scale = np.ones(len(space.choices))
    kernels: dict[int, ModelKernel | None] = {}
    for place, (number, splits) in enumerate(space.choices):
        if number not in kernels:
            one = space.kernels[number]
            kernels[number] = None if one.traits is None else used.kernel(one.name, one.traits)
        kernel = kernels[number]
        if kernel is None:
            # nothing is known of its family: as fast as the usual kernel, within wide limits
            times[:, place] = np.nan
            scale[place] = _LARGEST
            continue
        done = work(kernel.computes, together, splits, used.units)
        times[:, place] = terms(done, used.shared, kernel.parameters).total
        if not kernel.rows:
            scale[place] = min(_LARGEST, 1.0 + 2.0 * kernel.gap)
    unknown = np.isnan(times)
    if unknown.any():
        usual = np.ones(len(times)) if unknown.all() else np.nanmedian(times, axis=1)
        times = np.where(unknown, usual[:, None], times)
    return Prior(
        log_us=np.log(times),
        choice_scale=scale if model is not None else np.ones(len(space.choices)),
        problem_scale=_outside(used, sizes) if model is not None else np.ones(len(sizes)),
        amplitude=1.0 if model is not None else UNTRAINED,
    )


def _outside(model: TimeModel, sizes: Sequence[Sizes]) -> NDArray[np.float64]:
    """Return how much less is known about problems outside the trained range."""
    gaps = np.array([sum(gap for _, gap in model.outside(one)) for one in sizes])
    result: NDArray[np.float64] = np.minimum(_LARGEST, np.sqrt(1.0 + gaps**2))
    return result


def problem_features(problems: Sequence[Problem], gemm_sizes: GemmSizes) -> NDArray[np.float64]:
    """Return problems x features: sizes of the products, and what problems say of themselves."""
    rows = []
    for one in problems:
        sizes = sizes_of(one, gemm_sizes, 1)
        products = (float(size) for size in (sizes.m, sizes.n, sizes.k, sizes.batch))
        own = one.features() if isinstance(one, FeaturedProblem) else ()
        rows.append([*(0.5 * np.log2(size) for size in products), *own])
    return np.array(rows)


def choice_features(space: SearchSpace) -> NDArray[np.float64]:
    """Return choices x features: tile, stages, splits, labels, schedule and reduction."""
    known = [one.traits for one in space.kernels if one.traits is not None]
    labels = sorted({label for traits in known for label in traits.labels})
    schedules = sorted({traits.schedule.value for traits in known})
    reductions = sorted({traits.reduction.value for traits in known})
    rows = []
    for number, splits in space.choices:
        traits = space.kernels[number].traits
        if traits is None:
            rows.append([20.0] + [0.0] * (4 + len(labels) + len(schedules) + len(reductions)))
            continue
        rows.append(
            [
                *np.log2(traits.tile),
                2.0 * np.log2(traits.lds_stages),
                0.5 * np.log2(max(1, splits)),
                *(1.0 * (label in traits.labels) for label in labels),
                *(3.0 * (traits.schedule.value == name) for name in schedules),
                *(3.0 * (traits.reduction.value == name) for name in reductions),
            ]
        )
    return np.array(rows, dtype=np.float64).reshape(len(space.choices), -1)
