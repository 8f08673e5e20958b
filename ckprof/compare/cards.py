"""Cards beside each other, where a sweep used several: the reference kernel shows which of them is slow."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from ckprof.store.attempt import REFERENCE_MS, Mark

if TYPE_CHECKING:
    from ckprof.store.attempt import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRow:
    """What one card measured."""

    #: ``host:name``
    id: str
    problems: int
    attempts: int
    #: median over the checks of the reference kernel in milliseconds; ``None`` without any
    reference_ms: float | None
    checks: int
    #: that time divided by the median over all cards; ``None`` without checks
    ratio: float | None
    clock_mhz: float | None
    temperature_c: float | None
    #: attempts that do not count, since the card was found slow
    slow: int


@dataclass(slots=True)
class _Seen:
    problems: set[object] = field(default_factory=set)
    attempts: int = 0
    references: list[float] = field(default_factory=list)
    clocks: list[float] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)
    slow: int = 0


class CardCounter:
    """Counts attempts by the card that they ran on."""

    def __init__(self) -> None:
        self._cards: dict[str, _Seen] = defaultdict(_Seen)
        #: session, number of the round and problem of checks that were counted
        self._counted: set[tuple[str, float]] = set()

    def add(self, attempt: Attempt) -> None:
        """Count an attempt; those of sweeps on one device have no card."""
        card = attempt.session.card
        if not card:
            return
        seen, conditions = self._cards[card], attempt.conditions
        seen.attempts += 1
        seen.problems.add(attempt.key.problem)
        seen.slow += Mark.SLOW_CARD in attempt.marks
        if conditions.clock_mhz is not None:
            seen.clocks.append(conditions.clock_mhz)
        if conditions.temperature_c is not None:
            seen.temperatures.append(conditions.temperature_c)
        reference = conditions.extra.get(REFERENCE_MS)
        if isinstance(reference, float) and (attempt.session.uid, reference) not in self._counted:
            # all attempts of a round carry the check before it
            self._counted.add((attempt.session.uid, reference))
            seen.references.append(reference)

    def rows(self) -> tuple[CardRow, ...]:
        """Return the cards, the slowest first, those without a check last."""
        own = {card: median(seen.references) for card, seen in self._cards.items() if seen.references}
        middle = median(own.values()) if own else 0.0
        rows = [
            CardRow(
                id=card,
                problems=len(seen.problems),
                attempts=seen.attempts,
                reference_ms=own.get(card),
                checks=len(seen.references),
                ratio=own[card] / middle if card in own else None,
                clock_mhz=median(seen.clocks) if seen.clocks else None,
                temperature_c=max(seen.temperatures, default=None),
                slow=seen.slow,
            )
            for card, seen in self._cards.items()
        ]
        return tuple(sorted(rows, key=lambda one: (-(one.ratio or 0.0), one.id)))
