"""The test of a comparison: passes of one side must not differ, an injected change must show."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ckprof.compare.change import ENOUGH_VISITS, Verdict
from ckprof.compare.compare import DEFAULT_POLICY, compare
from ckprof.compare.side import Side, with_rounds
from ckprof.errors import NothingLeftError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.compare.options import ChangePolicy
    from ckprof.compare.side import MeasuredRow, RowKey

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
    #: least and largest number of passes of a half
    passes: tuple[int, int]

    @property
    def passed(self) -> bool:
        """False where more than one row in a thousand got a verdict, or most slowdowns were not found."""
        return self.false_verdicts <= self.rows / 1000 and 2 * self.found >= self.injected


def halves(side: Side, seed: int) -> tuple[Side, Side]:
    """Split the passes of a side into two random halves.

    The rounds of a pass go to the same half for all rows as far as each row has halves then. Rows of one pass
    are left out.
    """
    names = sorted({process for row in side.rows.values() for process in row.trials})
    random.Random(seed).shuffle(names)  # noqa: S311 - a split, no secret
    order = {name: place for place, name in enumerate(names)}
    parts: tuple[dict[RowKey, MeasuredRow], dict[RowKey, MeasuredRow]] = ({}, {})
    for key, row in side.rows.items():
        own = sorted(row.trials, key=order.__getitem__)
        middle = len(own) // 2
        if not middle:
            continue
        for part, chosen in zip(parts, (set(own[:middle]), set(own[middle:])), strict=True):
            part[key] = with_rounds(row, [entry for entry in row.rounds if entry.trial in chosen])
    first, second = (
        replace(side, label=f"{side.label} ({name} half)", rows=part)
        for name, part in zip(("one", "other"), parts, strict=True)
    )
    return first, second


def slowed(side: Side, key: RowKey, factor: float) -> Side:
    """Return the side with one row whose times are multiplied."""
    row = side.rows[key]
    rounds = [replace(round_time, time_ms=round_time.time_ms * factor) for round_time in row.rounds]
    return replace(side, rows={**side.rows, key: with_rounds(row, rounds)})


def self_test(
    side: Side, seeds: Sequence[int], policy: ChangePolicy = DEFAULT_POLICY, slowdown: float = 1.05
) -> SelfTest:
    """Compare halves of a side for each seed, as they are and with one row slowed down.

    The row is another one for each seed, among those that can have a verdict.

    :raises NothingLeftError: there are too few passes to halve.
    """
    rows = false_verdicts = found = injected = 0
    sizes: list[int] = []
    for seed in seeds:
        first, second = halves(side, seed)
        verdicts = compare(first, second, policy).verdicts
        rows += sum(verdicts.values())
        false_verdicts += sum(verdicts[verdict] for verdict in _FALSE)
        sizes += [len(row.trials) for row in first.rows.values()]
        eligible = [key for key, row in first.rows.items() if len(row.trials) >= ENOUGH_VISITS]
        if eligible:
            key = eligible[seed % len(eligible)]
            again = compare(first, slowed(second, key, slowdown), policy)
            injected += 1
            found += any(row.key == key for row in again.with_verdict(Verdict.SLOWER))
    if not injected:
        raise NothingLeftError(
            f"no kernel was measured in {2 * ENOUGH_VISITS} passes: halves need {ENOUGH_VISITS} each for a "
            "verdict; measure more, e.g. with 'ckprof sweep --passes 6'"
        )
    return SelfTest(
        rows=rows,
        false_verdicts=false_verdicts,
        found=found,
        injected=injected,
        passes=(min(sizes), max(sizes)),
    )
