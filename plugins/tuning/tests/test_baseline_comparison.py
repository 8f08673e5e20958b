"""How much of a search's budget the comparison gets."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ckprof_plugins.tuning.baseline_comparison import Budget, comparison_s


def test_a_budget_is_spent_when_its_time_is_over() -> None:
    now = [5.0]
    budget, endless = Budget(10.0, clock=lambda: now[0]), Budget(None)
    assert not budget.spent and not endless.spent
    now[0] = 15.0
    assert budget.spent


@pytest.mark.parametrize(("budget_s", "kept_s"), [(1000.0, 6.0), (16.0, 4.0)])
def test_the_comparison_gets_what_it_takes_but_a_quarter_at_most(budget_s: float, kept_s: float) -> None:
    request = SimpleNamespace(
        options=SimpleNamespace(max_time_s=0.1),
        problems=[SimpleNamespace(problem=number % 4) for number in range(5)],
    )
    options = SimpleNamespace(
        rounds=SimpleNamespace(max_rounds=5), baselines=("a",), search=SimpleNamespace(budget_s=budget_s)
    )
    assert comparison_s(request, options) == pytest.approx(kept_s)
