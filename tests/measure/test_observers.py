"""Observers of plugins are asked once per round, and what is none is reported."""

import os

import pytest

from ckprof.errors import PluginError
from ckprof.measure.observers import combine
from ckprof.model.device import Reading
from ckprof.testing.plugins import Registering
from ckprof_plugins.targets.cpu.observer import HostObserver

from .run_instances import session_with


class Power:
    id = "power"

    def observe(self, target, device):
        return (
            Reading(clock_mhz=1500.0, extra={"power_w": 300, "device": device}) if target == "gpu" else None
        )


def test_observers_of_plugins_add_evidence():
    found = [*session_with(Registering(Power())).registry.observers]
    # packages of targets may bring more
    assert {"host", "power"} <= {one.id for one in found}
    readings = [reading for one in found if (reading := one.observe("gpu", 3)) is not None]
    reading = combine(readings)
    assert reading.load is not None
    assert (reading.clock_mhz, reading.extra) == (1500.0, {"power_w": 300, "device": 3})
    power = next(one for one in found if one.id == "power")
    assert power.observe("elsewhere", 0) is None


def test_what_is_no_observer_is_reported():
    with pytest.raises(PluginError, match=r"plugin extra: .* type object, which has no member"):
        list(session_with(Registering(object())).registry.observers)


def test_observers_are_combined_and_the_host_is_read():
    host = HostObserver().observe("cpu", 0)
    assert host.load is not None and host.cores == os.cpu_count()
    assert HostObserver().observe("there", 0).clock_mhz is None
    both = combine([Reading(load=1, extra={"a": 1}), Reading(load=2, clock_mhz=5, extra={"b": 2})])
    assert (both.load, both.clock_mhz, both.extra) == (1, 5, {"a": 1, "b": 2})
