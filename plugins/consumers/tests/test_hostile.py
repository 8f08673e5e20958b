"""Consumers of plugins that misbehave: every member by itself, and what commands say of it."""

from __future__ import annotations

import pytest

from ckprof_plugins.consumers.records import FileAudit
from tests.plugin import test_hostile_commands as commands
from tests.plugin import test_hostile_objects as objects
from tests.plugin.hostile import Case
from tests.plugin.test_hostile_commands import command as command  # a fixture

pytestmark = pytest.mark.thorough


class MyConsumer:
    id, label = "mine", "mine"

    def owns(self, path, head):
        return head.startswith(b"mine")

    def audit(self, request):
        return FileAudit(path=request.path, label="mine", entries=1)

    def cleaned(self, audit):
        return b""


CASES = [
    pytest.param(
        Case(kind="consumer", make=MyConsumer, member="owns", command=("audit", "mine.txt")), id="recognises"
    ),
    pytest.param(
        Case(
            kind="consumer",
            make=MyConsumer,
            member="audit",
            command=("audit", "mine.txt"),
        ),
        id="audits",
    ),
]


@pytest.mark.parametrize("test", commands.OF_CASES, ids=lambda test: test.__name__)
@pytest.mark.parametrize("case", CASES)
def test_a_consumer(case, test, command):
    test(case, command)


@pytest.mark.parametrize("act", commands.ACTS)
@pytest.mark.parametrize("case", CASES)
def test_a_consumer_that_misbehaves_is_named(case, act, command):
    commands.test_a_command_with_an_object_that_misbehaves_says_so_and_leaves_nothing(case, act, command)


@pytest.mark.parametrize("act", ["raises", "exits", "closes generators"])
@pytest.mark.parametrize("case", CASES)
def test_a_property_that_raises_is_named(case, act, command):
    commands.test_a_property_that_raises_is_named(case, act, command)


@pytest.mark.parametrize("name", objects.NAMES, ids=lambda name: ascii(name)[1:16])
@pytest.mark.parametrize("case", CASES)
def test_names_are_text_wherever_they_are_shown(case, name, command):
    objects.test_names_are_text_wherever_they_are_shown(case, name, command)
