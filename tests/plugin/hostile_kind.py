"""Tests of objects of one kind that misbehave, for packages that bring a kind of their own.

A test module of such a package imports them, the fixture ``command``, and has a fixture ``case``.
"""

import pytest

from . import test_hostile_commands as commands
from . import test_hostile_objects as objects
from .test_hostile_commands import command as command  # a fixture


@pytest.mark.parametrize(
    "check",
    [
        *commands.OF_CASES,
        objects.test_names_are_text_wherever_they_are_shown,
        objects.test_an_id_that_fails_when_it_is_used_is_a_text,
    ],
    ids=lambda check: check.__name__,
)
def test_an_object_works_or_is_reported(case, check, command):
    check(case, command)


@pytest.mark.parametrize("act", commands.ACTS)
def test_an_object_that_misbehaves_is_named(case, act, command):
    commands.test_a_command_with_an_object_that_misbehaves_says_so_and_leaves_nothing(case, act, command)


@pytest.mark.parametrize("act", ["raises", "exits", "closes generators"])
def test_a_property_that_raises_is_named(case, act, command):
    commands.test_a_property_that_raises_is_named(case, act, command)


@pytest.mark.parametrize(
    "act", [commands.raising(KeyboardInterrupt()), commands.hang], ids=["breaks off", "hangs"]
)
def test_an_interrupt_ends_the_command(case, act, command):
    commands.test_an_interrupt_ends_the_command(case, act, command)
