"""What kernels do for problems, counted by hand, and the time that follows."""

from __future__ import annotations

import numpy as np
import pytest

from ckprof.model.kernel_traits import KernelTraits, Reduction, Schedule
from ckprof.selection.sizes import sizes_of
from ckprof.selection.time_model import KernelParameters, SharedParameters, terms
from ckprof.selection.work import Sizes, work

SIZES = Sizes(
    m=1000,
    n=200,
    k=500,
    n_run=200,
    k_run=50,
    batch=3,
    rows=10,
    columns=12,
    images=5,
    channels=7,
    tensor_bytes=4e6,
    element_bytes=2,
)  # fmt: skip
SHARED = SharedParameters(
    launch=3.0, bandwidth=1e6, tail=0.75, contention=0.5, merging=5e5, gathering=2e6, ragged=0.3, short=2.0
)
OWN = KernelParameters(prologue=0.5, floor=2.0, latency=0.25, tile=0.125, loop=0.0625, meeting=1.25)


def test_tiles() -> None:
    done = work(KernelTraits(tile=(64, 128, 32)), SIZES, 1, 80)
    # 16 x 2 tiles of 3 products on 80 units: two rounds of at most 80
    assert (done.load, done.rounds, done.loops, done.steps, done.launches) == (96 / 80, 2, 16, 16, 1)
    assert done.extra_bytes == 0


def test_splits_meet_by_atomics_or_in_a_workspace() -> None:
    split = work(KernelTraits(tile=(64, 128, 32)), SIZES, 4, 80)
    assert (split.load, split.loops) == (4 * 96 / 80, 4)
    # the result is zeroed, and read and written by each part
    assert split.extra_bytes == 1000 * 200 * 3 * 2 * (1 + 2 * 4)
    staged = work(KernelTraits(tile=(64, 128, 32), reduction=Reduction.WORKSPACE), SIZES, 4, 80)
    assert staged.launches == 2
    assert staged.extra_bytes == 1000 * 200 * 3 * 4 * (2 + 2 * 4)


def test_streams_are_even() -> None:
    traits = KernelTraits(tile=(64, 128, 32), schedule=Schedule.STREAM, workgroups_per_unit=2)
    done = work(traits, SIZES, 1, 80)
    # 96 tiles of 16 iterations over 160 workgroups: 9.6, so that some take 10
    assert (done.rounds, done.loops, done.steps) == (None, 16, 10)
    assert done.load == 96 / 80
    assert done.extra_bytes == 96 * 2 * 4 * 64 * 128


def test_windows() -> None:
    done = work(KernelTraits(tile=(4, 8, 2), schedule=Schedule.WINDOW), SIZES, 1, 80)
    assert done.load == 3 * 2 * 3 * 7 / 80
    assert (done.rounds, done.loops, done.extra_bytes) == (2, 1, 0)


def test_the_time_by_hand() -> None:
    done = work(KernelTraits(tile=(64, 128, 32)), SIZES, 4, 80)
    found = terms(done, SHARED, OWN)
    busy = 4.8 + 0.75 * (5 - 4.8)
    # launch, prologue, and handing over a tile
    assert found.fixed == 3.0 + 0.5 + 1.25
    assert found.waiting == pytest.approx(4 * 0.25 * 1.5)
    assert found.computing == pytest.approx(busy * (0.125 + 4 * 0.0625))
    assert found.memory == 4.0
    assert found.extra == pytest.approx(1000 * 200 * 3 * 18 / 5e5)
    overlapping = (2.0**4 + 4.0**4 + found.waiting**4 + found.computing**4) ** 0.25
    assert found.total == pytest.approx(4.75 + overlapping + found.extra)
    assert found.limit == "extra"


def test_arrays_give_what_numbers_give() -> None:
    many = Sizes(**{name: np.full(3, float(getattr(SIZES, name))) for name in Sizes.__dataclass_fields__})
    for schedule in Schedule:
        for splits in (1, 4):
            traits = KernelTraits(tile=(64, 16, 2), schedule=schedule)
            one = terms(work(traits, SIZES, splits, 80), SHARED, OWN).total
            several = terms(work(traits, many, splits, 80), SHARED, OWN).total
            assert several.tolist() == [one] * 3


def test_sizes_of_a_problem() -> None:
    from ckprof.model.problem import ConvProblem
    from ckprof_plugins.directions.gemm_sizes import (
        backward_data_sizes,
        backward_weight_sizes,
        forward_sizes,
    )

    problem = ConvProblem(
        groups=2, batch=3, out_channels=5, in_channels=7, filter=(2, 3, 3), input=(4, 8, 10),
        strides=(1, 2, 2), dilations=(1, 1, 1), left_pads=(0, 1, 1), right_pads=(0, 1, 1),
    )  # fmt: skip
    assert problem.output == (3, 4, 5)
    sizes = sizes_of(problem, forward_sizes, 2)
    assert (sizes.m, sizes.n, sizes.k, sizes.batch) == (3 * 60, 5, 7 * 18, 2)
    assert (sizes.rows, sizes.columns, sizes.images, sizes.channels) == (4, 5, 3 * 3, 2 * 5)
    elements = 2 * 3 * 7 * 320 + 2 * 5 * 7 * 18 + 2 * 3 * 5 * 60
    assert sizes.tensor_bytes == 2 * elements
    assert backward_weight_sizes(problem) == (5, 7 * 18, 3 * 60)
    assert backward_data_sizes(problem) == (3 * 320, 7, -(-5 * 18 // 4))
