"""The devices of a sweep on several of them: what each measured, and how its reference kernel compares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from ckprof.compare.side import median_of
from ckprof.store.attempt import REFERENCE_MS, Attempt, Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRow:
    """What one device of a sweep on several measured."""

    #: ``host:name``
    id: str
    problems: int
    attempts: int
    #: median over the checks of the reference kernel in milliseconds; ``None`` without any
    reference_ms: float | None
    checks: int
    #: that time divided by the median over all devices; ``None`` without checks
    ratio: float | None = None
    clock_mhz: float | None
    temperature_c: float | None
    #: attempts that do not count, since the device was found slow
    slow: int


def device_rows(attempts: Iterable[Attempt]) -> tuple[DeviceRow, ...]:
    """Return the devices that attempts ran on, the slowest first, those without a check last.

    Attempts of sweeps on one device have none.
    """
    devices: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        if device := attempt.session.device_id:
            devices[device].append(attempt)
    rows = [_device_row(device, own) for device, own in devices.items()]
    middle = median_of(row.reference_ms for row in rows)
    rated = [
        replace(row, ratio=row.reference_ms / middle) if row.reference_ms and middle else row for row in rows
    ]
    return tuple(sorted(rated, key=lambda row: (-(row.ratio or 0.0), row.id)))


def _device_row(device: str, attempts: Collection[Attempt]) -> DeviceRow:
    seen = [attempt.conditions for attempt in attempts]
    # all attempts of a round carry the check before it
    checks = {(one.session.uid, one.conditions.extra.get(REFERENCE_MS)) for one in attempts}
    references = [reference for _, reference in checks if isinstance(reference, float)]
    return DeviceRow(
        id=device,
        problems=len({attempt.key.problem for attempt in attempts}),
        attempts=len(attempts),
        reference_ms=median_of(references),
        checks=len(references),
        clock_mhz=median_of(one.clock_mhz for one in seen),
        temperature_c=max((one.temperature_c for one in seen if one.temperature_c is not None), default=None),
        slow=sum(Mark.SLOW_DEVICE in attempt.marks for attempt in attempts),
    )
