from __future__ import annotations

import pytest

from ckprof.measure.round_times import turn_of


@pytest.mark.parametrize(
    ("processes", "rounds", "taken"),
    [
        (4, 12, [3, 3, 3, 3]),
        (4, 10, [3, 2, 3, 2]),
        (2, 5, [3, 2]),
        (3, 3, [1, 1, 1]),
        (1, 4, [4]),
    ],
)
def test_rounds_are_dealt_evenly(processes, rounds, taken):
    shares = processes, rounds
    turns = [turn_of(index, shares) for index in range(rounds)]
    assert [turns.count(number) for number in sorted(set(turns))] == taken
    assert [turn_of(rounds + index, shares) for index in range(rounds)] == turns, "and so it goes on"
