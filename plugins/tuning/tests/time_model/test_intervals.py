"""Intervals hold 95 % of the times of problems that a fit has not seen, or a warning says why not."""

from dataclasses import replace
from math import exp, log, sqrt
from statistics import fmean

import numpy as np
import pytest

from ckprof.model.gemm_work import KernelTraits, RunAxis, RunChunks, Schedule
from ckprof_plugins.tuning.time_model.calibration import SHARES, left_out_groups
from ckprof_plugins.tuning.time_model.fit import Fit
from ckprof_plugins.tuning.time_model.intervals import (
    BANDS,
    LARGEST_HALF,
    RANGE_AXES,
    Trial,
    Trials,
    beyond,
    extents,
    place,
    ranges_of,
)
from ckprof_plugins.tuning.time_model.measurements import merged
from ckprof_plugins.tuning.time_model.model import Prediction, Similarity, similarity
from ckprof_plugins.tuning.time_model.selector import Selector, as_chosen
from ckprof_plugins.tuning.validation import judged_model
from plugins.tuning.tests.sizes import forward_sizes, forward_with_runs
from plugins.tuning.tests.time_model.conftest import fitted
from plugins.tuning.tests.time_model.figures import SIZES, h200_model, h200_table, of_kernels, some_kernels
from plugins.tuning.tests.time_model.test_fit import KERNELS, synthetic
from tests.convolutions import convolution

INSIDE = (0.0,) * len(RANGE_AXES)


def judge(model, table):
    return judged_model(model, table, forward_with_runs)


def part(table, *, first):
    """Return every second problem."""
    return table.subset(tuple(range(0 if first else 1, len(table.problems), 2)))


def halves(table):
    return fitted(part(table, first=True), compute_units=60), part(table, first=False)


def noisy(table, scale, seed, *, of_problem=0.0):
    """Return a table whose times scatter, each kernel's by its own scale, and all of a problem's together."""
    source = np.random.default_rng(seed)
    together = (
        source.normal(0, of_problem, len(table.problems)) if of_problem else np.zeros(len(table.problems))
    )
    return replace(
        table,
        times={
            (index, name, splits): time * exp(together[index] + source.standard_t(4) * scale[name])
            for (index, name, splits), time in table.times.items()
        },
    )


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2))])
@pytest.mark.parametrize("of_problem", [0.0, 0.05])
def test_simulated_times_are_covered(seed, of_problem):
    # tails heavier than a normal distribution's, another scale for each kernel, errors that problems share
    table = noisy(synthetic(300, 0.0), {"small": 0.02, "large": 0.1}, seed, of_problem=of_problem)
    model, unseen = halves(table)
    inside = judge(model, unseen).inside
    assert len(inside) > 200
    # 300 times, some of which err together: two standard deviations are about 3 points
    assert 0.92 <= fmean(inside) <= 0.98
    spreads = {name: kernel.spread for name, kernel in model.kernels.items()}
    assert spreads["large"] > spreads["small"]


def test_noise_that_depends_on_the_problem_is_followed():
    table = synthetic(300, 0.0)
    source = np.random.default_rng(7)
    few = [extents(forward_with_runs(problem))["k_run"] < 128 for problem in table.problems]
    times = {
        key: time * exp(source.normal(0, 0.2 if few[key[0]] else 0.02)) for key, time in table.times.items()
    }
    model, unseen = halves(replace(table, times=times))
    reach = {False: [], True: []}
    for problem in unseen.problems:
        sizes = forward_with_runs(problem)
        reach[extents(sizes)["k_run"] < 128].append(model.reach(sizes))
    assert np.median(reach[True]) > 1.5 * np.median(reach[False])


@pytest.mark.parametrize("first", [True, False])
def test_measured_times_are_covered(table_20, first):
    table = some_kernels(table_20, 2)
    model = fitted(part(table, first=first))
    assert fmean(judge(model, part(table, first=not first)).inside) == pytest.approx(0.955, abs=0.035)


