"""Observers of plugins are asked once per round, and what is none is reported."""

from __future__ import annotations

import pytest

from ckprof.errors import PluginError
from ckprof.measure.observers import combine, observers
from ckprof.model.device import Reading
from ckprof.plugin.manager import PluginManager
from ckprof.session import Session
from ckprof.settings import Settings
from ckprof.testing.plugins import Registering


class Power:
    id = "power"

    def observe(self, target, device):
        return (
            Reading(clock_mhz=1500.0, extra={"power_w": 300, "device": device}) if target == "gpu" else None
        )


def session_with(added):
    manager = PluginManager()
    manager.load_all()
    manager.register(Registering(*added), "extra")
    return Session(settings=Settings(), manager=manager, tell=lambda event: None)


def test_observers_of_plugins_add_evidence():
    found = observers(session_with([Power()]))
    # packages of targets may bring more
    assert [found[0].id, found[-1].id] == ["host", "power"]
    readings = [reading for one in found if (reading := one.observe("gpu", 3)) is not None]
    reading = combine(readings)
    assert reading.load is not None
    assert (reading.clock_mhz, reading.extra) == (1500.0, {"power_w": 300, "device": 3})
    assert found[-1].observe("elsewhere", 0) is None


def test_what_is_no_observer_is_reported():
    with pytest.raises(PluginError, match=r"plugin extra: .* type object, which has no member"):
        observers(session_with([object()]))
