"""The test of a comparison: halves of one side must not differ, an injected change must show."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ckprof.compare.compare import DEFAULT_POLICY, compare
from ckprof.compare.side import Side, with_rounds
from ckprof.statistics.change import ENOUGH_ROUNDS, ChangePolicy
from ckprof.statistics.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.compare.side import Row, RowKey

#: verdicts that no half may have against the other
_FALSE: Final = (Verdict.FASTER, Verdict.SLOWER)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """What came of comparing halves of one side."""

    #: rows that were judged, over all seeds
    rows: int
    #: rows that were called faster or slower
    false_verdicts: int
    #: seeds whose injected slowdown was found, and how many there were
    found: int
    injected: int
    #: least and largest number of rounds of a half
    rounds: tuple[int, int]


def halves(side: Side, seed: int) -> tuple[Side, Side]:
    """Split every row's rounds into two random halves; rows with fewer than two rounds are left out.

    Rounds of one place (session and number) go to the same half for all rows.
    """
    generator = random.Random(seed)  # noqa: S311 - a split, no secret
    orders: dict[tuple[str, int], float] = {}
    parts: tuple[dict[RowKey, Row], dict[RowKey, Row]] = ({}, {})
    for key, row in side.rows.items():
        if len(row.rounds) < 2:
            continue
        drawn = [
            orders.setdefault(one.place or ("", index), generator.random())
            for index, one in enumerate(row.rounds)
        ]
        shuffled = [row.rounds[index] for index in sorted(range(len(drawn)), key=drawn.__getitem__)]
        middle = len(shuffled) // 2
        for part, rounds in zip(parts, (shuffled[:middle], shuffled[middle : 2 * middle]), strict=True):
            part[key] = with_rounds(row, sorted(rounds, key=lambda one: one.started))
    first, second = (
        Side(label=f"{side.label} ({name} half)", rows=part, sessions=side.sessions)
        for name, part in zip(("one", "other"), parts, strict=True)
    )
    return first, second


def slowed(side: Side, key: RowKey, factor: float) -> Side:
    """Return the side with one row whose times are multiplied."""
    row = side.rows[key]
    rounds = [replace(one, median_ms=one.median_ms * factor) for one in row.rounds]
    return Side(label=side.label, rows={**side.rows, key: with_rounds(row, rounds)}, sessions=side.sessions)


def self_test(
    side: Side, seeds: Sequence[int], policy: ChangePolicy = DEFAULT_POLICY, slowdown: float = 1.05
) -> SelfTest:
    """Compare halves of a side for each seed, as they are and with one row slowed down.

    The row is another one for each seed, among those with enough rounds.
    """
    rows = false_verdicts = found = injected = 0
    sizes: list[int] = []
    for seed in seeds:
        first, second = halves(side, seed)
        verdicts = compare(first, second, policy).verdicts
        rows += sum(verdicts.values())
        false_verdicts += sum(verdicts[verdict] for verdict in _FALSE)
        sizes += [len(row.rounds) for row in first.rows.values()]
        eligible = [key for key, row in first.rows.items() if len(row.rounds) >= ENOUGH_ROUNDS]
        if eligible:
            key = eligible[seed % len(eligible)]
            again = compare(first, slowed(second, key, slowdown), policy)
            injected += 1
            found += any(row.key == key for row in again.with_verdict(Verdict.SLOWER))
    return SelfTest(
        rows=rows,
        false_verdicts=false_verdicts,
        found=found,
        injected=injected,
        rounds=(min(sizes, default=0), max(sizes, default=0)),
    )
