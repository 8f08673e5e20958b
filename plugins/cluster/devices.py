"""Devices beside each other: which is slower than its peers and why, and what they have reached together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

from ckprof.events import StatusLine
from ckprof.formatting import agreeing, counted, duration, percent
from ckprof.sweep.sweep import Summary

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ckprof.model.ranking import Resolution
    from ckprof_plugins.cluster.messages import ReferenceCheck, ReferencePolicy, Reply, WorkerDevice


#: makes the median absolute deviation of a normal distribution its standard deviation
_MAD_TO_SIGMA: Final = 1.4826
#: a clock that is lower than the peers' by this share explains something
_CLOCK_SHARE: Final = 0.97
#: more devices than that are compared with all at once, not each with all others
_MOST_BY_PAIRS: Final = 64
#: checks in a row that must find a device slow
_STRIKES: Final = 2
#: degrees Celsius by which a hot device exceeds its peers
_HOTTER_C: Final = 10.0


@dataclass(slots=True, kw_only=True)
class DeviceState:
    """What is known of a device."""

    device: WorkerDevice
    #: the latest one
    check: ReferenceCheck | None = None
    #: units that it finished since the last check that it passed
    unconfirmed: list[str] = field(default_factory=list)
    units: int = 0
    attempts: int = 0
    #: checks in a row by which it was slow
    strikes: int = 0
    #: why it is quarantined; empty if it is not
    quarantine: str = ""


class DeviceTable:
    """All devices of a sweep.

    :param policy: when a device counts as slow.
    """

    def __init__(self, policy: ReferencePolicy) -> None:
        self._policy = policy
        self.devices: dict[str, DeviceState] = {}

    def note(self, device: WorkerDevice, check: ReferenceCheck | None) -> DeviceState:
        """Note who answered and what was checked."""
        state = self.devices.setdefault(device.id, DeviceState(device=device))
        state.device, state.check = device, check or state.check
        return state

    @property
    def suspected(self) -> tuple[str, ...]:
        """The devices that are to be checked again before anybody relies on their last check, sorted."""
        return tuple(
            sorted(name for name, state in self.devices.items() if state.strikes and not state.quarantine)
        )

    @property
    def quarantined(self) -> tuple[str, ...]:
        """The devices that are not to be used, sorted."""
        return tuple(sorted(name for name, state in self.devices.items() if state.quarantine))

    def judge(self, fresh: Collection[str]) -> tuple[list[DeviceState], list[DeviceState]]:
        """Compare the latest checks.

        A device is quarantined when two checks in a row found it slow. At most half of the devices are: if
        more of them differ, nobody can tell which are right.

        :param fresh: the devices that were checked just now.
        :returns: devices that are quarantined from now on, and those that are not any more.
        """
        checks = {name: check for name, state in self.devices.items() if (check := state.check) is not None}
        excess = self._excesses(checks)
        slow = sorted((name for name in checks if excess[name] > 0), key=lambda name: -excess[name])
        slow = slow[: len(checks) // 2]
        begun, ended = [], []
        for name in checks:
            state = self.devices[name]
            if name in slow:
                # the first one may come to light by the check of a peer
                state.strikes += not state.strikes or name in fresh
            else:
                state.strikes = 0
            if state.strikes >= _STRIKES and not state.quarantine:
                state.quarantine = self._reason(name, checks)
                begun.append(state)
            elif not state.strikes and state.quarantine:
                state.quarantine = ""
                ended.append(state)
        return begun, ended

    def _excesses(self, checks: Mapping[str, ReferenceCheck]) -> dict[str, float]:
        """Return by how much the logarithm of each device's time exceeds what noise and limit allow."""
        if len(checks) <= _MOST_BY_PAIRS:
            return {name: self._excess(name, checks) for name in checks}
        groups: dict[str, list[str]] = {}
        for name, check in checks.items():
            groups.setdefault(check.instance, []).append(name)
        found = {}
        for group in groups.values():
            # one of so many changes neither their middle nor their spread
            times = [_log_time(checks[name]) for name in group]
            middle, spread = median(times), _sigma(times)
            for name, time in zip(group, times, strict=True):
                excess = time - middle - math.log1p(self._policy.limit)
                if excess > 0:
                    sigma = math.hypot(_own_sigma(checks[name]), spread)
                    excess = min(excess, time - middle - self._policy.sigmas * sigma)
                found[name] = excess
        return found

    def _excess(self, device: str, checks: Mapping[str, ReferenceCheck]) -> float:
        """Return by how much the logarithm of a device's time exceeds what noise and limit allow."""
        peers = [checks[name] for name in _peers(device, checks)]
        if not peers:
            return -math.inf
        others = [_log_time(other) for other in peers]
        sigma = math.hypot(
            _own_sigma(checks[device]),
            _sigma(others) if len(others) > 2 else max(_own_sigma(other) for other in peers),
        )
        most = max(math.log1p(self._policy.limit), self._policy.sigmas * sigma)
        return _log_time(checks[device]) - median(others) - most

    def _reason(self, device: str, checks: Mapping[str, ReferenceCheck]) -> str:
        names = _peers(device, checks)
        peers = [checks[name] for name in names]
        slower = math.expm1(_log_time(checks[device]) - median(_log_time(other) for other in peers))
        causes = _causes(checks[device], peers)
        partition = self.devices[device].device.key.partition
        if partition not in {self.devices[name].device.key.partition for name in names}:
            causes.append(f"its partition mode is {partition or 'unknown'}")
        why = ", ".join(causes) or "neither clock, temperature nor partition mode explains it"
        return f"{percent(slower)} slower than its peers: {why}"


