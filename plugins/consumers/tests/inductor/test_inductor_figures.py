"""How good the first candidates are, on published times."""

from itertools import combinations
from statistics import fmean

import pytest

from plugins.consumers.tests.inductor import figures
from plugins.tuning.tests.time_model.conftest import fitted


def test_drawing_is_the_mean_over_all_draws():
    times = [3.0, 1.0, 2.5, 7.0]
    for count in (1, 2, 3, 4, 9):
        drawn = [min(times) / min(one) for one in combinations(times, min(count, 4))]
        assert figures.random_efficiency(times, count) == pytest.approx(fmean(drawn))


def test_what_torch_draws_is_what_is_known_of_the_table():
    table = figures.published("30kernels_even")
    drawn = figures.efficiencies(table, range(len(table.problems)), None)
    rounded = {count: round(100 * value, 1) for count, value in drawn.items()}
    assert (rounded[1], rounded[4], rounded[8], rounded[16]) == (70.1, 87.6, 94.0, 98.2)


@pytest.mark.thorough
def test_the_first_candidate_is_nearly_the_best_on_problems_that_were_not_seen():
    learned, table = (figures.published(name) for name in figures.TABLES)
    assert not set(learned.problems) & set(table.problems)
    model, every = fitted(learned), range(len(table.problems))
    assert figures.efficiencies(table, every, figures.by_name(model, table))[1] > 0.98
    narrow = figures._without_fifth(table)
    order = figures.as_operations(model, narrow)
    assert figures.efficiencies(narrow, every, order)[1] > 0.97
