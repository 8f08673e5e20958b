"""What is believed before anything is measured: times by the analytic model, and how far they may be off."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import numpy as np

from ckprof_plugins.tuning.time_model.formula import KernelParameters, SharedParameters, stacked
from ckprof_plugins.tuning.time_model.intervals import DEVIATIONS, RANGE_AXES
from ckprof_plugins.tuning.time_model.model import ModelKernel, TimeModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof_plugins.tuning.search.observations import SearchSpace
    from ckprof_plugins.tuning.time_model.formula import GemmSizes


#: A trained model's usual error; deviations of other kernels are given as multiples of it.
_USUAL: Final = 0.03
#: How much farther off a model is that was not trained at all.
UNTRAINED: Final = 3.0
_LARGEST: Final = 6.0


def prior_of(
    space: SearchSpace, gemm_sizes: GemmSizes, element_bytes: int, model: TimeModel | None, compute_units: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Predict all times.

    :param model: a trained one; ``None`` for physical defaults.
    :param compute_units: of the device, for these.
    :returns: problems x choices -> logarithm of microseconds, and scale of its errors, 1 for what the model
        was trained on; and the scale of all errors.
    """
    used = model if model is not None else physical_model(compute_units, element_bytes)
    sizes = [gemm_sizes(problem) for problem in space.problems]
    together = stacked(sizes)
    times = np.ones(space.shape)
    scale = np.ones(len(space.choices))
    kernels = [None if one.traits is None else used.kernel(one.name, one.traits) for one in space.kernels]
    for choice, (number, splits) in enumerate(space.choices):
        kernel = kernels[number]
        if kernel is None:
            # nothing is known of its family: as fast as the usual kernel, within wide limits
            times[:, choice] = np.nan
            scale[choice] = _LARGEST
            continue
        times[:, choice] = used.terms(kernel, together, splits).total
        if not kernel.rows:
            scale[choice] = min(_LARGEST, 1.0 + 2.0 * kernel.gap)
    unknown = np.isnan(times)
    if unknown.any():
        usual = np.ones(len(times)) if unknown.all() else np.nanmedian(times, axis=1)
        times = np.where(unknown, usual[:, None], times)
    log_us = np.log(times)
    if model is None:
        return log_us, np.ones(space.shape), UNTRAINED
    # less is known about problems outside the trained range
    gaps = np.array([sum(gap for _, gap in model.outside(size)) for size in sizes])
    outside = np.minimum(_LARGEST, np.sqrt(1.0 + gaps**2))
    # what was predicted from machine code is farther off
    amplitude = min(UNTRAINED, max(1.0, model.predicted_half / DEVIATIONS / _USUAL))
    return log_us, outside[:, None] * scale[None], amplitude


@runtime_checkable
class FeaturedProblem(Protocol):
    """A problem that knows what else makes kernels fast or slow on it than the sizes of its products."""

    def features(self) -> tuple[float, ...]:
        """Return as many numbers for every problem of the type, on scales on which 1 is much."""


def problem_features(problems: Sequence[Problem], gemm_sizes: GemmSizes) -> NDArray[np.float64]:
    """Return problems x features: sizes of the products, and what problems say of themselves."""
    rows = []
    for problem in problems:
        sizes = gemm_sizes(problem)
        products = (float(size) for size in (sizes.m, sizes.n, sizes.k, sizes.batch))
        features = problem.features() if isinstance(problem, FeaturedProblem) else ()
        rows.append([*(0.5 * np.log2(size) for size in products), *features])
    return np.array(rows)


def choice_features(space: SearchSpace) -> NDArray[np.float64]:
    """Return choices x features: tile, stages, splits, labels, schedule and reduction."""
    described = [kernel.traits for kernel in space.kernels if kernel.traits is not None]
    labels = sorted({label for traits in described for label in traits.labels})
    schedules = sorted({traits.schedule.value for traits in described})
    reductions = sorted({traits.reduction.value for traits in described})
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


#: microseconds of a launch
_LAUNCH: Final = 4.0
#: bytes per microsecond and compute unit that memory delivers, and that local memory delivers
_MEMORY: Final = 15_000.0
_LOCAL: Final = 120_000.0
#: multiply-adds per microsecond and compute unit
_MULTIPLY_ADDS: Final = 1_500_000.0
#: microseconds that an iteration waits for memory
_WAIT: Final = 0.6


class _PhysicalModel(TimeModel):
    """Derives the parameters of each kernel from its tile."""

    def kernel(self, name: str, traits: KernelTraits) -> ModelKernel:
        """Return what a kernel of that tile would need on a usual device."""
        m, n, k = traits.tile
        arithmetic = m * n * k / _MULTIPLY_ADDS
        operands = (m + n) * k * self.element_bytes / _LOCAL
        loop = arithmetic + operands
        return ModelKernel(
            name=name,
            traits=traits,
            others=None,
            parameters=KernelParameters(
                prologue=1.0,
                floor=0.5,
                latency=_WAIT / traits.lds_stages + loop,
                tile=m * n * self.element_bytes / _LOCAL,
                loop=loop,
                meeting=0.0,
            ),
            spread=1.0,
            rows=0,
        )


def physical_model(compute_units: int, element_bytes: int) -> TimeModel:
    """Return the model.

    :param compute_units: compute units of the device; 0 if unknown.
    """
    count = compute_units if compute_units > 0 else 100
    return _PhysicalModel(
        device="",
        compute_units=count,
        direction="",
        dtype="",
        element_bytes=element_bytes,
        shared=SharedParameters(
            launch=_LAUNCH,
            bandwidth=_MEMORY * count,
            tail=0.8,
            contention=0.3,
            merging=_MEMORY * count,
            gathering=2 * _MEMORY * count,
            ragged=0.3,
            short=0.5,
        ),
        kernels={},
        splits=(1,),
        ranges=dict.fromkeys(RANGE_AXES, (0.0, inf)),
        shortest_us=_LAUNCH,
    )