def _peers(device: str, checks: Mapping[str, ReferenceCheck]) -> list[str]:
    """Return the other devices that have measured the same kernel."""
    instance = checks[device].instance
    return [name for name, check in checks.items() if name != device and check.instance == instance]


def _log_time(check: ReferenceCheck) -> float:
    # the least time: what else runs on the host for a moment does not make a device slow
    return math.log(min(check.times_ms))


def _own_sigma(check: ReferenceCheck) -> float:
    return _sigma([math.log(time) for time in check.times_ms])


def _sigma(values: Sequence[float]) -> float:
    """Return a standard deviation that single outliers do not change."""
    middle = median(values)
    return _MAD_TO_SIGMA * median(abs(value - middle) for value in values)


def _causes(check: ReferenceCheck, peers: Sequence[ReferenceCheck]) -> list[str]:
    """Return what of its clock and temperature may explain that a device is slow."""
    causes = []
    clocks = [clock for other in peers if (clock := other.clock_mhz) is not None]
    if check.clock_mhz is not None and clocks and check.clock_mhz < _CLOCK_SHARE * median(clocks):
        causes.append(f"its clock is {check.clock_mhz:.0f} MHz, theirs {median(clocks):.0f} MHz")
    elif check.clock_mhz is not None and check.base_clock_mhz is not None:
        if check.clock_mhz < _CLOCK_SHARE * check.base_clock_mhz:
            causes.append(f"its clock is {check.clock_mhz:.0f} MHz, its base {check.base_clock_mhz:.0f} MHz")
    heat = [value for other in peers if (value := other.temperature_c) is not None]
    if check.temperature_c is not None and heat and check.temperature_c > median(heat) + _HOTTER_C:
        causes.append(f"it has {check.temperature_c:.0f} degrees, they have {median(heat):.0f}")
    return causes


class EngineProgress(StatusLine):
    """How far the workers of an engine are together."""

    #: one line for all workers: done, devices, time, cost of an outcome, failures
    text = ""

    def __init__(self, text: str) -> None:
        self.text = text


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
    measured_resolutions: dict[str, tuple[int, Resolution]] = field(default_factory=dict)
    #: wall seconds of each unit that was finished
    unit_s: list[float] = field(default_factory=list)

    def add_reply(self, reply: Reply) -> None:
        """Take an answer into account, whatever its end."""
        self.device_s += reply.wall_s
        self.device_attempts += reply.attempts
        self.rounds += reply.rounds
        self.disturbed += reply.disturbed
        self.dropped += reply.dropped

    def progress(self, devices: DeviceTable, *, running: int, left: int) -> EngineProgress:
        """Return how far the sweep is.

        :param running: tasks that are handed out.
        :param left: units that are not finished.
        """
        quarantined = len(devices.quarantined)
        on = counted(len(devices.devices), "device")
        if quarantined:
            on += f", {quarantined} quarantined"
        parts = [
            f"sweep: {self.rankings_done}/{counted(self.rankings, 'ranking')}, "
            f"{counted(self.attempts, 'outcome')}",
            f"{running} running on {on}",
        ]
        if self.unit_s:
            # from what finished units took
            sound = max(1, len(devices.devices) - quarantined)
            parts.append(f"{duration(sum(self.unit_s) / len(self.unit_s) * left / sound)} left")
        if self.device_attempts:
            parts.append(f"{self.device_s / self.device_attempts:.2g} s per outcome")
        if self.failures:
            parts.append(f"{self.failures} failed")
        return EngineProgress("; ".join(parts))

    def lines(self) -> list[str]:
        """Return the devices beside each other, and what was lost on the way."""
        lines = []
        for device in self.devices:
            parts = [f"device {device.device.id}: {counted(device.units, 'ranking')}"]
            parts[0] += f", {counted(device.attempts, 'outcome')}"
            if device.check is not None:
                parts.append(f"reference kernel {min(device.check.times_ms):.4g} ms")
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
