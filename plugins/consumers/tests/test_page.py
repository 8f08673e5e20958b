"""The page describes every member of consumers."""

from pathlib import Path

import pytest

from ckprof.plugin.members import members_of
from ckprof_plugins.consumers.protocols import CONSUMERS

PAGE = (Path(__file__).parents[1] / "docs" / "consumers.md").read_text()


@pytest.mark.parametrize("member", members_of(CONSUMERS.protocol), ids=lambda one: one.name)
def test_a_member_is_described(member):
    assert f"`{member.name}" in PAGE
