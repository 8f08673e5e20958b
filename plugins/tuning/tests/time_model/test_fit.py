"""The fit finds known parameters, agrees with a general solver, and copes with single wrong values."""

from dataclasses import replace

import numpy as np
import pytest
import scipy

from ckprof.model.gemm_work import KernelTraits
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.tuning.time_model.fit import Fit, guess_units, pools_of
from ckprof_plugins.tuning.time_model.formula import KernelParameters, SharedParameters, terms, trend, work
from ckprof_plugins.tuning.time_model.least_squares import solve
from ckprof_plugins.tuning.time_model.measurements import Measurements
from plugins.tuning.tests.sizes import forward_sizes

SHARED = SharedParameters(
    launch=3.0, bandwidth=4e6, tail=0.9, contention=0.2, merging=2e6, gathering=3e6, ragged=0.4, short=1.5
)
KERNELS = {
    "small": (
        KernelTraits(tile=(32, 64, 32), labels=("one",)),
        KernelParameters(prologue=0.3, floor=1.0, latency=0.5, tile=0.25, loop=0.2, meeting=2.0),
    ),
    "large": (
        KernelTraits(tile=(128, 128, 32), labels=("one",)),
        KernelParameters(prologue=0.4, floor=2.0, latency=1.0, tile=3.0, loop=0.8, meeting=5.0),
    ),
}
UNITS = 60


def problem(source):
    def size(low, high):
        return int(2 ** source.uniform(low, high))

    return ConvProblem(
        groups=1, batch=size(0, 6), out_channels=size(4, 10), in_channels=size(4, 10), filter=(1, 1),
        input=(size(2, 8), size(2, 8)), strides=(1, 1), dilations=(1, 1), left_pads=(0, 0), right_pads=(0, 0),
    )  # fmt: skip


def synthetic(count, noise, splits=(1,)):
    source = np.random.default_rng(3)
    problems = tuple(problem(source) for _ in range(count))
    times = {}
    for index, one in enumerate(problems):
        sizes = forward_sizes(one)
        for name, (traits, own) in KERNELS.items():
            for split in splits:
                time = terms(work(traits, sizes, split, UNITS), SHARED, own).total
                times[index, name, split] = float(time * np.exp(source.normal(0, noise)))
    return Measurements(
        sources=("made up",),
        problems=problems,
        kernels={name: traits for name, (traits, _) in KERNELS.items()},
        times=times,
    )


@pytest.mark.parametrize("splits", [(1,), (1, 4)])
def test_known_parameters_are_found(splits):
    found = Fit(synthetic(150, 0.0, splits), forward_sizes, UNITS)
    fitted = {name: kernel.parameters for name, kernel in found.kernels.items()}
    for name, (_, own) in KERNELS.items():
        assert fitted[name].latency == pytest.approx(own.latency, rel=0.05)
        assert fitted[name].loop == pytest.approx(own.loop, rel=0.05)
        # a part of the floor passes for a prologue, for these are far from the usual ratios
        assert found.shared.launch + fitted[name].prologue == pytest.approx(3.0 + own.prologue, rel=0.08)
    if len(splits) > 1:
        assert found.shared.merging == pytest.approx(SHARED.merging, rel=0.05)
        for name, (_, own) in KERNELS.items():
            assert fitted[name].meeting == pytest.approx(own.meeting, rel=0.1)


def test_what_formulas_do_not_explain_becomes_a_trend():
    table = synthetic(150, 0.01)
    middle = (2.0**14, 2.0**7, 2.0**7, 1.0)
    factors = [trend(middle, (0.1, 0.0, -0.3, 0.0, 0.0), forward_sizes(one)) for one in table.problems]
    bent = {key: time * (factors[key[0]] if key[1] == "large" else 1) for key, time in table.times.items()}
    found = Fit(replace(table, times=bent), forward_sizes, UNITS)
    errors = {False: [], True: []}
    for index, one in enumerate(table.problems):
        sizes = forward_sizes(one)
        for corrected in errors:
            # a trend says how kernels compare
            gap = 0.0
            for name, sign in (("large", 1), ("small", -1)):
                kernel = found.kernels[name]
                predicted = terms(
                    work(kernel.computes, sizes, 1, UNITS), found.shared, kernel.parameters
                ).total
                factor = trend(found.middle, kernel.trend, sizes) if corrected else 1.0
                gap += sign * np.log(bent[index, name, 1] / predicted / factor)
            errors[corrected].append(abs(gap))
    assert np.mean(errors[True]) < 0.6 * np.mean(errors[False])


def test_a_few_wrong_values_change_little():
    table = synthetic(150, 0.01)
    wrong = dict(table.times)
    for index in (3, 50, 90):
        wrong[index, "large", 1] *= 3
    clean, spoilt = (Fit(one, forward_sizes, UNITS) for one in (table, replace(table, times=wrong)))
    for one, other in zip(clean.kernels.values(), spoilt.kernels.values(), strict=True):
        assert other.parameters.loop == pytest.approx(one.parameters.loop, rel=0.02)
        assert other.parameters.latency == pytest.approx(one.parameters.latency, rel=0.02)


def test_compute_units_are_told_by_the_steps():
    units, margin = guess_units(synthetic(150, 0.01), forward_sizes, (40, 48, 56, 60, 64, 80))
    assert units == UNITS
    assert margin > 1.2


def test_twins_share_their_parameters():
    table = synthetic(40, 0.0)
    source = np.random.default_rng(5)
    times = dict(table.times)
    twin = replace(KERNELS["small"][0], tile=(32, 64, 64))
    for index in range(len(table.problems)):
        times[index, "twin", 1] = times[index, "small", 1] * float(np.exp(source.normal(0, 0.004)))
    both = replace(table, times=times, kernels={"twin": twin, **table.kernels})
    assert set(pools_of(both)) == {("small", "twin"), ("large",)}
    # the smallest tile is the one that both compute
    found = Fit(both, forward_sizes, UNITS)
    fitted = {names: found.kernels[names[-1]].computes.tile for names in found.pools}
    assert fitted == {("small", "twin"): (32, 64, 32), ("large",): (128, 128, 32)}


class Line:
    """Points around a * x + b for two groups that share b."""

    def __init__(self):
        source = np.random.default_rng(1)
        self.x = source.uniform(0, 5, (2, 40))
        self.y = np.array([[1.5], [-0.5]]) * self.x + 2 + source.normal(0, 0.05, (2, 40))
        self.y[0, 3] += 9

    def residuals(self, vector):
        return (vector[1:, None] * self.x + vector[0] - self.y).ravel()

    def blocks(self, vector):
        residuals = self.residuals(vector).reshape(2, -1)
        return [
            (residuals[group], np.array([0, 1 + group]), np.stack([np.ones(40), self.x[group]], axis=1))
            for group in range(2)
        ]


def test_the_solver_agrees_with_a_general_one():
    line = Line()
    pulls = np.zeros((0, 3)), np.zeros(0)
    vector, cost = solve(line, pulls, np.zeros(3), scale=0.1, steps=100)
    other = scipy.optimize.least_squares(
        line.residuals, np.zeros(3), loss="soft_l1", f_scale=0.1, xtol=1e-12, ftol=1e-12
    )
    assert vector == pytest.approx(other.x, abs=2e-4)
    assert cost == pytest.approx(other.cost, rel=1e-5)
