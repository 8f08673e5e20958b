"""The directions that problem lines can name."""

from __future__ import annotations

import pytest

from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof_plugins.directions._convolution.direction import Direction


@pytest.fixture(scope="session")
def directions() -> tuple[Direction, ...]:
    manager = PluginManager()
    manager.load_all()
    return tuple(Registry(manager).directions)
