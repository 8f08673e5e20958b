"""Extractors of plugins that misbehave: every member by itself, and what commands say of it."""

import pytest

from tests.plugin.hostile import Case
from tests.plugin.hostile_kind import *  # noqa: F403 - tests, and the fixture "command"

pytestmark = pytest.mark.thorough


class MyExtractor:
    id, label, options = "mine", "mine", ()

    def extract(self, request): ...


@pytest.fixture
def case():
    return Case(
        kind="extractor",
        make=MyExtractor,
        member="extract",
        command=("extract", "--extractor", "mine", "--stdout"),
        code=4,
    )
