"""What rows change by together: all of them, those of one process, those of one problem.

Clocks and loads do that, and operands that lie elsewhere; a change of the code of one kernel does not.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ckprof.compare.row_times import ENOUGH_ROWS, MEDIAN_ABSOLUTE, location
from ckprof.model.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.compare.options import ChangePolicy
    from ckprof.compare.row_times import Array, RowTimes

#: what some rows moved by alike, and its standard error
_Move: TypeAlias = tuple[float, float]

#: share of the rows that must have moved alike, and how alike: in sigmas
_SHARED: Final = 0.8
_ALIKE: Final = 3.0
#: rows from which on the densest half of them says where most are
_MANY: Final = 20
#: standard errors that a common move must exceed
_BY_CHANCE: Final = 3.5
#: of a problem's rows with one process a side: how many there are at least for them to move together, and by
#: how much operands in another place moved all kernels of a problem at most (one H200: 5 to 6 %), or what is
#: as likely as that by what the other problems moved by
_PROBLEM_ROWS: Final = 5
#: of a problem's rows with several processes: how many say what they share in one of them
_PLACED_ROWS: Final = 10
_PLACEMENT: Final = math.log(1.08)
_PLACEMENT_CHANCE: Final = 1e-5
#: problems that a process ran, from which on it says what all of them share
_ENOUGH_PROBLEMS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """What the middle one of all rows changed by."""

    log_ratio: float
    #: nearly all rows moved by it, and not by chance
    shared: bool
    #: it is shared, and no more than machines do: rows are judged after it
    removed: bool

    @property
    def ratio(self) -> float:
        """New time / old time."""
        return math.exp(self.log_ratio)


def without_process_effects(times: Sequence[RowTimes]) -> tuple[Sequence[RowTimes], float, int]:
    """Take out what all rows of one process share, or all rows of a problem in it, beside those of its side.

    It is no part of what a row's own processes vary by. Processes that ran few problems say nothing of what
    all of them share, problems with few rows nothing of themselves, nor do those whose rows move by chance.

    :returns: what is left; the variance of what processes differ by in all rows of one problem, 0 where
        nothing shows it; and the differences of processes that show it.
    """
    effects = [_process_effects(list(_beside(times, side))) for side in ("old", "new")]
    times = _without(times, [{(process, None): size for process, size in some.items()} for some in effects])
    moves = [_placements(list(_beside(times, side))) for side in ("old", "new")]
    both = [move for some in moves for move in some.values()]
    freedom = sum(len(some) - len({problem for _, problem in some}) for some in moves)
    if not freedom:
        return times, 0.0, 0
    placement = _usual_move(
        math.fsum(size**2 for size, _ in both) / freedom,
        math.fsum(error**2 for _, error in both) / len(both),
        freedom,
    )
    if placement:
        times = _without(times, [{key: size for key, (size, _) in some.items()} for some in moves])
    return times, placement, freedom


def _beside(times: Sequence[RowTimes], side: str) -> Iterator[tuple[str, Hashable, float]]:
    """Yield process and problem of what each process of a row differs by from the middle of its side."""
    for row in times:
        processes: Mapping[str, Sequence[float]] = getattr(row, side)
        if row.paired or len(processes) < 2:
            continue
        locations = {process: location(rounds) for process, rounds in processes.items()}
        middle = sum(locations.values()) / len(locations)
        for process, own in locations.items():
            yield process, row.problem, own - middle


def _process_effects(beside: Sequence[tuple[str, Hashable, float]]) -> dict[str, float]:
    values: dict[str, list[float]] = defaultdict(list)
    problems: dict[str, set[Hashable]] = defaultdict(set)
    for process, problem, value in beside:
        values[process].append(value)
        problems[process].add(problem)
    return {
        process: float(np.median(some))
        for process, some in values.items()
        if len(some) >= ENOUGH_ROWS and len(problems[process]) >= _ENOUGH_PROBLEMS
    }


def _placements(beside: Sequence[tuple[str, Hashable, float]]) -> dict[tuple[str, Hashable], _Move]:
    values: dict[tuple[str, Hashable], list[float]] = defaultdict(list)
    for process, problem, value in beside:
        values[process, problem].append(value)
    moves = {}
    for key, some in values.items():
        if len(some) >= _PLACED_ROWS:
            own = np.array(some)
            middle = float(np.median(own))
            moves[key] = (middle, 1.25 * _scatter(own, middle) / math.sqrt(len(own)))
    return moves


def _without(
    times: Sequence[RowTimes], effects: Sequence[Mapping[tuple[str, Hashable], float]]
) -> Sequence[RowTimes]:
    """Take effects of processes, or of processes on one problem, out of the rows of both sides."""
    if not any(effects):
        return times
    result = []
    for row in times:
        sides = []
        for side, known in zip((row.old, row.new), effects, strict=True):
            moved = {
                process: known.get((process, None), known.get((process, row.problem), 0.0))
                for process in side
            }
            # the mean stays: what both sides differ by is the shift's matter, or the problem's
            middle = sum(moved.values()) / len(moved)
            sides.append(
                {process: [value - moved[process] + middle for value in side[process]] for process in side}
            )
        result.append(row if row.paired else replace(row, old=sides[0], new=sides[1]))
    return result


def _common_move(changes: Array, sigmas: Array) -> _Move | None:
    """Return what some rows moved by; ``None`` if they did not move alike."""
    middle = float(np.median(changes))
    centre, scatter = _densest_half(changes) if len(changes) >= _MANY else (middle, _scatter(changes, middle))
    if np.mean(np.abs(changes - centre) <= _ALIKE * np.maximum(sigmas, scatter)) < _SHARED:
        return None
    return (middle, 1.25 * _scatter(changes, middle) / math.sqrt(len(changes)))


def _is_by_chance(move: _Move) -> bool:
    size, error = move
    return abs(size) <= _BY_CHANCE * error


def _scatter(changes: Array, centre: float) -> float:
    return float(np.median(np.abs(changes - centre))) / MEDIAN_ABSOLUTE


def _densest_half(changes: Array) -> tuple[float, float]:
    """Return centre and standard deviation of the shortest half: where half of the rows moved, either."""
    ordered, count = np.sort(changes), len(changes) // 2
    lengths = ordered[count - 1 :] - ordered[: len(ordered) - count + 1]
    start = int(lengths.argmin())
    length = float(lengths[start])
    return float(ordered[start]) + length / 2, length / 2 / MEDIAN_ABSOLUTE


def common_shift(changes: Array, variances: Array, policy: ChangePolicy) -> Shift | None:
    """Return what all rows changed by; ``None`` with too few rows to tell."""
    if len(changes) < ENOUGH_ROWS:
        return None
    move = _common_move(changes, np.sqrt(variances))
    shared = move is not None and not _is_by_chance(move)
    centre = float(np.median(changes))
    return Shift(
        log_ratio=centre,
        shared=shared,
        removed=shared and abs(centre) <= math.log1p(policy.max_shift),
    )


def problem_moves(
    times: Sequence[RowTimes], beside: Array, variances: Array, single: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return by how much the problem of each row with one process a side moved as a whole.

    :param beside: changes beside what all rows share.
    :param variances: of their errors.
    :returns: what is to be taken out of each row's change, and a variance where a problem's move is larger
        than that or unknown: the mean square of what the other problems moved by.
    """
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index in np.flatnonzero(single).tolist():
        groups[times[index].problem].append(index)
    sigmas = np.sqrt(variances)
    moved: dict[Hashable, _Move] = {}
    for problem, rows in groups.items():
        move = _common_move(beside[rows], sigmas[rows]) if len(rows) >= _PROBLEM_ROWS else None
        if move is not None:
            moved[problem] = move
    moves, spread = np.zeros(len(times)), np.zeros(len(times))
    squares = math.fsum(size**2 for size, _ in moved.values())
    errors = math.fsum(error**2 for _, error in moved.values())
    for problem, rows in groups.items():
        own = moved.get(problem)
        others = len(moved) - (own is not None)
        usual = 0.0
        if others:
            usual = _usual_move(
                (squares - (own[0] ** 2 if own else 0.0)) / others,
                (errors - (own[1] ** 2 if own else 0.0)) / others,
                others,
            )
        reach = math.sqrt(usual) * t_quantile(1 - _PLACEMENT_CHANCE, others) if usual else 0.0
        if own is None or abs(own[0]) > max(_PLACEMENT, reach):
            spread[rows] = usual
        elif not _is_by_chance(own):
            moves[rows] = own[0]
    return moves, spread


def placed_moves(
    times: Sequence[RowTimes], beside: Array, several: NDArray[np.bool_], placement: float, freedom: int
) -> Array:
    """Return by how much the problem of each row with several processes moved as these make likely.

    What processes differ by on a problem says what the means of both sides may: more than that is a change.

    :param beside: changes beside what all rows share.
    :param placement: with ``freedom``, see :func:`without_process_effects`.
    :returns: what is to be taken out of each row's change.
    """
    moves = np.zeros(len(times))
    if not placement:
        return moves
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index in np.flatnonzero(several).tolist():
        groups[times[index].problem].append(index)
    quantile = t_quantile(1 - _PLACEMENT_CHANCE, freedom)
    for rows in groups.values():
        if len(rows) < _PLACED_ROWS:
            continue
        shares = float(np.mean([1 / len(times[row].old) + 1 / len(times[row].new) for row in rows]))
        own = float(np.median(beside[rows]))
        if abs(own) <= quantile * math.sqrt(placement * shares):
            moves[rows] = own
    return moves


def _usual_move(squares: float, errors: float, count: int) -> float:
    """Return the mean square of what problems moved by, beyond what their errors explain."""
    return squares - errors if squares > errors * (1 + 3 * math.sqrt(2 / count)) else 0.0
