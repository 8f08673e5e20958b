"""Measured and predicted times in one table, and what a model makes of them."""

from dataclasses import replace
from math import exp, hypot, log
from pathlib import Path

import pytest

import ckprof
from ckprof.errors import InputError
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.predicted_times import USUAL_HALF, with_predicted
from ckprof_plugins.tuning.search.prior import UNTRAINED, prior_of
from ckprof_plugins.tuning.time_model.measurements import merged
from ckprof_plugins.tuning.time_model.selector import Selector
from ckprof_plugins.tuning.tuning import replay_space
from plugins.tuning.tests.sizes import forward_with_runs
from plugins.tuning.tests.time_model.conftest import MEASURED, fitted

PATH = Path("predicted.json")


def _predicted(table, factor=1.0):
    """Return the times of a table as if they were predicted, each wrong by a factor."""
    times = {key: time_us * factor for key, time_us in table.times.items()}
    return replace(table, times=times, predicted=frozenset(times), arch="gfx950", compute_units=256)


def _blended(measured, predicted):
    fields = {name: {} for name in predicted.kernels}
    return with_predicted(ckprof.Profiler().registry, measured, predicted, fields, PATH)


@pytest.fixture(scope="module")
def table_30():
    """Times of 30 kernels on a GPU."""
    return read_csv(MEASURED / "gfx950_fwd_bf16_30kernels_even.csv", traits_of_name, (ConvProblem,))


@pytest.fixture(scope="module")
def small(table_30):
    """Ten problems of three kernels."""
    names = [*table_30.kernels][:3]
    some = table_30.subset(tuple(range(10)))
    return replace(
        some,
        kernels={name: some.kernels[name] for name in names},
        times={key: time_us for key, time_us in some.times.items() if key[1] in names},
    )


def test_a_measured_time_takes_the_place_of_a_predicted_one(small):
    measured = small.subset((3, 5))
    table = merged((_predicted(small, 2.0), measured))
    assert len(table.problems) == len(small.problems)
    by_problem = {
        (table.problems[index], name): (time_us, (index, name, splits) in table.predicted)
        for (index, name, splits), time_us in table.times.items()
    }
    for (index, name, _), time_us in small.times.items():
        expected = (time_us, False) if index in (3, 5) else (2 * time_us, True)
        assert by_problem[small.problems[index], name] == expected
    # what is left of a table keeps what it knows of its times
    assert len(table.subset((0, 1)).predicted) == sum(key[0] in (0, 1) for key in table.predicted)
    clean = table.without_glitches()
    assert clean.predicted == table.predicted & clean.times.keys()


def test_nothing_measured_leaves_times_as_they_are(small):
    assert _blended(None, _predicted(small, 2.0)) == (_predicted(small, 2.0), USUAL_HALF)


def test_measured_times_correct_predicted_ones(table_30):
    measured = table_30.subset(tuple(range(0, 40, 4)))
    table, half = _blended(measured, _predicted(table_30, 0.5))
    known = {
        (table_30.problems[index], name): time_us for (index, name, _), time_us in table_30.times.items()
    }
    assert len(table.predicted) == len(table_30.times) - len(measured.times)
    for (index, name, _), time_us in table.times.items():
        assert time_us == pytest.approx(known[table.problems[index], name])
    # they are wrong by one factor alone
    assert half == pytest.approx(0.0, abs=1e-9)


def test_few_pairs_do_not_tell_how_far_predictions_are_off(small):
    assert _blended(small, _predicted(small))[1] == USUAL_HALF


@pytest.mark.parametrize(
    ("other", "here"), [({"arch": "gfx942"}, "gfx942"), ({"target": "cuda", "arch": "h200"}, "cuda")]
)
def test_times_of_another_device_are_refused(small, other, here):
    if "target" in other:
        pytest.importorskip(f"ckprof_plugins.{other['target']}")
    with pytest.raises(InputError, match=f"predicted for gfx950, .* measured on {here}"):
        _blended(replace(small, **other), _predicted(small))


def test_intervals_allow_for_the_errors_of_predictions(small):
    measured = fitted(small)
    half = log(2)
    model = replace(fitted(_predicted(small)), predicted_half=half)
    assert (measured.predicted, model.predicted) == (0, len(small.without_glitches().times))
    assert measured.basis == ""
    assert f"{model.predicted} times that were predicted from machine code" in model.basis
    candidates = small.kernels
    problem = small.problems[0]
    both = [Selector(one, candidates, forward_with_runs).rank(problem) for one in (measured, model)]
    # fitted to the same times, they differ in nothing but their intervals
    for narrow, wide in zip(*both, strict=True):
        assert (narrow.kernel, narrow.time_us) == (wide.kernel, pytest.approx(wide.time_us))
        # the upper end of the first one allows for its having been chosen, too
        expected = hypot(log(narrow.time_us / narrow.low_us), half)
        assert wide.low_us == pytest.approx(wide.time_us / min(exp(expected), exp(2.303)))


def test_a_search_trusts_predictions_less_than_measurements(small):
    model = fitted(small)
    space = replay_space(small)

    def amplitude(model):
        return prior_of(space, forward_with_runs, 2, model, 256)[2]

    assert amplitude(model) == 1.0
    assert amplitude(replace(model, predicted_half=0.1)) == pytest.approx(0.1 / 1.96 / 0.03, rel=1e-3)
    assert amplitude(replace(model, predicted_half=0.5)) == amplitude(None) == UNTRAINED
