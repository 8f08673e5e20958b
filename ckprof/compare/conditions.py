"""Under which conditions a side was measured: load, clock, other work, each card, what sessions say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Final

from ckprof.store.attempt import CONTENDED, REFERENCE_MS, SOURCES, Mark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from ckprof.store.attempt import Attempt, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState:
    """Medians over the attempts of a side; ``None`` for what none of them says."""

    load: float | None = None
    clock_mhz: float | None = None
    temperature_c: float | None = None
    #: shares of the attempts with a mark that says what may have slowed them down; none with a share of 0
    contended: Mapping[Mark, float] = field(default_factory=dict)


def machine_state(attempts: Collection[Attempt]) -> MachineState:
    """Return the conditions of some attempts."""
    seen = [attempt.conditions for attempt in attempts]
    marks = Counter(mark for attempt in attempts for mark in attempt.marks if mark in CONTENDED)
    return MachineState(
        load=_median(one.load for one in seen),
        clock_mhz=_median(one.clock_mhz for one in seen),
        temperature_c=_median(one.temperature_c for one in seen),
        contended={mark: marks[mark] / len(attempts) for mark in Mark if marks[mark]},
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


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
    ratio: float | None = None
    clock_mhz: float | None
    temperature_c: float | None
    #: attempts that do not count, since the card was found slow
    slow: int


def card_rows(attempts: Iterable[Attempt]) -> tuple[CardRow, ...]:
    """Return the cards that attempts ran on, the slowest first, those without a check last.

    Attempts of sweeps on one device have no card.
    """
    cards: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        if card := attempt.session.device_id:
            cards[card].append(attempt)
    rows = [_card_row(card, own) for card, own in cards.items()]
    middle = _median(row.reference_ms for row in rows)
    rated = [
        replace(row, ratio=row.reference_ms / middle) if row.reference_ms and middle else row for row in rows
    ]
    return tuple(sorted(rated, key=lambda row: (-(row.ratio or 0.0), row.id)))


def _card_row(card: str, attempts: Collection[Attempt]) -> CardRow:
    seen = [attempt.conditions for attempt in attempts]
    # all attempts of a round carry the check before it
    checks = {(one.session.uid, one.conditions.extra.get(REFERENCE_MS)) for one in attempts}
    references = [reference for _, reference in checks if isinstance(reference, float)]
    return CardRow(
        id=card,
        problems=len({attempt.key.problem for attempt in attempts}),
        attempts=len(attempts),
        reference_ms=_median(references),
        checks=len(references),
        clock_mhz=_median(one.clock_mhz for one in seen),
        temperature_c=max((one.temperature_c for one in seen if one.temperature_c is not None), default=None),
        slow=sum(Mark.SLOW_DEVICE in attempt.marks for attempt in attempts),
    )


#: digits of a digest that are shown
_DIGITS: Final = 12
_FIELDS: Final = ("host", "ckprof_version", "git_commit", "seed")


def provenance(sessions: Iterable[Session]) -> dict[str, str]:
    """Return what is known, by name: distinct values in the order of the sessions, separated by commas.

    Digests of the files of ckprof and of plugins are named ``sources.`` and what they are of; ``host.cpus``
    are the CPUs that a session was allowed to use.
    """
    found: dict[str, dict[str, None]] = {}
    for session in sessions:
        for name, value in _facts(session):
            if value not in (None, ""):
                found.setdefault(name, {})[shortened(str(value))] = None
    return {name: ", ".join(values) for name, values in found.items()}


def _facts(session: Session) -> Iterator[tuple[str, object]]:
    for name in _FIELDS:
        yield name, getattr(session, name)
    host, sources = (session.environment.get(name) for name in ("host", SOURCES))
    if isinstance(host, Mapping):
        yield "host.cpus", host.get("cores")
    if isinstance(sources, Mapping):
        for name, digest in sources.items():
            yield f"{SOURCES}.{name}", digest


def shortened(text: str) -> str:
    """Return the first digits of a digest; any other text as it is."""
    is_digest = len(text) > 2 * _DIGITS and all(letter in "0123456789abcdef" for letter in text)
    return text[:_DIGITS] if is_digest else text