def test_published_times_of_other_problems_are_covered(model_20, table_20, table_30):
    found = judge(model_20, of_kernels(table_30, table_20))
    assert fmean(found.inside) == pytest.approx(0.955, abs=0.035)
    assert fmean(found.warned_inside) > 0.85


@pytest.mark.thorough
def test_times_of_a_sweep_are_covered():
    training, unseen = (some_kernels(h200_table("bwd_weight", half), 2) for half in ("train", "unseen"))
    found = judged_model(h200_model("bwd_weight", training), unseen, SIZES["bwd_weight"])
    assert fmean(found.inside) == pytest.approx(0.955, abs=0.04)


def test_few_channels_are_warned_of(model_20, table_20, table_30):
    # the training table has no problem of fewer than 64 channels, but many of 768 along k
    problem = next(one for one in table_30.problems if one.in_channels == 3 and one.filter == (16, 16))
    selector = Selector(model_20, table_20.kernels, forward_with_runs)
    ranking = selector.rank(problem)
    assert selector.warnings(problem, ranking) == (
        "channels of one filter tap along k = 3 is outside the trained range 64 to 2048",
        "number of filter taps = 256 is outside the trained range 1 to 25",
        "product of the strides = 256 is outside the trained range 1 to 4",
    )
    # kernels take four times as long as predicted there: the warning is needed, wide as the intervals are
    assert all(prediction.high_us > 1.2 * prediction.time_us for prediction in ranking)


def test_shifted_problems_are_warned_of(table_20, table_30):
    sizes = [forward_with_runs(problem) for problem in table_20.problems]
    work = [extents(one)["work"] for one in sizes]
    small = tuple(index for index, one in enumerate(work) if one < np.median(work))
    large = tuple(index for index, one in enumerate(work) if one >= np.median(work))
    found = judge(fitted(table_20.subset(small)), table_20.subset(large))
    assert all(shape.warnings for shape in found.shapes)
    assert not found.inside
    assert fmean(found.warned_inside) > 0.88


@pytest.mark.parametrize("strided", [True, False])
def test_problems_of_other_strides_are_warned_of(table_20, table_30, strided):
    both = some_kernels(merged((table_20, table_30)), 3)
    parts = {True: [], False: []}
    # half of the problems: they tell as much
    for index, problem in enumerate(both.problems[::2]):
        parts[max(problem.strides) > 1].append(2 * index)
    found = judge(fitted(both.subset(tuple(parts[strided]))), both.subset(tuple(parts[not strided])))
    assert all(shape.warnings for shape in found.shapes)
    assert fmean(found.warned_inside) > 0.9


def test_times_of_an_unseen_family_are_expected_anywhere(table_30):
    """Two families that were measured are alike, the third one is not: it ignores its tile."""
    known = {name: traits for name, traits in table_30.kernels.items() if "compv4" not in name}

    def of(names, first):
        times = {key: time for key, time in table_30.times.items() if key[1] in names}
        kernels = {name: table_30.kernels[name] for name in table_30.kernels if name in names}
        return part(replace(table_30, kernels=kernels, times=times), first=first)

    model = fitted(of(set(known), True))
    found = judge(model, of(set(table_30.kernels) - set(known), False))
    assert not found.inside
    assert fmean(found.warned_inside) > 0.7


