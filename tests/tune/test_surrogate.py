"""The corrected predictions are those of a Gaussian process, by the textbook's formula."""

from __future__ import annotations

import numpy as np
import pytest

from ckprof.tune import surrogate as module
from ckprof.tune.prior import Prior
from ckprof.tune.surrogate import Observations, Surrogate

P, C = 4, 7


def made(seed: int = 0):
    chance = np.random.default_rng(seed)
    prior = Prior(
        log_us=chance.normal(3, 1, (P, C)),
        choice_scale=chance.uniform(1, 2, C),
        problem_scale=chance.uniform(1, 2, P),
        amplitude=1.0,
    )
    features = chance.normal(0, 1, (P, 3)), chance.normal(0, 1, (C, 2))
    kernel_of = np.array([0, 0, 1, 2, 3, 4, 4])
    return prior, *features, kernel_of, chance


def dense_covariance(prior, problem_features, choice_features, kernel_of, scale):
    """Return the covariance of all errors, cell by cell, straight from the definition."""
    cells = [(p, c) for p in range(P) for c in range(C)]
    found = np.zeros((len(cells), len(cells)))
    for i, (p, c) in enumerate(cells):
        for j, (q, d) in enumerate(cells):
            like = np.exp(
                -((problem_features[p] - problem_features[q]) ** 2).sum() / 2 / module._PROBLEM_LENGTH**2
            )
            kin = np.exp(
                -((choice_features[c] - choice_features[d]) ** 2).sum() / 2 / module._CHOICE_LENGTH**2
            )
            own = float(kernel_of[c] == kernel_of[d])
            value = module._KIN**2 * kin + module._OWN**2 * own
            value += like * (module._KIN_ON_LIKE**2 * kin + module._OWN_ON_LIKE**2 * own)
            value += module._CELL**2 * (i == j)
            value *= scale**2 * prior.choice_scale[c] * prior.choice_scale[d]
            value *= prior.problem_scale[p] * prior.problem_scale[q]
            found[i, j] = value + module._COMMON**2 + module._PROBLEM**2 * (p == q)
    return found


def test_posterior_is_that_of_the_textbook() -> None:
    prior, problems, choices, kernel_of, chance = made()
    seen = Observations(
        problem=np.array([0, 0, 1, 3]), choice=np.array([1, 4, 4, 6]), log_us=chance.normal(3, 1, 4)
    )
    model = Surrogate(prior, problems, choices, kernel_of)
    model.learn(seen)
    full = dense_covariance(prior, problems, choices, kernel_of, 1.0)
    places = seen.problem * C + seen.choice
    matrix = full[np.ix_(places, places)] + module._NOISE**2 * np.eye(4)
    gain = full[:, places] @ np.linalg.inv(matrix)
    mean = prior.log_us.ravel() + gain @ (seen.log_us - prior.log_us.ravel()[places])
    # only what may still be measured is asked for
    wanted = np.ones((P, C), dtype=bool)
    wanted[seen.problem, seen.choice] = False
    assert model.means()[wanted] == pytest.approx(mean.reshape(P, C)[wanted])
    listed = model.shortlist(wanted, 3, P)
    after = full - gain @ full[places]
    for problem in range(P):
        cells = problem * C + listed.choices[problem]
        assert listed.mean[problem] == pytest.approx(mean[cells])
        assert listed.covariance[problem] == pytest.approx(after[np.ix_(cells, cells)], abs=1e-9)


def test_draws_have_the_distribution_and_unused_places_are_never_best() -> None:
    prior, problems, choices, kernel_of, _ = made(1)
    model = Surrogate(prior, problems, choices, kernel_of)
    wanted = np.ones((P, C), dtype=bool)
    wanted[2, 1:] = False
    listed = model.shortlist(wanted, 4, P)
    draws = listed.draws(20_000, seed=3)
    assert np.isinf(draws[:, 2, 1:]).all()
    assert draws[:, 0].mean(0) == pytest.approx(listed.mean[0], abs=0.03)
    assert np.cov(draws[:, 0].T) == pytest.approx(listed.covariance[0], abs=0.03)
    assert (listed.draws(5, seed=3)[:, 0] == listed.draws(5, seed=3)[:, 0]).all()


def test_larger_errors_are_noticed() -> None:
    prior, problems, choices, kernel_of, chance = made(2)
    wide = chance.normal(0, 0.6, (P, C))
    model = Surrogate(prior, problems, choices, kernel_of)
    before = model.typical_error[0, 0]
    problem, choice = (one.ravel() for one in np.indices((P, C)))
    seen = Observations(problem=problem, choice=choice, log_us=(prior.log_us + wide).ravel())
    model.learn(seen)
    assert model.typical_error[0, 0] > 1.5 * before


def test_too_many_measurements_lose_those_far_from_the_best(monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST", 5)
    seen = Observations(
        problem=np.repeat([0, 1], 5),
        choice=np.tile(np.arange(5), 2),
        log_us=np.concatenate([np.arange(5.0), 7 + 2 * np.arange(5.0)]),
    )
    kept = module._thinned(seen)
    assert list(zip(kept.problem.tolist(), kept.choice.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
    ]
