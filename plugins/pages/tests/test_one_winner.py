"""A report and a run of the same measurements name the same winner, time and ties."""

from hypothesis import given, settings

from ckprof.compare.side import side_of
from ckprof.model.ranking import Order, ranking
from ckprof_plugins.pages.content import best_rows
from ckprof_plugins.pages.options import ReportOptions
from tests.compare.test_one_winner import measured, outcomes_of


@settings(max_examples=60, deadline=None)
@given(attempts=measured())
def test_the_same_measurements_name_the_same_winner(attempts):
    rows = best_rows(side_of("x", attempts), ReportOptions())
    outcomes = outcomes_of(attempts)
    ranked = ranking(outcomes, {one.key: number for number, one in enumerate(outcomes)})
    if ranked[0].rank is None:
        assert rows == []
        return
    (row,) = rows
    assert row.best.key.instance == ranked[0].outcome.key
    first = [one.outcome.key for one in ranked if one.rank == 1]
    assert row.standing.first == len(first)
    assert (row.standing.order in (Order.TIE, Order.OPEN)) == (len(first) > 1)
