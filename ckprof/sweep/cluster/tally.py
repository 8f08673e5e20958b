"""What the workers of a sweep have reached together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.sweep.events import EngineProgress
from ckprof.sweep.sweep import Summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.ranking import Standing
    from ckprof.sweep.cluster.cards import CardState, CardTable
    from ckprof.sweep.cluster.messages import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSummary:
    """What was done, and by whom."""

    sweep: Summary
    #: by their ids
    cards: tuple[CardState, ...] = ()
    #: units that nobody could finish -> why
    given_up: Mapping[str, str] = field(default_factory=dict)
    #: tasks whose workers were lost
    lost: int = 0


@dataclass(slots=True, kw_only=True)
class Tally(Summary):
    """What a sweep on an engine has done so far."""

    #: tasks whose workers were lost
    lost: int = 0
    #: seconds of devices, and outcomes, of the answers so far
    device_s: float = 0.0
    device_attempts: int = 0
    #: id of a finished unit -> position of its problem, and what is known of the first place
    measured_standings: dict[str, tuple[int, Standing]] = field(default_factory=dict)
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
        self.unit_s.append(reply.wall_s)

    def progress(self, cards: CardTable, *, running: int, left: int) -> EngineProgress:
        """Return how far the sweep is.

        :param running: tasks that are handed out.
        :param left: units that are not finished.
        """
        sound = [card for card in cards.cards.values() if not card.quarantine]
        finished = len(self.unit_s)
        return EngineProgress(
            units_done=self.contests_done,
            units=self.contests,
            attempts=self.attempts,
            failures=self.failures,
            cards=len(cards.cards),
            quarantined=len(cards.quarantined),
            running=running,
            eta_s=sum(self.unit_s) / finished * left / max(1, len(sound)) if finished else None,
            device_s_per_attempt=self.device_s / self.device_attempts if self.device_attempts else None,
        )
