"""Predictions before anything is measured."""

import numpy as np
import pytest

from ckprof.model.gemm_work import KernelTraits, Reduction, Schedule
from ckprof_plugins.tuning.search.observations import SearchKernel, SearchSpace
from ckprof_plugins.tuning.search.prior import choice_features, prior_of, problem_features
from plugins.tuning.tests.sizes import forward_sizes
from tests.measured import problems

TRAITS = {
    "tiles": KernelTraits(tile=(64, 64, 32), labels=("a",)),
    "workspace": KernelTraits(tile=(64, 64, 32), reduction=Reduction.WORKSPACE, labels=("a",)),
    "stream": KernelTraits(tile=(128, 128, 32), schedule=Schedule.STREAM),
    "window": KernelTraits(tile=(8, 8, 1), schedule=Schedule.WINDOW),
    "unknown": None,
}


@pytest.mark.parametrize("units", [0, 304])
def test_every_kernel_has_a_time_without_training(units):
    kernels = tuple(SearchKernel(key=name, name=name, traits=traits) for name, traits in TRAITS.items())
    space = SearchSpace(
        problems=tuple(problems(5)),
        counts=(1,) * 5,
        kernels=kernels,
        choices=tuple((kernel, splits) for kernel in range(len(kernels)) for splits in (1, 16)),
    )
    log_us, _, _ = prior_of(space, forward_sizes, 2, None, units)
    assert np.isfinite(log_us).all()
    # nothing that is in use takes less than a microsecond or more than a minute
    assert (log_us > 0).all() and (log_us < np.log(6e7)).all()
    assert log_us.shape == space.shape
    assert len(choice_features(space)) == len(space.choices)
    assert np.isfinite(problem_features(space.problems, forward_sizes)).all()
