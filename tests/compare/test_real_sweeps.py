"""Sweeps of an H200 between which nothing changed: no verdict, and intervals that hold."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from ckprof.compare.change import Change, Verdict, estimate_changes, judge
from ckprof.compare.options import ChangePolicy
from ckprof.compare.row_times import RowTimes

TABLE = Path(__file__).parents[1] / "data" / "measured" / "h200_three_sweeps.csv"
POLICY = ChangePolicy()

with TABLE.open() as stream:
    ROWS = list(csv.DictReader(stream))

FIRST, SECOND = (("first",), ("second",))
#: four processes, and their halves
FOUR = ("process1", "process2", "process3", "process4")
SIDES = [(FIRST, SECOND), (FIRST, FOUR), (SECOND, FOUR), (FOUR[:2], FOUR[2:]), (FOUR[::2], FOUR[1::2])]


def processes(row: dict[str, str], names: tuple[str, ...], factor: float = 1.0) -> dict[str, list[float]]:
    return {
        name: [
            math.log(float(value) * factor) for column, value in row.items() if column.startswith(f"{name}_")
        ]
        for name in names
    }


def changes_of(old: tuple[str, ...], new: tuple[str, ...], slower: dict[int, float]) -> list[Change]:
    changes, _, _ = estimate_changes(
        [
            RowTimes(
                old=processes(row, old),
                new=processes(row, new, slower.get(number, 1.0)),
                problem=row["problem"],
            )
            for number, row in enumerate(ROWS)
        ],
        POLICY,
    )
    return changes


def verdicts(changes: list[Change]) -> list[Verdict]:
    return [change.verdict for change in judge(changes, POLICY)]


@pytest.mark.parametrize(("old", "new"), SIDES)
def test_nothing_changed(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    changes = changes_of(old, new, {})
    got = verdicts(changes)
    assert {Verdict.FASTER, Verdict.SLOWER}.isdisjoint(got)
    assert got.count(Verdict.SAME) > 0.3 * len(got)
    assert 0.93 < np.mean([row.low < 0 < row.high for row in changes]) <= 1


@pytest.mark.parametrize(("old", "new"), SIDES[:3])
def test_what_becomes_slower_is_found(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    """Of these kernels, half take less than 15 us and vary by more than 1 % from sweep to sweep."""
    slower = {number: 1.15 for number in range(0, len(ROWS), 50)}
    got = verdicts(changes_of(old, new, slower))
    found = [got[number] is Verdict.SLOWER for number in slower]
    assert np.mean(found) > 0.85
    assert got.count(Verdict.SLOWER) + got.count(Verdict.FASTER) == sum(found)


@pytest.mark.parametrize(("old", "new"), SIDES)
def test_every_time_doubled(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    got = verdicts(changes_of(old, new, dict.fromkeys(range(len(ROWS)), 2.0)))
    assert set(got) == {Verdict.SLOWER}
