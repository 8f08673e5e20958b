"""Halves of a sweep against each other: no verdict, but for a slowdown that is injected."""

from dataclasses import replace

import pytest

from ckprof.compare.self_test import halves, self_test, slowed
from ckprof.compare.side import side_of
from ckprof.errors import NothingLeftError
from tests.measured import Made, attempts

OLD = Made(seed=1, noise=0.004)


def side(made, label="x.db"):
    return side_of(label, attempts(made))


def test_halves_have_every_pass_once():
    whole = side(OLD)
    first, second = halves(whole, 5)
    for key, row in whole.rows.items():
        assert {**first.rows[key].trials, **second.rows[key].trials} == row.trials
        assert len(first.rows[key].trials) == 1
    assert len({frozenset(next(iter(halves(whole, seed)[0].rows.values())).trials) for seed in range(9)}) > 1


def test_slowing_down_multiplies_the_times():
    whole = side(OLD)
    key = next(iter(whole.rows))
    again = slowed(whole, key, 1.5)
    assert again.rows[key].time_ms == pytest.approx(1.5 * whole.rows[key].time_ms)


@pytest.mark.parametrize("offset", [0.0, 0.02])
def test_a_sweep_against_itself(offset):
    """Processes differ by nothing, or by more than their rounds do."""
    made = replace(OLD, problems=8, instances=25, rounds=24, processes=8, process_noise=offset)
    result = self_test(side(made), range(3), slowdown=1.2 if offset else 1.05)
    assert result.rows == 600
    assert result.false_verdicts == 0
    assert result.passes == (4, 4)
    assert result.found == result.injected == 3


def test_a_sweep_that_cannot_be_halved():
    with pytest.raises(NothingLeftError, match=r"measured in 4 passes: .* --passes 6"):
        self_test(side(OLD), range(2))
