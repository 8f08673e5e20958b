"""What is known of the device that kernels run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: ``clock`` of devices whose own clock times kernels
EVENT_CLOCK: Final = "event"
#: ``clock`` of all others: the host's
WALL_CLOCK: Final = "wall"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIdentity:
    """What a target says of a device, as far as it bears on times."""

    #: empty where the line that the kernel library prints names the device
    model: str = ""
    compute_units: int = 0
    memory_bytes: int = 0
    #: partition mode
    partition: str = ""
    #: major version of the driver
    driver: str = ""
    #: ``event`` where the device's own clock times kernels
    clock: str = WALL_CLOCK
