"""Measuring unclear rows again, both sides interleaved, until they are settled.

Pure logic over times: nothing here runs a kernel.
"""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from ckprof.compare.compare import compare
from ckprof.compare.model import Comparison
from ckprof.compare.side import ProblemKey, RoundTime, Row, RowKey, Side, with_rounds
from ckprof.errors import UsageError
from ckprof.statistics.change import ENOUGH_ROUNDS, ChangePolicy, RoundPair, estimate_changes
from ckprof.statistics.verdict import Verdict, judge

#: what the places of settling rounds are named by, in front of the number of the round
PLACE: Final = "settle"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleLimits:
    """When settling ends."""

    #: rounds of a row at most
    max_rounds: int = 20
    #: of the order within rounds
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_rounds < ENOUGH_ROUNDS:
            raise UsageError(f"max_rounds is {self.max_rounds}, expected at least {ENOUGH_ROUNDS}")


class PairBench(Protocol):
    """Where the kernels of both sides are measured."""

    def open_problem(self, problem: ProblemKey) -> None:
        """Prepare a problem on both sides."""

    def measure(self, key: RowKey, *, new: bool) -> float | None:
        """Measure a kernel once and return its time in milliseconds; ``None`` if it failed.

        :param new: of the new side, else of the old one.
        """


@dataclass(slots=True)
class _Pairs:
    """The rounds of one row."""

    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    started: list[float] = field(default_factory=list)

    def pair(self) -> RoundPair:
        return RoundPair(
            old=tuple(map(math.log, self.old)), new=tuple(map(math.log, self.new)), interleaved=True
        )

    def rounds(self, times: Sequence[float]) -> Iterator[RoundTime]:
        for number, (median_ms, started) in enumerate(zip(times, self.started, strict=True), start=1):
            yield RoundTime(median_ms=median_ms, started=started, place=(PLACE, number))


def settle(
    comparison: Comparison,
    sides: tuple[Side, Side],
    keys: Sequence[RowKey],
    bench: PairBench,
    limits: SettleLimits,
) -> Comparison:
    """Measure rows again and compare anew, with the new times in place of the old ones.

    :param comparison: whose rows are meant.
    :param sides: what was compared.
    :param keys: the rows to measure, unclear ones that both sides can run.
    """
    measured = measure_rows(keys, bench, comparison.policy, limits)
    old, new = sides
    return compare(
        _replaced(old, {key: list(one.rounds(one.old)) for key, one in measured.items()}),
        _replaced(new, {key: list(one.rounds(one.new)) for key, one in measured.items()}),
        comparison.policy,
        settled=len(measured),
    )


def _replaced(side: Side, rounds: dict[RowKey, list[RoundTime]]) -> Side:
    rows: dict[RowKey, Row] = dict(side.rows)
    for key, some in rounds.items():
        rows[key] = with_rounds(rows[key], some)
    return Side(label=side.label, rows=rows, sessions=side.sessions)


def measure_rows(
    keys: Sequence[RowKey], bench: PairBench, policy: ChangePolicy, limits: SettleLimits
) -> dict[RowKey, _Pairs]:
    """Return the rounds of each row that worked on both sides in every round."""
    groups: dict[ProblemKey, list[RowKey]] = defaultdict(list)
    for key in keys:
        groups[key.problem].append(key)
    generator = random.Random(limits.seed)  # noqa: S311 - an order, no secret
    found: dict[RowKey, _Pairs] = {}
    for problem, group in groups.items():
        bench.open_problem(problem)
        found |= _measure_problem(group, bench, policy, limits, generator)
    return found


def _measure_problem(
    keys: Sequence[RowKey],
    bench: PairBench,
    policy: ChangePolicy,
    limits: SettleLimits,
    generator: random.Random,
) -> dict[RowKey, _Pairs]:
    pairs = {key: _Pairs() for key in keys}
    active = set(keys)
    for number in range(1, limits.max_rounds + 1):
        order = [key for key in keys if key in active]
        generator.shuffle(order)
        for key in order:
            if not _measure_pair(key, pairs[key], bench, new_first=generator.random() < 0.5):
                active.discard(key)
                del pairs[key]
        if number >= ENOUGH_ROUNDS:
            active -= _settled({key: pairs[key] for key in active}, policy)
        if not active:
            break
    return pairs


def _measure_pair(key: RowKey, pairs: _Pairs, bench: PairBench, *, new_first: bool) -> bool:
    """Measure both sides one right after the other; say whether both worked."""
    started = time.time()
    times: dict[bool, float] = {}
    for new in (new_first, not new_first):
        measured = bench.measure(key, new=new)
        if measured is None or measured <= 0:
            return False
        times[new] = measured
    pairs.old.append(times[False])
    pairs.new.append(times[True])
    pairs.started.append(started)
    return True


def _settled(pairs: dict[RowKey, _Pairs], policy: ChangePolicy) -> set[RowKey]:
    keys = list(pairs)
    changes = estimate_changes([pairs[key].pair() for key in keys], policy)
    judged = judge(changes, policy)
    return {key for key, one in zip(keys, judged, strict=True) if one.verdict is not Verdict.UNCLEAR}
