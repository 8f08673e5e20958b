"""Under which conditions a side was measured: load, clock, other work on the machine, what sessions say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

from ckprof.store.attempt import CONTENDED, SOURCES, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ckprof.store.attempt import Attempt, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState:
    """Medians over the attempts of a side; ``None`` for what none of them says."""

    load: float | None = None
    clock_mhz: float | None = None
    temperature_c: float | None = None
    #: shares of the attempts with a mark that says what may have slowed them down; none with a share of 0
    contended: Mapping[Mark, float] = field(default_factory=dict)


class StateCounter:
    """Sums up the conditions of attempts."""

    def __init__(self) -> None:
        self._loads: list[float] = []
        self._clocks: list[float] = []
        self._temperatures: list[float] = []
        self._marks: Counter[Mark] = Counter()
        self._attempts = 0

    def add(self, attempt: Attempt) -> None:
        """Take an attempt into account."""
        seen = attempt.conditions
        for values, value in (
            (self._loads, seen.load),
            (self._clocks, seen.clock_mhz),
            (self._temperatures, seen.temperature_c),
        ):
            if value is not None:
                values.append(value)
        self._attempts += 1
        self._marks.update(mark for mark in attempt.marks if mark in CONTENDED)

    def state(self) -> MachineState:
        """Return what they were like."""
        return MachineState(
            load=median(self._loads) if self._loads else None,
            clock_mhz=median(self._clocks) if self._clocks else None,
            temperature_c=median(self._temperatures) if self._temperatures else None,
            contended={mark: self._marks[mark] / self._attempts for mark in Mark if self._marks[mark]},
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