def test_unseen_families_and_depths_are_warned_of(model_20, table_20):
    known = model_20.kernels["64x64x64_compv3"].traits
    offered = {
        "known": known,
        "wider": replace(known, tile=(512, 64, 64)),
        "deeper": replace(known, tile=(64, 64, 256)),
        "stranger": replace(known, labels=("compv9",)),
        "stream": replace(known, schedule=Schedule.STREAM),
    }
    selector = Selector(model_20, offered, forward_with_runs)
    assert {name: selector.warning_of(name) for name in offered} == {
        "known": "",
        "wider": "",
        "deeper": "tile depth 256 was not measured, only 64, 128",
        "stranger": "no kernel of compv9 was measured, only of compv3, compv4",
        "stream": "no kernel of compv3 stream was measured, only of compv3, compv4",
    }
    ranking = selector.rank(table_20.problems[0])
    warnings = selector.warnings(table_20.problems[0], ranking)
    assert sum("was not measured" in line or "was measured, only" in line for line in warnings) == 3
    widths = {one.kernel: one.uncertainty for one in ranking}
    measured = Selector(model_20, {"64x64x64_compv3": known}, forward_with_runs).rank(table_20.problems[0])
    assert widths["stranger"] > 1.5 * measured[0].uncertainty
    assert similarity(known, []) is Similarity.FAMILY
    # what takes chunks of its own has the depth of its configuration where it cannot
    chunks = RunChunks(axis=RunAxis.REDUCTION, size=64, least=16, short_k=32)
    chunked = replace(known, chunks=chunks)
    deeper = replace(known, chunks=replace(chunks, short_k=64))
    assert similarity(chunked, [deeper]) is Similarity.DEPTH
    assert similarity(chunked, [chunked, deeper]) is Similarity.ALIKE


def test_one_kernel_alone_is_no_choice(table_30):
    name = "64x64x64_compv3"
    alone = replace(
        table_30,
        kernels={name: table_30.kernels[name]},
        times={key: time for key, time in table_30.times.items() if key[1] == name},
    )
    assert fitted(alone).quality is None
    found = judge(fitted(part(alone, first=True)), part(alone, first=False))
    assert (found.model, found.best_of_top, found.best_single, found.single, found.ceiling) == (None,) * 5
    assert len(found.inside) + len(found.warned_inside) == 43
    # a problem with one kernel beside others with several does not count, either
    some = some_kernels(table_30, 3)
    first = next(iter(some.kernels))
    mixed = replace(some, times={key: time for key, time in some.times.items() if key[0] or key[1] == first})
    model = fitted(some)
    both, others = judge(model, mixed), judge(model, some.subset(tuple(range(1, 86))))
    assert both.model == others.model
    assert len(both.shapes) == 86


def test_errors_of_problems_left_out_are_larger(table_20):
    table = table_20.without_glitches()
    groups = left_out_groups([forward_sizes(problem) for problem in table.problems])
    assert sorted(index for group in groups[:SHARES] for index in group) == list(range(185))
    found = Fit(table, forward_sizes, 256, groups)
    assert len(found.kernels) == 20
    refits = list(found.refits.values())
    left_out = [abs(error) for refit in refits[:SHARES] for _, error in refit.values()]
    ends = [abs(error) for refit in refits[SHARES:] for _, error in refit.values()]
    assert len(left_out) == len(table.times)
    assert np.quantile(ends, 0.9) > np.quantile(left_out, 0.9)


def test_kernels_without_enough_times_are_known_little_of():
    # each kernel on one problem only: none of its times can be left out
    table = synthetic(8, 0.0)
    traits = KERNELS["small"][0]
    sparse = replace(
        table,
        kernels={f"k{index}": replace(traits, tile=(16 << index, 64, 32)) for index in range(8)},
        times={(index, f"k{index}", 1): table.times[index, "small", 1] for index in range(8)},
    )
    model = fitted(sparse)
    assert model.trials.trials == ()
    assert [kernel.spread for kernel in model.kernels.values()] == pytest.approx([0.5] * 8)


def trial(problem, error, nearest=1.0, beyond=INSIDE):
    return Trial(problem=problem, nearest=nearest, beyond=beyond, errors=(error,) * len(BANDS))


