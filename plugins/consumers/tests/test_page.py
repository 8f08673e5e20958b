"""The page says of every protocol of consumers which members it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckprof.plugin.members import members_of
from ckprof_plugins.consumers.protocols import CONSUMERS

PAGE = (Path(__file__).parents[1] / "docs" / "consumers.md").read_text()


@pytest.mark.parametrize("protocol", [CONSUMERS.protocol, *CONSUMERS.abilities], ids=lambda one: one.__name__)
def test_a_protocol_is_described_with_its_members(protocol):
    assert protocol.__name__ in PAGE
    assert not [one.name for one in members_of(protocol) if f"`{one.name}" not in PAGE]
