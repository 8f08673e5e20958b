"""The comparison of two sides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ckprof.compare.model import ComparedProblem, ComparedRow, Comparison, GeometricMean
from ckprof.compare.what_changed import what_changed
from ckprof.statistics.change import ENOUGH_ROUNDS, ChangePolicy, RoundPair, estimate_changes
from ckprof.statistics.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.compare.side import Row, Side

DEFAULT_POLICY: Final = ChangePolicy()


def compare(old: Side, new: Side, policy: ChangePolicy = DEFAULT_POLICY, settled: int = 0) -> Comparison:
    """Match the rows of two sides by operation, problem, instance and splits, and judge each of them.

    :param settled: rows whose times were measured again for this comparison, which is only reported.
    """
    matched = [(row, new.rows[key]) for key, row in old.rows.items() if key in new.rows]
    timed = [index for index, (before, after) in enumerate(matched) if before.ranked and after.ranked]
    changes = estimate_changes([round_pair(*matched[index]) for index in timed], policy)
    judgements = dict(zip(timed, judge(changes, policy), strict=True))
    problems = tuple(_compared_problems(old, new))
    return Comparison(
        old_label=old.label,
        new_label=new.label,
        policy=policy,
        rows=tuple(
            ComparedRow(key=before.key, old=before, new=after, judgement=judgements.get(index))
            for index, (before, after) in enumerate(matched)
        ),
        problems=problems,
        geometric_mean=_geometric_mean(problems, policy),
        what_changed=what_changed(matched, old, new),
        only_old=tuple(row for key, row in old.rows.items() if key not in new.rows),
        only_new=tuple(row for key, row in new.rows.items() if key not in old.rows),
        settled=settled,
        superseded=sum(row.superseded for side in (old, new) for row in side.rows.values()),
    )


def round_pair(old: Row, new: Row) -> RoundPair:
    """Return the rounds of both sides, as pairs where both ran beside each other in enough rounds."""
    before = {one.place: one for one in old.rounds if one.place}
    after = {one.place: one for one in new.rounds if one.place}
    shared = [place for place in before if place in after]
    if len(shared) >= ENOUGH_ROUNDS:
        return RoundPair(
            old=tuple(math.log(before[place].median_ms) for place in shared),
            new=tuple(math.log(after[place].median_ms) for place in shared),
            interleaved=True,
        )
    return RoundPair(old=old.logs, new=new.logs)


def _compared_problems(old: Side, new: Side) -> Iterator[ComparedProblem]:
    for key in old.by_problem:
        before, after = old.best(key), new.best(key)
        if before is None or after is None:
            continue
        now = new.rows.get(before.key)
        yield ComparedProblem(
            key=key,
            old=before,
            new=after,
            ratio=after.mean_ms / before.mean_ms,
            changed=before.key != after.key,
            old_best_now=now.mean_ms / after.mean_ms if now and now.ranked else None,
        )


def _geometric_mean(problems: Sequence[ComparedProblem], policy: ChangePolicy) -> GeometricMean | None:
    """Return the mean with a bootstrap interval over problems."""
    if not problems:
        return None
    import numpy as np

    logs = np.log([problem.ratio for problem in problems])
    generator = np.random.default_rng([policy.seed, len(logs)])
    drawn = logs[generator.integers(0, len(logs), (policy.resamples, len(logs)))].mean(axis=1)
    tail = (1 - policy.confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return GeometricMean(
        ratio=float(np.exp(logs.mean())),
        low=float(np.exp(low)),
        high=float(np.exp(high)),
        problems=len(problems),
    )