def test_the_nearest_trials_decide():
    places = tuple((float(10 * (index >= 100)),) * 7 for index in range(200))
    trials = Trials(places=places, trials=tuple(trial(index, 1.0 + (index >= 100)) for index in range(200)))
    assert sum(BANDS) == pytest.approx(1)
    assert trials.reach((0.0,) * 7, INSIDE) == 1.0
    assert trials.reach((10.0,) * 7, INSIDE) == 2.0
    assert trials.nearest((3.0,) * 7) == pytest.approx(3 * sqrt(7))
    # farther out than any trial: errors grow
    out = (3.0, *INSIDE[1:])
    assert trials.reach((0.0,) * 7, out) > 2.5
    # most where runs are shorter
    axis = list(RANGE_AXES).index("k_run")
    longer, shorter = ((*INSIDE[:axis], gap, *INSIDE[axis + 1 :]) for gap in (3.0, -3.0))
    assert trials.reach((0.0,) * 7, shorter) > 2 * trials.reach((0.0,) * 7, longer)


def test_the_quantile_counts_the_new_problem():
    # of twenty trials 19 are 95 %; with a part of the new one beside them it takes the twentieth
    trials = Trials(places=((0.0,) * 7,), trials=tuple(trial(0, float(number)) for number in range(1, 21)))
    assert trials.reach((0.0,) * 7, INSIDE) == 20.0
    # the forty nearest are asked
    more = Trials(places=((0.0,) * 7,), trials=tuple(trial(0, float(number)) for number in range(1, 60)))
    assert more.reach((0.0,) * 7, INSIDE) == 39.0


def test_places_and_ranges():
    def sizes(**changes):
        problem = convolution("2 1 4 64 32 3 3 16 16 1 1 1 1 1 1 1 1")
        return forward_with_runs(replace(problem, **changes))

    usual = sizes()
    assert extents(usual) == {
        "m": 1024, "n": 64, "k": 288, "batch": 1, "n_run": 64, "k_run": 32, "taps": 9,
        "work": 1024 * 64 * 288, "step": 1,
    }  # fmt: skip
    assert extents(sizes(strides=(2, 3)))["step"] == 6
    ranges = ranges_of([usual, sizes(batch=8)])
    assert ranges["m"] == (1024, 2048)
    assert beyond(ranges, sizes(batch=6)) == INSIDE
    out = dict(zip(RANGE_AXES, beyond(ranges, sizes(in_channels=8)), strict=True))
    assert (out["k_run"], out["k"], out["work"], out["taps"]) == (-2, -2, -2, 0)
    assert place(sizes(batch=8))[0] - place(usual)[0] == pytest.approx(1)


def test_intervals_end_somewhere(model_20, table_20):
    far = convolution("2 64 2048 64 64 31 31 512 512 1 1 1 1 1 1 1 1")
    offered = {"strange": KernelTraits(tile=(4, 4, 4), labels=("other",))}
    (prediction,) = Selector(model_20, offered, forward_with_runs).rank(far)
    assert log(prediction.high_us / prediction.time_us) == pytest.approx(LARGEST_HALF)
    assert log(prediction.time_us / prediction.low_us) == pytest.approx(LARGEST_HALF)


@pytest.mark.parametrize(("kernels", "apart"), [(1, 0.0), (3, 0.0), (20, 0.0), (20, 0.05), (20, 2.0)])
def test_the_interval_of_a_choice_knows_that_it_was_chosen(kernels, apart):
    source, scale = np.random.default_rng(kernels), 0.1
    plain, corrected = [], []
    for _ in range(2000):
        true = np.exp(apart * np.arange(kernels))
        times = (true * np.exp(source.normal(0, scale, kernels))).tolist()
        first = int(np.argmin(times))
        low_us, high_us = (times[first] * exp(side * 1.96 * scale) for side in (-1, 1))
        one = Prediction(
            kernel="k", splits=1, time_us=times[first], uncertainty=scale, low_us=low_us, high_us=high_us,
            measured=True, limit="floor",
        )  # fmt: skip
        plain.append(one.holds(true[first]))
        corrected.append(as_chosen(one, times).holds(true[first]))
    # two standard deviations of a share of 2000 are one point
    assert 0.94 <= fmean(corrected) <= 0.985
    if kernels == 20 and not apart:
        assert fmean(plain) < 0.7
