"""Devices that any machine has: who brings them, what target they are for, and what is said of others."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest

from ckprof import hookimpl
from ckprof.errors import UsageError
from ckprof.model.device import Finding, FindingState
from ckprof.model.recipe import BuildRequest
from ckprof.plugin.manager import PluginManager
from ckprof.session import Session, ignore
from ckprof.settings import Settings


@dataclass
class Software:
    """A device that says what it was asked."""

    id: str = "software"
    label: str = "computes in software"
    target: str = "cpu"
    archs: tuple[str, ...] = ("gfx942",)

    def variables(self, device):
        return {"SETTINGS": device.partition(":")[2]}

    def recipe(self, target, request):
        return replace(target.recipe(request), link_flags=(self.id, request.device))

    def findings(self):
        return (Finding("software", FindingState.OK, "always there"),)


def session_with(*devices):
    class Plugin:
        @hookimpl
        def ckprof_register(self, registry):
            for device in devices:
                registry.add(device)

    manager = PluginManager()
    manager.load_all()
    manager.register(Plugin(), "mine")
    return Session(settings=Settings(), manager=manager, emit=ignore)


def test_a_device_makes_the_recipe_of_its_target():
    session = session_with(Software())
    target = session.target("cpu")
    found = session.recipe(target, BuildRequest(arch="gfx942", device="software:a=1"))
    assert (found.target, found.link_flags) == ("cpu", ("software", "software:a=1"))
    assert session.named_device("software:a=1").variables("software:a=1") == {"SETTINGS": "a=1"}
    assert session.recipe(target, BuildRequest(arch="gfx942")).target == "cpu"


@pytest.mark.parametrize(
    ("target", "device", "message"),
    [
        ("hip", "software", "target hip has no device of its own: software; give an index"),
        ("cpu", "softwear", "unknown device 'softwear'; did you mean 'software'?"),
        ("cpu", "softwear", "or give an index"),
    ],
)
def test_other_devices_are_usage_errors(target, device, message):
    session = session_with(Software())
    with pytest.raises(UsageError, match=re.escape(message)):
        session.recipe(session.target(target), BuildRequest(arch="gfx942", device=device))
