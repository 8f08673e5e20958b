"""What users read of what happens while a command works."""

import io
from pathlib import Path

import pytest

from ckprof.cli.console import Console
from ckprof.cli.event_messages import EventMessages
from ckprof.events import Event, Level, Message, Progress, ProgressEnded, StatusLine
from ckprof.kernels.choose import ListRead
from ckprof.model.conversion import Conversion
from ckprof.model.requirement import UnmetRequirement


def told(*events, verbosity=0):
    """Return the lines that are printed of events."""
    err = io.StringIO()
    listener = EventMessages(Console(verbosity, out=io.StringIO(), err=err))
    for event in events:
        listener(event)
    return err.getvalue().splitlines(keepends=True)


class Half(StatusLine):
    text = "half way"


def test_messages_are_for_who_asks_for_them():
    events = [Message("d", Level.DETAIL), Message("i"), Message("w", Level.WARNING), Event()]
    assert told(*events, verbosity=-1) == ["warning: w\n"]
    assert told(*events) == ["i\n", "warning: w\n"]
    assert told(*events, verbosity=1) == ["d\n", "i\n", "warning: w\n"]


def test_each_step_begins_its_progress():
    """The first line of a step is printed where it is worth it; others follow after a while."""

    def step(what, done, *, at_once=False):
        return Progress(what=what, done=done, total=3, name="k", at_once=at_once)

    build = [step("build", 0, at_once=True), step("build", 1), step("build", 2)]
    assert told(*build) == ["build: 1/3\n"]
    assert told(*build, ProgressEnded(), *build) == ["build: 1/3\n"] * 2
    assert told(step("check", 0), step("check", 1)) == []
    assert told(*build, step("run", 0, at_once=True), step("run", 1)) == ["build: 1/3\n", "run: 1/3\n"]
    assert told(Half()) == ["half way\n"] and StatusLine().name == ""
    with pytest.raises(NotImplementedError):
        StatusLine().text  # noqa: B018


def test_a_list_that_is_read_is_told_as_conversions_are():
    conversion = Conversion(
        path=Path("a.conf"),
        converter="conf",
        catalogs=(),
        lines=2,
        dropped={1: UnmetRequirement(rule="comment", message="a comment")},
    )
    assert told(ListRead(conversion=conversion)) == [
        "read a.conf: 2 lines, 0 instances; dropped lines: 1 comment\n"
    ]
