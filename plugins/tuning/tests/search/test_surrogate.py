"""The corrected predictions are those of a Gaussian process, by the textbook's formula."""

import numpy as np
import pytest

from ckprof_plugins.tuning.search import surrogate as module
from ckprof_plugins.tuning.search.surrogate import Surrogate, draws, log_times

P, C = 4, 7


def made(seed=0):
    chance = np.random.default_rng(seed)
    log_us, of_choices = chance.normal(3, 1, (P, C)), chance.uniform(1, 2, C)
    prior = log_us, chance.uniform(1, 2, P)[:, None] * of_choices
    features = chance.normal(0, 1, (P, 3)), chance.normal(0, 1, (C, 2))
    kernel_of = np.array([0, 0, 1, 2, 3, 4, 4])
    return prior, *features, kernel_of, chance


def dense_covariance(prior, problem_features, choice_features, kernel_of, scale):
    """Return the covariance of all errors, pair by pair, straight from the definition."""
    pairs = [(p, c) for p in range(P) for c in range(C)]
    found = np.zeros((len(pairs), len(pairs)))
    log_us, scales = prior
    lead = log_us - log_us.mean(axis=1, keepdims=True)
    for i, (p, c) in enumerate(pairs):
        for j, (q, d) in enumerate(pairs):
            like = np.exp(
                -((problem_features[p] - problem_features[q]) ** 2).sum() / 2 / module._PROBLEM_LENGTH**2
            )
            similar = np.exp(
                -((choice_features[c] - choice_features[d]) ** 2).sum() / 2 / module._CHOICE_LENGTH**2
            )
            own = float(kernel_of[c] == kernel_of[d])
            value = module._SIMILAR**2 * similar + module._OWN**2 * own
            value += like * (module._SIMILAR_ON_LIKE**2 * similar + module._OWN_ON_LIKE**2 * own)
            value += module._PAIR**2 * (i == j)
            value *= scale**2 * scales[p, c] * scales[q, d]
            value += scale**2 * module._TRUST**2 * lead[p, c] * lead[q, d]
            found[i, j] = value + module._COMMON**2 + module._PROBLEM**2 * (p == q)
    return found


def test_posterior_is_that_of_the_textbook():
    prior, problems, choices, kernel_of, chance = made()
    seen = log_times(np.array([0, 0, 1, 3]), np.array([1, 4, 4, 6]), chance.normal(3, 1, 4))
    model = Surrogate(*prior, 1.0, problems, choices, kernel_of)
    model.learn(seen)
    full = dense_covariance(prior, problems, choices, kernel_of, 1.0)
    places = seen["problem"] * C + seen["choice"]
    matrix = full[np.ix_(places, places)] + module._NOISE**2 * np.eye(4)
    gain = full[:, places] @ np.linalg.inv(matrix)
    log_us = prior[0].ravel()
    mean = log_us + gain @ (seen["log_us"] - log_us[places])
    # only what may still be measured is asked for
    wanted = np.ones((P, C), dtype=bool)
    wanted[seen["problem"], seen["choice"]] = False
    assert model.means()[wanted] == pytest.approx(mean.reshape(P, C)[wanted])
    listed, _, means = model.shortlist(wanted, 3, P)
    covariance = model.covariance(listed)
    after = full - gain @ full[places]
    for problem in range(P):
        pairs = problem * C + listed[problem]
        assert means[problem] == pytest.approx(mean[pairs])
        assert covariance[problem] == pytest.approx(after[np.ix_(pairs, pairs)], abs=1e-9)


def test_draws_have_the_distribution_and_unused_places_are_never_best():
    prior, problems, choices, kernel_of, _ = made(1)
    model = Surrogate(*prior, 1.0, problems, choices, kernel_of)
    wanted = np.ones((P, C), dtype=bool)
    wanted[2, 1:] = False
    listed, used, mean = model.shortlist(wanted, 4, P)
    covariance = model.covariance(listed)
    drawn = draws(mean, covariance, used, 20_000, seed=3)
    assert np.isinf(drawn[:, 2, 1:]).all()
    assert drawn[:, 0].mean(0) == pytest.approx(mean[0], abs=0.03)
    assert np.cov(drawn[:, 0].T) == pytest.approx(covariance[0], abs=0.03)
    few = [draws(mean, covariance, used, 5, seed=3)[:, 0] for _ in range(2)]
    assert (few[0] == few[1]).all()


def test_larger_errors_are_noticed():
    prior, problems, choices, kernel_of, chance = made(2)
    wide = chance.normal(0, 0.6, (P, C))
    model = Surrogate(*prior, 1.0, problems, choices, kernel_of)
    before = model.typical_error[0, 0]
    problem, choice = (one.ravel() for one in np.indices((P, C)))
    seen = log_times(problem, choice, (prior[0] + wide).ravel())
    model.learn(seen)
    assert model.typical_error[0, 0] > 1.5 * before


def test_of_too_many_measurements_the_best_stay_and_some_of_the_others():
    times = np.concatenate([np.arange(5.0), 7 + 2 * np.arange(5.0)])
    seen = log_times(np.repeat([0, 1], 5), np.tile(np.arange(5), 2), times)
    kept = module.thinned(seen, 6)
    pairs = list(zip(kept["problem"].tolist(), kept["choice"].tolist(), strict=True))
    assert len(pairs) == len(set(pairs)) == 6
    assert {(0, 0), (0, 1), (1, 0)} <= set(pairs)
    assert {(0, 2), (1, 4)} <= set(pairs), "the first and the last of the others"


def test_predictions_that_are_worth_nothing_are_forgotten():
    """The model promises large differences; the times of all kernels are the same."""
    chance = np.random.default_rng(5)
    problems, choices = 6, 12
    log_us = chance.normal(3, 1.0, (problems, choices))
    model = Surrogate(
        log_us,
        np.ones((problems, choices)),
        3.0,
        chance.normal(0, 1, (problems, 3)),
        chance.normal(0, 1, (choices, 2)),
        np.arange(choices),
    )
    problem, choice = (one.ravel() for one in np.indices((problems, 7)))
    model.learn(log_times(problem, choice, np.full(len(problem), 3.0)))
    unseen = model.means()[:, 7:] - 3.0
    assert np.abs(unseen).mean() < 0.35 * np.abs(log_us[:, 7:] - 3.0).mean()
    errors = model.errors(np.arange(7, choices), problems)
    assert np.mean(np.abs(unseen) < 2 * errors) >= 0.9


def test_few_residuals_of_an_untrained_model_are_no_reason_to_trust_it():
    prior, problems, choices, kernel_of, _ = made(3)
    some = np.array([0, 0, 1]), np.array([0, 1, 2])
    seen = log_times(*some, prior[0][some])
    errors = []
    for amplitude in (1.0, 1.001):
        model = Surrogate(*prior, amplitude, problems, choices, kernel_of)
        model.learn(seen)
        errors.append(model.errors(np.arange(C), P)[0, 5])
    assert errors[1] > 2 * errors[0]
