"""The test of a comparison: processes of one side must not differ, an injected change must show."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ckprof.compare.change import ROUNDS_EACH, Verdict
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
    #: least and largest number of processes of a half
    processes: tuple[int, int]

    @property
    def passed(self) -> bool:
        """False where more than one row in a thousand got a verdict, or most slowdowns were not found."""
        return self.false_verdicts <= self.rows / 1000 and 2 * self.found >= self.injected


def halves(side: Side, seed: int) -> tuple[Side, Side]:
    """Split the processes of a side into two random halves.

    The rounds of a process go to the same half for all rows as far as each row has halves then. Rows with one
    process are left out.
    """
    names = sorted({process for row in side.rows.values() for process in row.processes})
    random.Random(seed).shuffle(names)  # noqa: S311 - a split, no secret
    order = {name: place for place, name in enumerate(names)}
    parts: tuple[dict[RowKey, MeasuredRow], dict[RowKey, MeasuredRow]] = ({}, {})
    for key, row in side.rows.items():
        own = sorted(row.processes, key=order.__getitem__)
        middle = len(own) // 2
        if not middle:
            continue
        for part, chosen in zip(parts, (set(own[:middle]), set(own[middle:])), strict=True):
            part[key] = with_rounds(row, [entry for entry in row.rounds if entry.trial in chosen])
    first, second = (
        Side(label=f"{side.label} ({name} half)", rows=part, sessions=side.sessions)
        for name, part in zip(("one", "other"), parts, strict=True)
    )
    return first, second


def slowed(side: Side, key: RowKey, factor: float) -> Side:
    """Return the side with one row whose times are multiplied."""
    row = side.rows[key]
    rounds = [replace(round_time, time_ms=round_time.time_ms * factor) for round_time in row.rounds]
    return Side(label=side.label, rows={**side.rows, key: with_rounds(row, rounds)}, sessions=side.sessions)


def self_test(
    side: Side, seeds: Sequence[int], policy: ChangePolicy = DEFAULT_POLICY, slowdown: float = 1.05
) -> SelfTest:
    """Compare halves of a side for each seed, as they are and with one row slowed down.

    The row is another one for each seed, among those with at least two processes of
    :data:`~ckprof.compare.change.ROUNDS_EACH` rounds in each half.

    :raises NothingLeftError: there are too few processes to halve, or too few rounds to inject anything.
    """
    rows = false_verdicts = found = injected = 0
    sizes: list[int] = []
    for seed in seeds:
        first, second = halves(side, seed)
        verdicts = compare(first, second, policy).verdicts
        rows += sum(verdicts.values())
        false_verdicts += sum(verdicts[verdict] for verdict in _FALSE)
        sizes += [len(row.processes) for row in first.rows.values()]
        eligible = [
            key for key, row in first.rows.items() if _is_enough(row) and _is_enough(second.rows[key])
        ]
        if eligible:
            key = eligible[seed % len(eligible)]
            again = compare(first, slowed(second, key, slowdown), policy)
            injected += 1
            found += any(row.key == key for row in again.with_verdict(Verdict.SLOWER))
    if not rows:
        raise NothingLeftError(
            "no kernel was measured in two processes: there is nothing to halve; measure in several, "
            "e.g. with 'ckprof sweep --passes 4'"
        )
    if not injected:
        raise NothingLeftError(
            f"no kernel has four processes of {ROUNDS_EACH} rounds: no slowdown can be injected and found; "
            f"measure more, e.g. with 'ckprof sweep --passes 4 --min-rounds {4 * ROUNDS_EACH}'"
        )
    return SelfTest(
        rows=rows,
        false_verdicts=false_verdicts,
        found=found,
        injected=injected,
        processes=(min(sizes), max(sizes)),
    )


def _is_enough(row: MeasuredRow) -> bool:
    return sum(len(rounds) >= ROUNDS_EACH for rounds in row.processes.values()) >= 2
