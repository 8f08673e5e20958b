"""The page says which members an extractor has."""

from pathlib import Path

from ckprof.plugin.members import members_of
from ckprof_plugins.extract.protocols import ListExtractor

PAGE = (Path(__file__).parents[1] / "docs" / "extract.md").read_text()


def test_the_protocol_is_described_with_its_members():
    assert not [one.name for one in members_of(ListExtractor) if f"`{one.name}" not in PAGE]
