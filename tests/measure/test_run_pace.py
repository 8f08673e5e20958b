"""How long a run still takes is told from what kernels and baselines have taken."""

from __future__ import annotations

import pytest

from ckprof.measure.run_outcomes import RunPace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_slow_baselines_count_as_often_as_they_are_still_measured() -> None:
    """One kernel and one baseline on each of five problems; a baseline takes a hundred times as long."""
    clock = Clock()
    pace = RunPace(cells=5, baselines=5, clock=clock)
    estimates = []
    for _ in range(5):
        pace.begin()
        clock.now += 0.1
        estimates.append(pace.measured(left=0, unknown=1)[1])
        pace.outcome_known()
        clock.now += 10.0
        pace.baseline_measured()
    # nobody knows at first; then what is left is four baselines and so on
    assert estimates[0] == pytest.approx(4 * 0.1 + 5 * 0.1)
    assert estimates[1:] == pytest.approx([3 * 0.1 + 40, 2 * 0.1 + 30, 0.1 + 20, 10.0])


def test_without_baselines_only_kernels_count() -> None:
    clock = Clock()
    pace = RunPace(cells=4, clock=clock)
    pace.begin()
    clock.now += 2.0
    assert pace.measured(left=0, unknown=1) == (3, pytest.approx(6.0))
