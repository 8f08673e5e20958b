"""Cards beside each other: which of them is slower than its peers, and what may be the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.sweep.cluster.messages import Card, ReferenceCheck, ReferencePolicy

#: makes the median absolute deviation of a normal distribution its standard deviation
_MAD_TO_SIGMA: Final = 1.4826
#: a clock that is lower than the peers' by this share explains something
_CLOCK_SHARE: Final = 0.97
#: checks in a row that must find a card slow
_STRIKES: Final = 2
#: degrees Celsius by which a hot card exceeds its peers
_HOTTER_C: Final = 10.0


@dataclass(slots=True, kw_only=True)
class CardState:
    """What is known of a card."""

    card: Card
    checks: list[ReferenceCheck] = field(default_factory=list)
    #: units that it finished since the last check that it passed
    doubtful: list[str] = field(default_factory=list)
    units: int = 0
    attempts: int = 0
    #: checks in a row by which it was slow
    strikes: int = 0
    #: why it is quarantined; empty if it is not
    quarantine: str = ""
    #: it was quarantined at some time
    was_slow: bool = False

    @property
    def reference_ms(self) -> float | None:
        """Least time of the latest check in milliseconds."""
        return min(self.checks[-1].times_ms) if self.checks else None


class CardTable:
    """All cards of a sweep.

    :param policy: when a card counts as slow.
    """

    def __init__(self, policy: ReferencePolicy) -> None:
        self._policy = policy
        self.cards: dict[str, CardState] = {}

    def note(self, card: Card, checks: Sequence[ReferenceCheck]) -> CardState:
        """Note who answered and what was checked."""
        state = self.cards.setdefault(card.id, CardState(card=card))
        state.card = card
        state.checks += checks
        return state

    @property
    def suspected(self) -> tuple[str, ...]:
        """The cards that are to be checked again before anybody relies on their last check, sorted."""
        return tuple(sorted(name for name, one in self.cards.items() if one.strikes and not one.quarantine))

    @property
    def quarantined(self) -> tuple[str, ...]:
        """The cards that are not to be used, sorted."""
        return tuple(sorted(name for name, one in self.cards.items() if one.quarantine))

    def judge(self, fresh: str) -> tuple[list[CardState], list[CardState]]:
        """Compare the latest checks.

        A card is quarantined when two checks in a row found it slow. At most half of the cards are: if more
        of them differ, nobody can tell which are right.

        :param fresh: the card that was checked just now.
        :returns: cards that are quarantined from now on, and those that are not any more.
        """
        checked = [one for one in self.cards.values() if one.checks]
        excess = {one.card.id: self._excess(one, checked) for one in checked}
        slow = sorted(
            (one for one in checked if excess[one.card.id] > 0), key=lambda one: -excess[one.card.id]
        )
        slow = slow[: len(checked) // 2]
        begun, ended = [], []
        for one in checked:
            if one in slow:
                # the first one may come to light by the check of a peer
                one.strikes += not one.strikes or one.card.id == fresh
            else:
                one.strikes = 0
            if one.strikes >= _STRIKES and not one.quarantine:
                one.quarantine = self._reason(one, checked)
                one.was_slow = True
                begun.append(one)
            elif not one.strikes and one.quarantine:
                one.quarantine = ""
                ended.append(one)
        return begun, ended

    def _excess(self, one: CardState, checked: Sequence[CardState]) -> float:
        """Return by how much the logarithm of a card's time exceeds what noise and limit allow."""
        peers = [other for other in checked if other is not one and _same_kernel(one, other)]
        if not peers:
            return -math.inf
        own = _log_time(one)
        others = [_log_time(other) for other in peers]
        middle = median(others)
        sigma = math.hypot(
            _sigma([math.log(time) for time in one.checks[-1].times_ms]),
            _sigma(others) if len(others) > 2 else max(_own_sigma(other) for other in peers),
        )
        return own - middle - max(math.log1p(self._policy.limit), self._policy.sigmas * sigma)

    def _reason(self, one: CardState, checked: Sequence[CardState]) -> str:
        peers = [other for other in checked if other is not one and _same_kernel(one, other)]
        slower = math.expm1(_log_time(one) - median(_log_time(other) for other in peers))
        return f"{100 * slower:.1f} % slower than its peers: {', '.join(_causes(one, peers))}"


def _same_kernel(one: CardState, other: CardState) -> bool:
    return bool(one.checks and other.checks) and one.checks[-1].instance == other.checks[-1].instance


def _log_time(one: CardState) -> float:
    # the least time: what else runs on the host for a moment does not make a card slow
    return math.log(min(one.checks[-1].times_ms))


def _own_sigma(one: CardState) -> float:
    return _sigma([math.log(time) for time in one.checks[-1].times_ms])


def _sigma(values: Sequence[float]) -> float:
    """Return a standard deviation that single outliers do not change."""
    middle = median(values)
    return _MAD_TO_SIGMA * median(abs(value - middle) for value in values)


def _causes(one: CardState, peers: Sequence[CardState]) -> list[str]:
    """Return what may explain that a card is slow."""
    check = one.checks[-1]
    found = []
    clocks = [clock for other in peers if (clock := other.checks[-1].clock_mhz) is not None]
    if check.clock_mhz is not None and clocks and check.clock_mhz < _CLOCK_SHARE * median(clocks):
        found.append(f"its clock is {check.clock_mhz:.0f} MHz, theirs {median(clocks):.0f} MHz")
    elif check.clock_mhz is not None and check.base_clock_mhz is not None:
        if check.clock_mhz < _CLOCK_SHARE * check.base_clock_mhz:
            found.append(f"its clock is {check.clock_mhz:.0f} MHz, its base {check.base_clock_mhz:.0f} MHz")
    heat = [value for other in peers if (value := other.checks[-1].temperature_c) is not None]
    if check.temperature_c is not None and heat and check.temperature_c > median(heat) + _HOTTER_C:
        found.append(f"it has {check.temperature_c:.0f} degrees, they have {median(heat):.0f}")
    partitions = {other.card.device.partition for other in peers}
    if one.card.device.partition not in partitions:
        found.append(f"its partition mode is {one.card.device.partition or 'unknown'}")
    return found or ["neither clock, temperature nor partition mode explains it"]
