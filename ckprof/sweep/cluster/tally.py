"""What the workers of a sweep have reached together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.sweep.engine import Stop, Summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.outcome import Status
    from ckprof.sweep.cluster.cards import CardTable
    from ckprof.sweep.cluster.messages import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterProgress:
    """How far a sweep on an engine is."""

    units_done: int
    units: int
    #: outcomes that this coordinator stored
    attempts: int
    failures: int
    #: cards that have answered, and those among them that are quarantined
    cards: int
    quarantined: int
    #: tasks that are handed out
    running: int
    #: seconds that are left, from what finished units took
    eta_s: float | None
    #: seconds of a device for one outcome; ``None`` before there is one
    device_s_per_attempt: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSummary:
    """What was done, and by whom."""

    sweep: Summary
    #: per card: who, how much, the time of the reference kernel, and why it is quarantined
    cards: tuple[CardLine, ...] = ()
    #: units that nobody could finish -> why
    given_up: Mapping[str, str] = field(default_factory=dict)
    #: tasks whose workers were lost
    lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CardLine:
    """One card of the summary."""

    id: str
    units: int
    attempts: int
    reference_ms: float | None
    quarantine: str


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts units, outcomes and rounds."""

    #: all units of the sweep, and those that are finished
    units: int
    done: int
    #: of the outcomes that this coordinator stored
    statuses: Counter[Status] = field(default_factory=Counter)
    #: kind of disturbance -> times
    warnings: Counter[str] = field(default_factory=Counter)
    #: tasks whose workers were lost
    lost: int = 0
    rounds: int = 0
    drifted_rounds: int = 0
    dropped: int = 0
    #: seconds of devices, and outcomes, of the answers so far
    device_s: float = 0.0
    device_attempts: int = 0
    #: wall seconds of each unit that was finished
    unit_s: list[float] = field(default_factory=list)

    def add_reply(self, reply: Reply) -> None:
        """Take an answer into account, whatever its end."""
        self.device_s += reply.wall_s
        self.device_attempts += reply.attempts
        self.rounds += reply.rounds
        self.drifted_rounds += reply.drifted_rounds
        self.dropped += reply.dropped

    def finish(self, reply: Reply) -> None:
        """Note that the unit of an answer is finished."""
        self.done += 1
        self.unit_s.append(reply.wall_s)

    def progress(self, cards: CardTable, *, running: int, left: int) -> ClusterProgress:
        """Return how far the sweep is.

        :param running: tasks that are handed out.
        :param left: units that are not finished.
        """
        sound = [one for one in cards.cards.values() if not one.quarantine]
        finished = len(self.unit_s)
        return ClusterProgress(
            units_done=self.done,
            units=self.units,
            attempts=self.statuses.total(),
            failures=sum(count for status, count in self.statuses.items() if status.is_failure),
            cards=len(cards.cards),
            quarantined=len(cards.quarantined),
            running=running,
            eta_s=sum(self.unit_s) / finished * left / max(1, len(sound)) if finished else None,
            device_s_per_attempt=self.device_s / self.device_attempts if self.device_attempts else None,
        )

    def summary(
        self, cards: CardTable, stop: Stop, wall_s: float, given_up: Mapping[str, str]
    ) -> ClusterSummary:
        """Return what was done.

        :param stop: why it ended.
        :param wall_s: seconds that it took.
        :param given_up: units that nobody could finish -> why.
        """
        return ClusterSummary(
            sweep=Summary(
                stop=stop,
                attempts=self.statuses.total(),
                wall_s=wall_s,
                statuses=self.statuses,
                contests_done=self.done,
                contests=self.units,
                rounds=self.rounds,
                drifted_rounds=self.drifted_rounds,
                dropped=self.dropped,
                warnings=self.warnings,
            ),
            cards=tuple(
                CardLine(
                    id=name,
                    units=one.units,
                    attempts=one.attempts,
                    reference_ms=one.reference_ms,
                    quarantine=one.quarantine,
                )
                for name, one in sorted(cards.cards.items())
            ),
            given_up=given_up,
            lost=self.lost,
        )
