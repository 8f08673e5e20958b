"""What was seen of the state of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: a clock below this share of its base is throttled
_LOW_CLOCK_SHARE = 0.97


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an observer saw. ``None`` stands for what it cannot read."""

    #: load average of the host over one minute
    load: float | None = None
    #: cores of the host
    cores: int | None = None
    clock_mhz: float | None = None
    #: the clock that is guaranteed
    base_clock_mhz: float | None = None
    temperature_c: float | None = None
    #: processes of others that use the device
    other_processes: int | None = None
    #: why the clocks are lower than they should be, where that makes times worthless
    throttled_by: tuple[str, ...] = ()
    #: further evidence, as plain JSON values
    extra: Mapping[str, object] = field(default_factory=dict)

    def warnings(self) -> list[str]:
        """Return what a user should know about times that are taken now."""
        warnings = []
        if self.load is not None and self.cores is not None and self.load > self.cores + 1:
            warnings.append(
                f"the load average is {self.load:.1f} on {self.cores} cores: other work disturbs the times"
            )
        if self.low_clock and not self.throttled_by:
            warnings.append(
                f"the clock is {self.clock_mhz:.0f} MHz, below its base of {self.base_clock_mhz:.0f} MHz"
            )
        if self.throttled_by:
            warnings.append(f"the device is throttled: {', '.join(self.throttled_by)}")
        if self.other_processes:
            count = self.other_processes
            warnings.append(f"{count} other process{'es use' if count > 1 else ' uses'} the device")
        return warnings

    @property
    def low_clock(self) -> bool:
        """True when the clock is below its base, or lowered by something that should not happen."""
        return bool(self.throttled_by) or (
            self.clock_mhz is not None
            and self.base_clock_mhz is not None
            and self.clock_mhz < _LOW_CLOCK_SHARE * self.base_clock_mhz
        )
