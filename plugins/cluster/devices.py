"""Devices beside each other: which of them is slower than its peers, and what may be the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

from ckprof.wording import percent

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ckprof_plugins.cluster.messages import ReferenceCheck, ReferencePolicy, WorkerDevice

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
    checks: list[ReferenceCheck] = field(default_factory=list)
    #: units that it finished since the last check that it passed
    unconfirmed: list[str] = field(default_factory=list)
    units: int = 0
    attempts: int = 0
    #: checks in a row by which it was slow
    strikes: int = 0
    #: why it is quarantined; empty if it is not
    quarantine: str = ""

    @property
    def id(self) -> str:
        """The device's."""
        return self.device.id

    @property
    def reference_ms(self) -> float | None:
        """Least time of the latest check in milliseconds."""
        return min(self.checks[-1].times_ms) if self.checks else None


class DeviceTable:
    """All devices of a sweep.

    :param policy: when a device counts as slow.
    """

    def __init__(self, policy: ReferencePolicy) -> None:
        self._policy = policy
        self.devices: dict[str, DeviceState] = {}

    def note(self, device: WorkerDevice, checks: Sequence[ReferenceCheck]) -> DeviceState:
        """Note who answered and what was checked."""
        state = self.devices.setdefault(device.id, DeviceState(device=device))
        state.device = device
        state.checks += checks
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
        checked = [device for device in self.devices.values() if device.checks]
        excess = self._excesses(checked)
        slow = sorted(
            (state for state in checked if excess[state.id] > 0),
            key=lambda state: -excess[state.id],
        )
        slow = slow[: len(checked) // 2]
        begun, ended = [], []
        for state in checked:
            if state in slow:
                # the first one may come to light by the check of a peer
                state.strikes += not state.strikes or state.id in fresh
            else:
                state.strikes = 0
            if state.strikes >= _STRIKES and not state.quarantine:
                state.quarantine = self._reason(state, checked)
                begun.append(state)
            elif not state.strikes and state.quarantine:
                state.quarantine = ""
                ended.append(state)
        return begun, ended

    def _excesses(self, checked: Sequence[DeviceState]) -> dict[str, float]:
        """Return by how much the logarithm of each device's time exceeds what noise and limit allow."""
        if len(checked) <= _MOST_BY_PAIRS:
            return {state.id: self._excess(state, checked) for state in checked}
        groups: dict[str, list[DeviceState]] = {}
        for state in checked:
            groups.setdefault(state.checks[-1].instance, []).append(state)
        found = {}
        for group in groups.values():
            # one of so many changes neither their middle nor their spread
            times = [_log_time(state) for state in group]
            middle, spread = median(times), _sigma(times)
            for state, time in zip(group, times, strict=True):
                excess = time - middle - math.log1p(self._policy.limit)
                if excess > 0:
                    sigma = math.hypot(_own_sigma(state), spread)
                    excess = min(excess, time - middle - self._policy.sigmas * sigma)
                found[state.id] = excess
        return found

    def _excess(self, device: DeviceState, checked: Sequence[DeviceState]) -> float:
        """Return by how much the logarithm of a device's time exceeds what noise and limit allow."""
        peers = [other for other in checked if other is not device and _same_kernel(device, other)]
        if not peers:
            return -math.inf
        log_time = _log_time(device)
        others = [_log_time(other) for other in peers]
        middle = median(others)
        sigma = math.hypot(
            _sigma([math.log(time) for time in device.checks[-1].times_ms]),
            _sigma(others) if len(others) > 2 else max(_own_sigma(other) for other in peers),
        )
        return log_time - middle - max(math.log1p(self._policy.limit), self._policy.sigmas * sigma)

    def _reason(self, device: DeviceState, checked: Sequence[DeviceState]) -> str:
        peers = [other for other in checked if other is not device and _same_kernel(device, other)]
        slower = math.expm1(_log_time(device) - median(_log_time(other) for other in peers))
        return f"{percent(slower)} slower than its peers: {', '.join(_causes(device, peers))}"


def _same_kernel(device: DeviceState, other: DeviceState) -> bool:
    return bool(device.checks and other.checks) and device.checks[-1].instance == other.checks[-1].instance


def _log_time(device: DeviceState) -> float:
    # the least time: what else runs on the host for a moment does not make a device slow
    return math.log(min(device.checks[-1].times_ms))


def _own_sigma(device: DeviceState) -> float:
    return _sigma([math.log(time) for time in device.checks[-1].times_ms])


def _sigma(values: Sequence[float]) -> float:
    """Return a standard deviation that single outliers do not change."""
    middle = median(values)
    return _MAD_TO_SIGMA * median(abs(value - middle) for value in values)


def _causes(device: DeviceState, peers: Sequence[DeviceState]) -> list[str]:
    """Return what may explain that a device is slow."""
    check = device.checks[-1]
    causes = []
    clocks = [clock for other in peers if (clock := other.checks[-1].clock_mhz) is not None]
    if check.clock_mhz is not None and clocks and check.clock_mhz < _CLOCK_SHARE * median(clocks):
        causes.append(f"its clock is {check.clock_mhz:.0f} MHz, theirs {median(clocks):.0f} MHz")
    elif check.clock_mhz is not None and check.base_clock_mhz is not None:
        if check.clock_mhz < _CLOCK_SHARE * check.base_clock_mhz:
            causes.append(f"its clock is {check.clock_mhz:.0f} MHz, its base {check.base_clock_mhz:.0f} MHz")
    heat = [value for other in peers if (value := other.checks[-1].temperature_c) is not None]
    if check.temperature_c is not None and heat and check.temperature_c > median(heat) + _HOTTER_C:
        causes.append(f"it has {check.temperature_c:.0f} degrees, they have {median(heat):.0f}")
    partitions = {other.device.key.partition for other in peers}
    if device.device.key.partition not in partitions:
        causes.append(f"its partition mode is {device.device.key.partition or 'unknown'}")
    return causes or ["neither clock, temperature nor partition mode explains it"]
