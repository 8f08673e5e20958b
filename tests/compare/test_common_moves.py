"""What rows have in common is no change of theirs: made-up sides, and sweeps of an H200."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ckprof.compare.change import (
    Change,
    Verdict,
    estimate_changes,
    judge,
)
from ckprof.compare.common_moves import common_shift, placed_moves, problem_moves, without_process_effects
from ckprof.compare.options import ChangePolicy
from ckprof.compare.row_times import RowTimes
from tests.compare.noise import (
    FALSE,
    KINDS,
    Array,
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


@pytest.mark.parametrize(("beside", "alike", "shared"), [(2.5, 60, True), (-1.5, 60, True), (2.5, 58, False)])
def test_a_shift_is_shared_by_four_of_five_rows(beside: float, alike: int, shared: bool) -> None:
    """Half of 200 rows fill a length of 1, some are beside it within three sigmas, the others far off.

    That length has a standard deviation of 0.5 / 0.6745: three of them reach from -1.72 to 2.72.
    """
    far = 100 - alike
    rows = [*np.linspace(0, 1, 100), *[beside] * alike, *[-100.0] * (far // 2), *[100.0] * (far - far // 2)]
    found = common_shift((np.array(rows) + 20) / 1000, np.full(200, 1e-12), ChangePolicy())
    assert found is not None
    assert (found.shared, found.removed) == (shared, shared)
    assert found.log_ratio == pytest.approx((np.median(rows) + 20) / 1000)


def test_limits_of_shifts() -> None:
    still, policy = np.full(10, 1e-6), ChangePolicy(max_shift=0.25)
    assert common_shift(np.full(9, 0.1), still[:9], policy) is None
    for ratio, removed in ((1.249, True), (1.251, False)):
        found = common_shift(np.full(10, math.log(ratio)), still, policy)
        assert found is not None and found.shared and found.removed is removed
        assert found.ratio == pytest.approx(ratio)
    none = common_shift(np.zeros(10), still, policy)
    assert none is not None and not none.shared


def rows_of(problems: dict[str, list[float]], processes: int = 1) -> tuple[list[RowTimes], Array]:
    """Return rows by what each changed by."""
    sides = {str(number): [0.0] for number in range(processes)}
    rows = [RowTimes(old=sides, new=sides, problem=name) for name, own in problems.items() for _ in own]
    return rows, np.array([value for own in problems.values() for value in own])


NEAR = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])
#: of the middle one of five rows: the median of their distances from it is 0.01
ERROR = 1.25 * (0.01 / 0.6745) / math.sqrt(5)


def test_moves_of_problems_beside_what_the_others_moved_by() -> None:
    sizes = {"a": 0.3, "b": -0.3, "c": 4.5, "d": 3.4 * ERROR, "e": 3.6 * ERROR}
    rows, changes = rows_of({**{name: [*(size + NEAR)] for name, size in sizes.items()}, "few": [0.4] * 4})
    moves, spread = problem_moves(rows, changes, np.full(len(rows), 1e-8), np.ones(len(rows), dtype=bool))
    # four others do not say that 4.5 is too much; 3.4 errors may be chance; four rows are too few
    assert math.sqrt(0.09 * 2 / 4) * stats.t(4).ppf(1 - 1e-5) > 4.5
    expected = {name: (0.0 if name == "d" else size, 0.0) for name, size in sizes.items()}
    expected["few"] = (0.0, sum(size**2 - ERROR**2 for size in sizes.values()) / 5)
    for row, move, square in zip(rows, moves, spread, strict=True):
        assert (move, square) == pytest.approx(expected[row.problem]), row.problem


@pytest.mark.parametrize(("errors", "usual"), [(1.75, 0.0), (1.78, 1.78**2 - 1)])
def test_moves_that_errors_explain_are_none(errors: float, usual: float) -> None:
    """Of four problems the mean square is at most 1 + 3 * sqrt(2 / 4), the square of 1.767, times theirs."""
    problems = {name: [*(errors * ERROR + NEAR)] for name in "abcd"}
    rows, changes = rows_of({**problems, "few": [0.0] * 4})
    _, spread = problem_moves(rows, changes, np.full(24, 1e-8), np.ones(24, dtype=bool))
    assert spread[-1] == pytest.approx(usual * ERROR**2)


def test_a_problem_that_moved_more_than_others_make_likely_is_a_change() -> None:
    quiet = {name: [*(size + NEAR / 2000)] for name, size in (("a", 0.001), ("b", -0.001), ("c", 0.001))}
    assert 0.001 * stats.t(3).ppf(1 - 1e-5) < math.log(1.08)
    usual = 0.001**2 - (ERROR / 2000) ** 2
    for size, moved in ((0.0769, True), (0.077, False)):
        rows, changes = rows_of({**quiet, "x": [*(size + NEAR / 2000)]})
        moves, spread = problem_moves(rows, changes, np.full(20, 1e-8), np.ones(20, dtype=bool))
        assert moves[-1] == pytest.approx(size if moved else 0)
        assert spread[-1] == pytest.approx(0.0 if moved else usual, rel=1e-8)
    moves, _ = problem_moves(rows, changes, np.full(20, 1e-8), np.zeros(20, dtype=bool))
    assert not moves.any(), "rows with several processes are not these"
    rows, changes = rows_of({"alone": [0.08] * 5})
    moves, spread = problem_moves(rows, changes, np.full(5, 1e-8), np.ones(5, dtype=bool))
    assert not moves.any() and not spread.any(), "nothing says what is usual"


def test_moves_of_problems_with_several_processes_as_far_as_these_make_them_likely() -> None:
    """Two processes on each side: the variance of the difference of two means is twice half of one's."""
    limit = stats.t(20).ppf(1 - 1e-5) * 0.01
    for count, size, placement, moved in (
        (10, 0.99 * limit, 1e-4, True),
        (10, 1.01 * limit, 1e-4, False),
        (9, 0.99 * limit, 1e-4, False),
        (10, 0.99 * limit, 0.0, False),
    ):
        rows, changes = rows_of({"x": [-size] * count}, processes=2)
        moves = placed_moves(rows, changes, np.ones(count, dtype=bool), placement, 20)
        assert moves.tolist() == [-size if moved else 0.0] * count


