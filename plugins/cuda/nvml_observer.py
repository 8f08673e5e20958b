"""Evidence of NVIDIA GPUs during sweeps: clocks, temperature, power, throttling, other processes.

Read through nvidia-ml-py where that is installed. Reading makes no context on the device and changes nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import psutil

from ckprof.model.device import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VARIABLE: Final = "CUDA_VISIBLE_DEVICES"


def machine_device(index: int, environment: Mapping[str, str] = os.environ) -> int | str | None:
    """Return how the driver's tools know a device of the runtime.

    The runtime orders GPUs of different models by speed unless ``CUDA_DEVICE_ORDER`` is ``PCI_BUS_ID``; among
    equal ones, as machines for measurements have them, both orders are the same.

    :param index: the runtime's number.
    :returns: its number on the machine, or the beginning of its UUID; ``None`` if it is hidden.
    """
    listed = environment.get(VARIABLE)
    if listed is None:
        return index
    entries: list[int | str] = []
    for word in (part.strip() for part in listed.split(",")):
        entry = int(word) if word.isascii() and word.isdecimal() else word
        # as in the runtime, the list ends at what names no device
        if isinstance(entry, str) and not entry.startswith(("GPU-", "MIG-")):
            break
        entries.append(entry)
    return entries[index] if 0 <= index < len(entries) else None


#: bit -> why a clock is lower than it could be, in NVML's order
REASONS: Final = {
    0x1: "idle",
    0x2: "clocks set by the user",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "synchronised with another device",
    0x20: "temperature",
    0x40: "temperature, by the hardware",
    0x80: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability",
}
#: of these a time says nothing any more: the others belong to idle devices, or to a load as heavy as usual
_ALARMING: Final = 0x8 | 0x20 | 0x40 | 0x80
#: what limits the clocks, as NVML counts the time that it does
_POLICIES: Final = {"power_capped_ms": 0, "temperature_capped_ms": 1}


class NvmlObserver:
    """Reads the device of a sweep once per round."""

    id = "nvml"

    def __init__(self) -> None:
        self._nvml: Any = None
        #: what cannot be read is not tried again
        self._failed = False
        self._handles: dict[int, Any] = {}
        #: nanoseconds of a policy when they were read last
        self._counted: dict[tuple[int, str], int] = {}

    def observe(self, target: str, device: int) -> Reading | None:
        """Return what NVML says; ``None`` for other targets, and without NVML or its device."""
        if target != "cuda" or self._failed:
            return None
        handle = self._handle(device)
        return None if handle is None else self._reading(device, handle)

    def _handle(self, device: int) -> Any:
        if device in self._handles:
            return self._handles[device]
        try:
            if self._nvml is None:
                import pynvml

                pynvml.nvmlInit()
                self._nvml = pynvml
            number = machine_device(device)
            if number is None:
                return None
            by = (
                self._nvml.nvmlDeviceGetHandleByIndex
                if isinstance(number, int)
                else self._nvml.nvmlDeviceGetHandleByUUID
            )
            self._handles[device] = by(number)
        except Exception:  # not installed, no driver, no such device: there is no evidence then
            self._failed = True
            return None
        return self._handles[device]

    def _reading(self, device: int, handle: Any) -> Reading:
        nvml = self._nvml
        clock = _value(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
        reasons = _value(lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
        if reasons is None:
            # what it was called before
            reasons = _value(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0
        extra: dict[str, object] = {
            "memory_clock_mhz": _value(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
            "power_w": _thousandth(_value(lambda: nvml.nvmlDeviceGetPowerUsage(handle))),
            "power_limit_w": _thousandth(_value(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))),
            "throttle_reasons": [text for bit, text in REASONS.items() if reasons & bit],
            **{name: self._since_last(device, handle, name) for name in _POLICIES},
        }
        temperature = _value(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
        return Reading(
            clock_mhz=float(clock) if clock is not None else None,
            temperature_c=float(temperature) if temperature is not None else None,
            other_processes=self._others(handle, extra),
            throttled_by=tuple(text for bit, text in REASONS.items() if reasons & bit & _ALARMING),
            extra={name: value for name, value in extra.items() if value is not None},
        )

    def _since_last(self, device: int, handle: Any, name: str) -> float | None:
        """Return for how many milliseconds a limit was in force since the last reading; ``None`` at first."""
        spent = _value(lambda: self._nvml.nvmlDeviceGetViolationStatus(handle, _POLICIES[name]).violationTime)
        before = self._counted.get((device, name))
        if spent is None:
            return None
        self._counted[device, name] = int(spent)
        return None if before is None else round((int(spent) - before) / 1e6, 3)

    def _others(self, handle: Any, extra: dict[str, object]) -> int | None:
        """Return how many processes that are none of ours use the device.

        In a container the driver may know processes by numbers that mean nothing here. Our own worker has the
        device open, so if it is not among them, nothing can be told but their number.
        """
        processes = _value(lambda: self._nvml.nvmlDeviceGetComputeRunningProcesses(handle))
        if processes is None:
            return None
        users = {int(process.pid) for process in processes}
        extra["processes"] = len(users)
        ours = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
        return len(users - ours) if users & ours or not users else None


def _value(read: Callable[[], Any]) -> Any:
    """Return what a query gives; ``None`` where the device does not support it."""
    try:
        return read()
    except Exception:  # NVML's errors have no base that is there without NVML
        return None


def _thousandth(value: int | None) -> float | None:
    return None if value is None else value / 1000
