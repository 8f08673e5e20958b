"""What kernels do for problems, counted by hand, and the time that follows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ckprof.errors import UsageError
from ckprof.model.gemm_work import KernelTraits, Reduction, RunAxis, RunChunks, Schedule
from ckprof.testing import registry_with
from ckprof_plugins.directions._convolution.gemm_sizes import (
    backward_data_runs,
    backward_data_sizes,
    backward_weight_runs,
    backward_weight_sizes,
    forward_runs,
)
from ckprof_plugins.tuning.model_use import gemm_sizes_of
from ckprof_plugins.tuning.time_model.formula import (
    KernelParameters,
    SharedParameters,
    Sizes,
    least_trend,
    terms,
    trend,
    work,
)
from plugins.tuning.tests.sizes import forward_sizes, forward_with_runs
from tests.convolutions import convolution

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


def test_tiles():
    done = work(KernelTraits(tile=(64, 128, 32)), SIZES, 1, 80)
    # 16 x 2 tiles of 3 products on 80 units: two rounds of at most 80
    assert (done.load, done.rounds, done.loops, done.steps, done.launches) == (96 / 80, 2, 16, 16, 1)
    assert done.extra_bytes == 0


def test_splits_meet_by_atomics_or_in_a_workspace():
    split = work(KernelTraits(tile=(64, 128, 32)), SIZES, 4, 80)
    assert (split.load, split.loops) == (4 * 96 / 80, 4)
    # the result is zeroed, and read and written by each part
    assert split.extra_bytes == 1000 * 200 * 3 * 2 * (1 + 2 * 4)
    staged = work(KernelTraits(tile=(64, 128, 32), reduction=Reduction.WORKSPACE), SIZES, 4, 80)
    assert staged.launches == 2
    assert staged.extra_bytes == 1000 * 200 * 3 * 4 * (2 + 2 * 4)


def test_streams_are_even_and_windows_cover_images():
    traits = KernelTraits(tile=(64, 128, 32), schedule=Schedule.STREAM, workgroups_per_unit=2)
    done = work(traits, SIZES, 1, 80)
    # 96 tiles of 16 iterations over 160 workgroups: 9.6, so that some take 10
    assert (done.rounds, done.loops, done.steps) == (None, 16, 10)
    assert done.load == 96 / 80
    assert done.extra_bytes == 96 * 2 * 4 * 64 * 128
    done = work(KernelTraits(tile=(4, 8, 2), schedule=Schedule.WINDOW), SIZES, 1, 80)
    assert done.load == 3 * 2 * 3 * 7 / 80
    assert (done.rounds, done.loops, done.extra_bytes) == (2, 1, 0)


REDUCTION = RunChunks(axis=RunAxis.REDUCTION, size=32, least=16, short_k=8)


def test_chunks_pad_every_run():
    # 10 runs of 50: two chunks of 32 each, the second one ragged
    done = work(KernelTraits(tile=(64, 128, 32), chunks=REDUCTION), SIZES, 1, 80)
    assert (done.loops, done.load) == (20, 96 / 80)
    # 50 is a multiple neither of 32 nor of 16 nor of 8
    assert (done.ragged, done.short) == (1, 0)
    assert done.gathered_bytes == 1000 * (10 * 64) * 3 * 2
    # an iteration that takes two chunks
    assert work(KernelTraits(tile=(64, 128, 64), chunks=REDUCTION), SIZES, 1, 80).loops == 10


@pytest.mark.parametrize(("run", "ragged"), [(64, 0), (32, 0), (48, 1 / 3), (40, 2 / 3), (36, 1)])
def test_alignment_of_runs(run, ragged):
    done = work(KernelTraits(tile=(64, 128, 32), chunks=REDUCTION), replace(SIZES, k_run=run), 1, 80)
    assert done.ragged == pytest.approx(ragged)


def test_short_runs_and_chunks_of_columns():
    done = work(KernelTraits(tile=(64, 128, 32), chunks=REDUCTION), replace(SIZES, k_run=10), 1, 80)
    assert (done.loops, done.short) == (500 / 8 + 0.5, 1)
    found = terms(done, SHARED, OWN)
    assert found.waiting == pytest.approx(63 * (1 + 2.0) * 0.25 * (1 + 0.5))
    chunks = RunChunks(axis=RunAxis.COLUMNS, size=32)
    sizes = replace(SIZES, n_run=40)
    # 5 runs of 40 in two chunks each, four chunks to a tile: 3 tiles instead of 2
    done = work(KernelTraits(tile=(64, 128, 32), chunks=chunks), sizes, 1, 80)
    assert (done.load, done.loops) == (16 * 3 * 3 / 80, 16)
    assert done.gathered_bytes == 500 * (5 * 64) * 3 * 2


def test_the_part_that_arrives_last_converts():
    traits = KernelTraits(tile=(64, 128, 32), reduction=Reduction.ARRIVAL)
    assert work(traits, SIZES, 1, 80).extra_bytes == 0
    done = work(traits, SIZES, 4, 80)
    # added four times, read and zeroed once, in fp32; written once
    assert done.extra_bytes == 1000 * 200 * 3 * (4 * 4 + 2 * 4 + 2)
    assert (done.launches, done.splits) == (1, True)


def test_the_time_of_chunks_by_hand():
    done = work(KernelTraits(tile=(64, 128, 32), chunks=REDUCTION), SIZES, 1, 80)
    found = terms(done, SHARED, OWN)
    busy = 1.2 + 0.75 * (2 - 1.2)
    assert found.computing == pytest.approx(busy * (0.125 + 20 * 1.3 * 0.0625))
    assert found.gathering == pytest.approx(1000 * 640 * 3 * 2 * 1.3 / 2e6)
    parts = (found.floor, found.memory, found.gathering, found.waiting, found.computing)
    assert found.powers == pytest.approx(sum(part**4 for part in parts))
    assert found.fixed == 3.5


def test_the_time_by_hand():
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


def test_a_trend_by_hand():
    # twice the usual m, the usual n, a third of the usual k
    middle, coefficients = (500, 200, 1500, 3), (0.25, 0.5, -0.125, 0.0, 1.0)
    ratio = 2 / 3
    expected = 1.25 + 0.5 * 2 / 3 - 0.125 / 2 + ratio / (1 + ratio)
    assert trend(middle, coefficients, SIZES) == pytest.approx(expected)
    assert trend(middle, (), SIZES) == 1
    found = terms(work(KernelTraits(tile=(64, 128, 32)), SIZES, 4, 80), SHARED, OWN)
    assert replace(found, factor=expected).total == pytest.approx(expected * found.total)


def test_a_trend_ends_far_away():
    coefficients = (-0.25, 0.125, -0.25, 0.0, 0.0625)
    for exponent in range(-30, 31, 6):
        for m, n, k in ((1, 1, 1), (1, 0, 0), (0, 1, 0), (-1, 1, 0)):
            middle = (
                1000 * 2.0 ** (m * exponent),
                200 * 2.0 ** (n * exponent),
                500 * 2.0 ** (k * exponent),
                3,
            )
            found = trend(middle, coefficients, SIZES)
            assert least_trend(coefficients) <= found <= 1 - 0.25 + 0.125 + 0.0625


def test_arrays_give_what_numbers_give():
    many = Sizes(**{name: np.full(3, float(getattr(SIZES, name))) for name in Sizes.__dataclass_fields__})
    for schedule, chunks in ((one, how) for one in Schedule for how in (None, REDUCTION)):
        for splits in (1, 4):
            traits = KernelTraits(tile=(64, 16, 2), schedule=schedule, chunks=chunks)
            one = terms(work(traits, SIZES, splits, 80), SHARED, OWN).total
            several = terms(work(traits, many, splits, 80), SHARED, OWN).total
            assert several.tolist() == [one] * 3


def test_sizes_of_a_problem():
    problem = convolution("3 2 3 5 7 2 3 3 4 8 10 1 2 2 1 1 1 0 1 1 0 1 1")
    assert problem.output == (3, 4, 5)
    sizes = forward_sizes(problem)
    assert (sizes.m, sizes.n, sizes.k, sizes.batch) == (3 * 60, 5, 7 * 18, 2)
    assert (sizes.rows, sizes.columns, sizes.images, sizes.channels) == (4, 5, 3 * 3, 2 * 5)
    elements = 2 * 3 * 7 * 320 + 2 * 5 * 7 * 18 + 2 * 3 * 5 * 60
    assert sizes.tensor_bytes == 2 * elements
    assert backward_weight_sizes(problem) == (5, 7 * 18, 3 * 60)
    assert backward_weight_runs(problem) == (7, 180)
    assert (forward_runs(problem), backward_data_runs(problem)) == ((5, 7), (7, 5))
    with_runs = forward_with_runs(problem)
    assert (with_runs.n_run, with_runs.k_run) == (5, 7)
    assert (sizes.n_run, sizes.k_run) == (sizes.n, sizes.k)
    assert backward_data_sizes(problem) == (3 * 320, 7, -(-5 * 18 // 4))


def test_operations_say_their_products():
    problem = convolution("1 2 3 5 7 3 10 2 1 1 1")
    operations = {"fwd": registry_with().operation("fwd"), "silent": SimpleNamespace(id="silent")}
    registry = SimpleNamespace(operation=operations.__getitem__)
    assert gemm_sizes_of(registry, "fwd", "bf16")(problem) == forward_with_runs(problem)
    with pytest.raises(UsageError, match="operation silent does not say which matrix products"):
        gemm_sizes_of(registry, "silent", "bf16")
