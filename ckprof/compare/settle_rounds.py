"""Measuring unclear rows again, both sides interleaved, until they are settled.

Pure logic over times: nothing here runs a kernel.
"""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import geometric_mean
from typing import Final

from ckprof.compare.change import estimate_changes
from ckprof.compare.compare import compare
from ckprof.compare.model import Comparison
from ckprof.compare.options import ENOUGH_PAIRS, ChangePolicy, SettleLimits
from ckprof.compare.process_times import RowTimes
from ckprof.compare.side import SETTLED, ProblemKey, Row, RowKey, Side, with_rounds
from ckprof.compare.verdict import Verdict, judge
from ckprof.measure.round_times import ProcessShares, Timing
from ckprof.measure.rounds import Contest, KernelCell, RoundOptions, Visit
from ckprof.measure.rounds_loop import Bench, KernelGroup, RoundsLoop
from ckprof.model.outcome import RoundTime

#: sides of a comparison, as cells name them
OLD: Final = "old"
NEW: Final = "new"


@dataclass(slots=True)
class _Pairs:
    """The times of one row, in milliseconds: an entry for each pair of processes."""

    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    started: list[float] = field(default_factory=list)

    def add(self, old: Sequence[float], new: Sequence[float], started: float) -> None:
        self.old.append(geometric_mean(old))
        self.new.append(geometric_mean(new))
        self.started.append(started)

    def times(self) -> RowTimes:
        old, new = (
            {str(pair): [math.log(time_ms)] for pair, time_ms in enumerate(side)}
            for side in (self.old, self.new)
        )
        return RowTimes(old=old, new=new, paired=True)

    def rounds(self, times: Sequence[float]) -> Iterator[RoundTime]:
        for number, (median_ms, started) in enumerate(zip(times, self.started, strict=True), start=1):
            yield RoundTime(
                median_ms=median_ms, started=started, place=(SETTLED, number), process=f"{SETTLED}/{number}"
            )


def settle(
    comparison: Comparison,
    sides: tuple[Side, Side],
    keys: Sequence[RowKey],
    bench: Bench,
    limits: SettleLimits,
) -> Comparison:
    """Measure rows again and compare anew, with the new times in place of the old ones.

    :param comparison: whose rows are meant.
    :param sides: what was compared.
    :param keys: the rows to measure, unclear ones that both sides can run.
    :param bench: measures cells of the sides :data:`OLD` and :data:`NEW`.
    """
    measured = _measure_rows(keys, bench, comparison.policy, limits)
    old, new = sides
    return compare(
        _replaced(old, {key: list(pairs.rounds(pairs.old)) for key, pairs in measured.items()}),
        _replaced(new, {key: list(pairs.rounds(pairs.new)) for key, pairs in measured.items()}),
        comparison.policy,
        settled=len(measured),
    )


def _replaced(side: Side, rounds: dict[RowKey, list[RoundTime]]) -> Side:
    rows: dict[RowKey, Row] = dict(side.rows)
    for key, times in rounds.items():
        rows[key] = with_rounds(rows[key], times)
    return Side(label=side.label, rows=rows, sessions=side.sessions)


def _measure_rows(
    keys: Sequence[RowKey], bench: Bench, policy: ChangePolicy, limits: SettleLimits
) -> dict[RowKey, _Pairs]:
    """Return the rounds of each row that worked on both sides in every round."""
    groups: dict[ProblemKey, list[RowKey]] = defaultdict(list)
    for key in keys:
        groups[key.problem].append(key)
    pairs: dict[RowKey, _Pairs] = {}
    loop = RoundsLoop(bench=bench)
    one_each = ProcessShares(processes=limits.max_rounds, rounds=limits.max_rounds)
    for index, (problem, group) in enumerate(groups.items()):
        rounds = PairRounds(group, policy, replace(limits, seed=limits.seed + index))
        measured = KernelGroup(
            problem=problem.problem, problem_index=index, kernels={}, contest=rounds, shares=one_each
        )
        for _ in loop.run(measured):
            pass
        pairs |= rounds.pairs
    return pairs


class PairRounds(Contest[KernelCell]):
    """Rounds of rows of one problem, each in new processes: a row's sides are measured in the order ABBA.

    :param keys: the rows.
    :param policy: says when a row is settled, after which it leaves.
    """

    def __init__(self, keys: Sequence[RowKey], policy: ChangePolicy, limits: SettleLimits) -> None:
        cells = [KernelCell(key.instance, key.split_k, side) for key in keys for side in (OLD, NEW)]
        super().__init__(cells, RoundOptions(max_rounds=limits.max_rounds))
        self._policy = policy
        self._limits = limits
        self._latest: Timing | None = None
        #: of each row that worked on both sides so far
        self.pairs = {key: _Pairs() for key in keys}

    def record(self, visit: Visit[KernelCell], timing: Timing | None) -> None:
        """Note what a visit gave."""
        self._latest = timing

    def visits(self) -> Iterator[Visit[KernelCell]]:
        """Yield the visits of all rounds that are needed."""
        chance = random.Random(self._limits.seed)  # noqa: S311 - an order, no secret
        active = set(self.pairs)
        for number in range(1, self._limits.max_rounds + 1):
            order = [key for key in self.pairs if key in active]
            chance.shuffle(order)
            for position, key in enumerate(order):
                # what drifts steadily moves the outer two as much as the inner two
                sides = (NEW, OLD, OLD, NEW) if chance.random() < 0.5 else (OLD, NEW, NEW, OLD)
                started = time.time()
                times: dict[str, list[float]] = defaultdict(list)
                for place, side in enumerate(sides):
                    cell = KernelCell(key.instance, key.split_k, side)
                    yield Visit(cell=cell, round=number, order=4 * position + place, reference=False)
                    if self._latest is None:
                        active.discard(key)
                        del self.pairs[key]
                        break
                    times[side].append(self._latest.median_ms)
                else:
                    self.pairs[key].add(times[OLD], times[NEW], started)
            if number >= ENOUGH_PAIRS:
                active -= _settled({key: self.pairs[key] for key in active}, self._policy)
            if not active:
                break


def _settled(pairs: dict[RowKey, _Pairs], policy: ChangePolicy) -> set[RowKey]:
    keys = list(pairs)
    judged = judge(estimate_changes([pairs[key].times() for key in keys], policy).rows, policy)
    return {
        key for key, judgement in zip(keys, judged, strict=True) if judgement.verdict is not Verdict.UNCLEAR
    }
