"""Extractors of plugins that misbehave: every member by itself, and what commands say of it."""

from __future__ import annotations

import pytest

from tests.plugin import test_hostile_commands as commands
from tests.plugin import test_hostile_objects as objects
from tests.plugin.hostile import Case
from tests.plugin.test_hostile_commands import command as command  # a fixture

pytestmark = pytest.mark.thorough


class MyExtractor:
    id, label, options = "mine", "mine", ()

    def extract(self, request): ...


CASES = [
    pytest.param(
        Case(
            kind="extractor",
            make=MyExtractor,
            member="extract",
            command=("extract", "--extractor", "mine", "--stdout"),
            code=4,
        ),
        id="extracts",
    )
]


@pytest.mark.parametrize("test", commands.OF_CASES, ids=lambda test: test.__name__)
@pytest.mark.parametrize("case", CASES)
def test_an_extractor(case, test, command):
    test(case, command)


@pytest.mark.parametrize("act", commands.ACTS)
@pytest.mark.parametrize("case", CASES)
def test_an_extractor_that_misbehaves_is_named(case, act, command):
    commands.test_a_command_with_an_object_that_misbehaves_says_so_and_leaves_nothing(case, act, command)


@pytest.mark.parametrize("act", ["raises", "exits", "closes generators"])
@pytest.mark.parametrize("case", CASES)
def test_a_property_that_raises_is_named(case, act, command):
    commands.test_a_property_that_raises_is_named(case, act, command)


@pytest.mark.parametrize("name", objects.NAMES, ids=lambda name: ascii(name)[1:16])
@pytest.mark.parametrize("case", CASES)
def test_names_are_text_wherever_they_are_shown(case, name, command):
    objects.test_names_are_text_wherever_they_are_shown(case, name, command)
