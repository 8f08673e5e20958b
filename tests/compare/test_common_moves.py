"""What rows have in common is no change of theirs: made-up sides, and sweeps of an H200."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from ckprof.compare.change import (
    Change,
    Verdict,
    estimate_changes,
    judge,
)
from ckprof.compare.options import ChangePolicy
from ckprof.compare.row_times import RowTimes
from tests.compare.noise import (
    FALSE,
    KINDS,
    Shape,
    judged,
    row_times,
    side,
    verdicts,
    without_change,
)

TABLE = Path(__file__).parents[1] / "data" / "measured" / "h200_three_sweeps.csv"
POLICY = ChangePolicy()
INDEPENDENT = KINDS["independent"]

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


def verdicts_of(old: tuple[str, ...], new: tuple[str, ...], slower: dict[int, float]) -> list[Verdict]:
    return [change.verdict for change in judge(changes_of(old, new, slower), POLICY)]


@pytest.mark.parametrize(("old", "new"), SIDES)
def test_nothing_changed(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    changes = changes_of(old, new, {})
    got = [change.verdict for change in judge(changes, POLICY)]
    assert {Verdict.FASTER, Verdict.SLOWER}.isdisjoint(got)
    assert got.count(Verdict.SAME) > 0.3 * len(got)
    assert 0.93 < np.mean([row.low < 0 < row.high for row in changes]) <= 1


@pytest.mark.parametrize(("old", "new"), SIDES[:3])
def test_what_becomes_slower_is_found(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    """Of these kernels, half take less than 15 us and vary by more than 1 % from sweep to sweep."""
    slower = {number: 1.15 for number in range(0, len(ROWS), 50)}
    got = verdicts_of(old, new, slower)
    found = [got[number] is Verdict.SLOWER for number in slower]
    assert np.mean(found) > 0.85
    assert got.count(Verdict.SLOWER) + got.count(Verdict.FASTER) == sum(found)


@pytest.mark.parametrize(("old", "new"), SIDES)
def test_every_time_doubled(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    got = verdicts_of(old, new, dict.fromkeys(range(len(ROWS)), 2.0))
    assert set(got) == {Verdict.SLOWER}


@pytest.mark.parametrize(("processes", "rounds"), [(4, 3), (3, 1)])
def test_what_a_problem_has_in_common_in_a_process_is_no_change(processes: int, rounds: int) -> None:
    """It may be much more than the noise of rows, and is the same error in all of them."""
    shape = Shape(processes=processes, rounds=rounds)
    figures = without_change(KINDS["3 % per problem and process"], shape, 6, sigma=0.004)
    assert figures.false <= 0.001
    assert figures.same > 0.9
    assert figures.found == 1


@pytest.mark.parametrize(
    ("kind", "factor", "least"),
    [
        ("independent", 1.05, 0.95),
        ("3 % per problem and process", 1.2, 0.95),
        ("3 % per problem and process", 1.03, 0),
    ],
)
def test_a_change_of_a_whole_problem_is_one_if_processes_do_not_explain_it(
    kind: str, factor: float, least: float
) -> None:
    shape = Shape(processes=3, rounds=1)
    generator = np.random.default_rng(11)
    old, new = (side(generator, shape, KINDS[kind], 0.004) for _ in range(2))
    changed = shape.problem == 3
    new[changed] += math.log(factor)
    got = verdicts(old, new, shape)
    slower = [verdict is Verdict.SLOWER for verdict, moved in zip(got, changed, strict=True) if moved]
    others = [verdict for verdict, moved in zip(got, changed, strict=True) if not moved]
    assert sum(slower) >= least * len(slower)
    assert least or not any(slower)
    assert not set(others) & set(FALSE)


def test_a_shift_of_all_rows_is_told_once_and_rows_are_judged_after_it() -> None:
    shape = Shape(processes=4)
    generator = np.random.default_rng(8)
    old, new = (side(generator, shape, INDEPENDENT, 0.005) for _ in range(2))
    new += math.log(1.06)
    new[5] += math.log(1.1)
    changes, shift, _ = estimate_changes(row_times(old, new, shape), POLICY)
    assert shift is not None
    assert shift.removed
    assert shift.ratio == pytest.approx(1.06, rel=0.002)
    got = [change.verdict for change in judge(changes, POLICY)]
    assert got.pop(5) is Verdict.SLOWER
    assert set(got) == {Verdict.SAME}
    kept = judged(row_times(old, new, shape), ChangePolicy(max_shift=0))
    assert {change.verdict for change in kept} == {Verdict.SLOWER}


def test_a_change_of_half_of_the_rows_is_no_shift() -> None:
    shape = Shape(processes=4)
    generator = np.random.default_rng(8)
    old, new = (side(generator, shape, INDEPENDENT, 0.005) for _ in range(2))
    changed = np.arange(shape.rows) % 2 == 0
    new[changed] += math.log(1.08)
    changes, shift, _ = estimate_changes(row_times(old, new, shape), POLICY)
    assert shift is not None
    assert not shift.removed
    got = np.array([change.verdict.value for change in judge(changes, POLICY)])
    assert not set(got[~changed]) & {"slower", "faster"}


def test_a_problem_that_moved_as_a_whole_is_no_change_of_its_kernels() -> None:
    """One of ten problems was 5.5 % faster throughout in another process; one of its kernels is slower."""
    shape = Shape()
    generator = np.random.default_rng(9)
    old, new = (side(generator, shape, INDEPENDENT, 0.003) for _ in range(2))
    new[:30] -= 0.055
    new[4] += math.log(1.2)
    got = verdicts(old, new, shape)
    assert got.pop(4) is Verdict.SLOWER
    assert set(FALSE).isdisjoint(got)
