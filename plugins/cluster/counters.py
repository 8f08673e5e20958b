"""What the workers of a sweep have reached together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.events import StatusLine
from ckprof.sweep.sweep import Summary
from ckprof.wording import agreeing, counted, duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.ranking import Standing
    from ckprof_plugins.cluster.devices import DeviceState, DeviceTable
    from ckprof_plugins.cluster.messages import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineProgress(StatusLine):
    """How far the workers of an engine are together."""

    units_done: int
    units: int
    #: outcomes that this coordinator stored
    attempts: int
    failures: int
    #: devices that have answered, and those among them that are quarantined
    devices: int
    quarantined: int
    #: tasks that are handed out
    running: int
    #: seconds that are left, from what finished units took
    eta_s: float | None
    #: seconds of a device for one outcome; ``None`` before there is one
    device_s_per_attempt: float | None

    @property
    def text(self) -> str:
        """One line for all workers: done, devices, time, cost of an outcome, failures."""
        devices = counted(self.devices, "device")
        if self.quarantined:
            devices += f", {self.quarantined} quarantined"
        parts = [
            f"sweep: {self.units_done}/{counted(self.units, 'ranking')}, {counted(self.attempts, 'outcome')}",
            f"{self.running} running on {devices}",
        ]
        if self.eta_s is not None:
            parts.append(f"{duration(self.eta_s)} left")
        if self.device_s_per_attempt is not None:
            parts.append(f"{self.device_s_per_attempt:.2g} s per outcome")
        if self.failures:
            parts.append(f"{self.failures} failed")
        return "; ".join(parts)


@dataclass(slots=True, kw_only=True)
class Counters(Summary):
    """What a sweep on an engine has done so far."""

    #: in the end, by their ids
    devices: tuple[DeviceState, ...] = ()
    #: in the end: units that nobody could finish -> why
    given_up: Mapping[str, str] = field(default_factory=dict)
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

    def progress(self, devices: DeviceTable, *, running: int, left: int) -> EngineProgress:
        """Return how far the sweep is.

        :param running: tasks that are handed out.
        :param left: units that are not finished.
        """
        sound = [device for device in devices.devices.values() if not device.quarantine]
        finished = len(self.unit_s)
        return EngineProgress(
            units_done=self.contests_done,
            units=self.contests,
            attempts=self.attempts,
            failures=self.failures,
            devices=len(devices.devices),
            quarantined=len(devices.quarantined),
            running=running,
            eta_s=sum(self.unit_s) / finished * left / max(1, len(sound)) if finished else None,
            device_s_per_attempt=self.device_s / self.device_attempts if self.device_attempts else None,
        )

    def lines(self) -> list[str]:
        """Return the devices beside each other, and what was lost on the way."""
        lines = []
        for device in self.devices:
            parts = [f"device {device.device.id}: {counted(device.units, 'ranking')}"]
            parts[0] += f", {counted(device.attempts, 'outcome')}"
            if device.reference_ms is not None:
                parts.append(f"reference kernel {device.reference_ms:.4g} ms")
            if device.quarantine:
                parts.append(f"quarantined: {device.quarantine}")
            lines.append("; ".join(parts))
        if self.lost:
            lines.append(
                f"{counted(self.lost, 'task')} {agreeing(self.lost, 'was', 'were')} handed out "
                "again because their workers were lost"
            )
        lines += [f"given up: {reason}" for reason in self.given_up.values()]
        return lines
