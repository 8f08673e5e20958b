"""What the rounds, or the processes, of each row say of its change and of the error of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.compare.process_times import RowTimes, location, of_processes, of_rounds
from ckprof.compare.variances import SIGMAS, Errors, posteriors

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from ckprof.compare.options import ChangePolicy
    from ckprof.compare.process_times import Evidence
    from ckprof.compare.variances import Array

#: how often a round is disturbed: what a single round cannot show
_DISTURBED_SHARE: Final = 0.05
#: a side is this much noisier than the other at most, as a factor of standard deviations
_MOST_NOISIER: Final = 20.0
#: rows that must say so
_FEWEST_ROWS: Final = 3


@dataclass(frozen=True, slots=True)
class RowEvidence:
    """One row, summed up."""

    log_ratio: float
    #: old and new; the differences of both alone where they ran beside each other
    sides: tuple[Evidence, ...]
    #: each side has one process: what varies are its rounds
    single: bool
    processes: int
    rounds: int
    problem: Hashable
    #: shares of errors of the old and the new side that a disturbed round makes, unseen by the variance
    disturbed: tuple[float, float] = (0.0, 0.0)


def row_evidence(row: RowTimes) -> RowEvidence:
    """Sum up a row."""
    old, new = (list(side.values()) for side in (row.old, row.new))
    disturbed = (0.0, 0.0)
    sides: tuple[Evidence, ...]
    single = not row.paired and len(old) == len(new) == 1
    if row.paired:
        shared = [process for process in row.old if process in row.new]
        sides = (of_processes([location(row.new[one]) - location(row.old[one]) for one in shared]),)
    elif single:
        sides = (of_rounds(old[0]), of_rounds(new[0]))
        disturbed = (_disturbed(old[0]), _disturbed(new[0]))
    else:
        sides = (of_processes([*map(location, old)]), of_processes([*map(location, new)]))
    return RowEvidence(
        log_ratio=sides[-1].location - (0.0 if row.paired else sides[0].location),
        sides=sides,
        single=single,
        processes=min(len(old), len(new)),
        rounds=min(sum(map(len, old)), sum(map(len, new))),
        problem=row.problem,
        disturbed=disturbed,
    )


def _disturbed(rounds: Sequence[float]) -> float:
    """Return how likely disturbed rounds are all that a process has: more than two would differ."""
    return float(_DISTURBED_SHARE ** len(rounds)) if len(rounds) < 3 else 0.0


def row_errors(rows: Sequence[RowEvidence], policy: ChangePolicy) -> Errors:
    """Return what the rounds, or the processes, of each row say of its error.

    A row has one variance on both sides, but for a factor that all rows share: days are busy or quiet.
    """
    weights = np.zeros((len(rows), len(SIGMAS)))
    variances = np.zeros((len(rows), len(SIGMAS)))
    single = np.array([row.single for row in rows])
    paired = np.array([len(row.sides) == 1 for row in rows])
    for group, assumed in (
        (single, policy.round_noise),
        (~single & ~paired, policy.process_noise),
        (paired, policy.process_noise),
    ):
        places = np.flatnonzero(group)
        if not len(places):
            continue
        squares, freedom, weight = (
            np.array([[getattr(side, name) for side in rows[place].sides] for place in places.tolist()])
            for name in ("squares", "freedom", "weight")
        )
        factors = _factors(squares, freedom)
        total = freedom.sum(axis=1)
        pooled = (freedom * squares / factors).sum(axis=1) / np.maximum(total, 1e-9)
        problems = [rows[place].problem for place in places.tolist()]
        weights[places] = posteriors(pooled, total, _independent(problems, pooled, total), assumed)
        variances[places] = (weight * factors).sum(axis=1)[:, None] * SIGMAS**2
    return Errors.mixture(weights, variances)


def _independent(problems: Sequence[Hashable], squares: Array, freedom: Array) -> Array:
    """Return how much each row counts: rows of a problem may share what disturbs them, and their variances.

    It is one over the design effect (Kish, 1965) of the correlation of the variances within problems.
    """
    numbers = {problem: number for number, problem in enumerate(dict.fromkeys(problems))}
    group = np.array([numbers[problem] for problem in problems])
    sizes = np.bincount(group).astype(float)
    telling = (freedom > 0) & (squares > 0)
    logs, of_logs = np.log(squares[telling]), group[telling]
    counts = np.bincount(of_logs, minlength=len(sizes))
    groups, count = int((counts > 0).sum()), len(logs)
    if groups < 2 or count <= groups:
        return np.ones(len(group)) if groups < 2 else 1 / sizes[group]
    means = np.bincount(of_logs, logs, len(sizes)) / np.maximum(counts, 1)
    within = float(((logs - means[of_logs]) ** 2).sum()) / (count - groups)
    between = float((counts * (means - logs.mean()) ** 2).sum()) / (groups - 1)
    mean_size = count / groups
    correlation = max(0.0, (between - within) / (between + (mean_size - 1) * within))
    result: Array = 1 / (1 + (sizes[group] - 1) * correlation)
    return result


def _factors(squares: Array, freedom: Array) -> Array:
    """Return what the variances of each side are, relative to those of the first: (sides,)."""
    if squares.shape[1] == 1:
        return np.ones(1)
    telling = squares[(freedom > 0).all(axis=1) & (squares > 0).all(axis=1)]
    if len(telling) < _FEWEST_ROWS:
        return np.ones(2)
    ratio = float(np.exp(np.median(np.log(telling[:, 1] / telling[:, 0]))))
    return np.array([1.0, min(max(ratio, _MOST_NOISIER**-2), _MOST_NOISIER**2)])
