"""What is read through NVML, from a module that stands in for it."""

import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from ckprof.measure.observers import combine
from ckprof_plugins.cuda.nvml_observer import NvmlObserver, machine_device


class NvmlError(Exception):
    """As the real module raises it."""


class FakeNvml(ModuleType):
    """One GPU in front of which everything works, unless a test says otherwise."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self):
        super().__init__("pynvml")
        self.started = 0
        self.reasons = 0x4
        self.processes = []
        self.violations = {0: 5_000_000, 1: 0}
        self.unsupported = set()

    def nvmlInit(self):
        self.started += 1

    def nvmlDeviceGetHandleByIndex(self, index):
        if index > 1:
            raise NvmlError("Invalid Argument")
        return f"gpu{index}"

    def nvmlDeviceGetHandleByUUID(self, uuid):
        return uuid

    def nvmlDeviceGetClockInfo(self, handle, kind):
        return self._answer("clock", {1: 1755, 2: 3201}[kind])

    def nvmlDeviceGetTemperature(self, handle, sensor):
        return self._answer("temperature", 61)

    def nvmlDeviceGetPowerUsage(self, handle):
        return self._answer("power", 650_500)

    def nvmlDeviceGetEnforcedPowerLimit(self, handle):
        return self._answer("limit", 700_000)

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):
        return self._answer("reasons", self.reasons)

    def nvmlDeviceGetViolationStatus(self, handle, policy):
        return self._answer("violation", SimpleNamespace(violationTime=self.violations[policy]))

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return self._answer("processes", [SimpleNamespace(pid=pid) for pid in self.processes])

    def _answer(self, name, value):
        if name in self.unsupported:
            raise NvmlError("Not Supported")
        return value


@pytest.fixture
def nvml(monkeypatch):
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return fake


def test_everything_is_read(nvml):
    reading = NvmlObserver().observe("cuda", 0)
    assert (reading.clock_mhz, reading.temperature_c, reading.other_processes) == (1755.0, 61.0, 0)
    assert reading.extra == {
        "memory_clock_mhz": 3201,
        "power_w": 650.5,
        "power_limit_w": 700.0,
        "throttle_reasons": ["power cap"],
        "processes": 0,
    }
    # a power cap belongs to heavy load
    assert reading.warnings() == []


def test_limits_are_counted_from_reading_to_reading(nvml):
    observer = NvmlObserver()
    observer.observe("cuda", 0)
    nvml.violations = {0: 12_500_000, 1: 0}
    extra = observer.observe("cuda", 0).extra
    assert (extra["power_capped_ms"], extra["temperature_capped_ms"]) == (7.5, 0.0)
    # another device has counters of its own
    assert "power_capped_ms" not in observer.observe("cuda", 1).extra
    assert nvml.started == 1


def test_reasons_and_warnings_of_throttling(nvml):
    nvml.reasons = 0x4 | 0x20 | 0x80
    reading = combine([NvmlObserver().observe("cuda", 0)])
    assert reading.throttled_by == ("temperature", "power brake")
    assert reading.warnings() == ["the device is throttled: temperature, power brake"]
    assert reading.low_clock
    nvml.nvmlDeviceGetCurrentClocksEventReasons = lambda handle: 0x1
    assert NvmlObserver().observe("cuda", 0).extra["throttle_reasons"] == ["idle"]


def test_own_processes_are_no_others(nvml):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        nvml.processes = [child.pid, 1]
        assert NvmlObserver().observe("cuda", 0).other_processes == 1
        nvml.processes = [child.pid, os.getpid()]
        assert NvmlObserver().observe("cuda", 0).other_processes == 0
    finally:
        child.communicate()


def test_numbers_of_another_namespace_tell_nothing(nvml):
    nvml.processes = [1]
    reading = NvmlObserver().observe("cuda", 0)
    assert reading.other_processes is None and reading.extra["processes"] == 1


@pytest.mark.parametrize(
    "name", ["clock", "temperature", "power", "limit", "violation", "processes", "reasons"]
)
def test_what_a_device_does_not_support_is_left_out(nvml, name):
    def second_reading():
        observer = NvmlObserver()
        observer.observe("cuda", 0)
        reading = observer.observe("cuda", 0)
        values = {"clock": reading.clock_mhz, "temperature": reading.temperature_c, **reading.extra}
        return {key: value for key, value in values.items() if value not in (None, [])}

    everything = second_reading()
    nvml.unsupported = {name}
    left = second_reading()
    assert left.items() < everything.items()
    assert len(left) >= len(everything) - 2


def test_without_nvml_or_device_there_is_no_evidence(nvml, monkeypatch):
    assert NvmlObserver().observe("hip", 0) is None
    assert NvmlObserver().observe("cuda", 7) is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert NvmlObserver().observe("cuda", 0) is None


@pytest.mark.parametrize(
    ("listed", "index", "place"),
    [
        (None, 3, 3),
        ("2,0", 0, 2),
        ("2,0", 1, 0),
        ("2,0", 2, None),
        ("GPU-8f6d,1", 0, "GPU-8f6d"),
        ("", 0, None),
        ("1,none,0", 1, None),
    ],
)
def test_the_runtime_numbers_what_it_sees(listed, index, place):
    environment = {} if listed is None else {"CUDA_VISIBLE_DEVICES": listed}
    assert machine_device(index, environment) == place