@pytest.mark.parametrize(("problems", "each", "told"), [(3, 4, True), (2, 5, False), (3, 3, False)])
def test_what_a_process_does_to_all_rows_is_taken_out(problems: int, each: int, told: bool) -> None:
    """Of ten rows and three problems at least; the mean of the processes stays."""
    rows = [
        RowTimes(old={"p": [0.1, 0.1], "q": [-0.1]}, new={"r": [0.3]}, problem=number % problems)
        for number in range(problems * each)
    ]
    times, placement, _ = without_process_effects(rows)
    expected = {"p": [0.0, 0.0], "q": [0.0]} if told else {"p": [0.1, 0.1], "q": [-0.1]}
    for row in times:
        assert row.old == {name: pytest.approx(own) for name, own in expected.items()}
        assert row.new == {"r": [0.3]}
    assert placement == 0.0


def test_what_a_process_does_to_rows_of_a_problem_is_taken_out_and_told() -> None:
    """Ten rows in each of four problems, which move by 10 % either way: by nothing over all of them."""
    near = [*NEAR, *NEAR]
    rows = [
        RowTimes(old={"p": [move + one], "q": [-move - one]}, new={"r": [0.0]}, problem=problem)
        for problem, move in enumerate((0.1, -0.1, 0.1, -0.1))
        for one in near
    ]
    times, placement, freedom = without_process_effects(rows)
    # two processes and four problems: a difference in each; its error is that of ten rows
    assert freedom == 4
    assert placement == pytest.approx(8 * 0.1**2 / 4 - ERROR**2 / 2)
    for row, one in zip(times, near * 4, strict=True):
        assert row.old == {"p": [pytest.approx(one)], "q": [pytest.approx(-one)]}
