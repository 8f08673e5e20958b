"""One name has one meaning: what an option is called says what it takes, whichever command has it."""

from __future__ import annotations

import argparse
import importlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckprof.cli.commands import COMMANDS
from ckprof.cli.parser import CommandParser
from ckprof.cli.session import Session, open_session
from ckprof.cli.stop_signals import StopSignals

#: options that several commands describe in words of their own, as the same thing serves another end there:
#: a filter of stored outcomes by ``--arch``, say, and the architecture that kernels are built for
IN_OTHER_WORDS = {
    *("--arch", "--baseline", "--batch", "--boost", "--budget", "--check", "--compute-units", "--conf"),
    *("--direction", "--dry-run", "--dtype", "--fail-on", "--force", "--format", "--json", "--layout"),
    *("--min-samples", "--model", "--ndim", "--no-verify", "--output", "--problem", "--seed", "--sessions"),
    *("--set", "--split-k", "--store", "--tag", "--target", "--tie", "--timeout", "--to", "--top", "--tree"),
    *("--warmup", "--why"),
}
#: what they take differs as well: see the help of each
OTHER_VALUES = {
    "--arch",
    "--output",
    "--to",
    "--check",
    "--batch",
    "--fail-on",
    "--format",
    "--ndim",
    "--set",
    "--split-k",
    "--store",
}
#: names of values that mean the same to users
SAME = {"PATH": "FILE", "DIR": "FILE", "ID": "NAME", "TYPE": "NAME", "K": "N"}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with StopSignals() as signals:
        yield open_session(signals, verbosity=0, config=None, plugins=())


def parser_of(name: str, session: Session) -> CommandParser:
    command = next(command for command in COMMANDS if command.name == name)
    parser = CommandParser(prog=f"ckprof {name}")
    importlib.import_module(command.module).add_arguments(parser, session)
    session.manager.call("ckprof_add_arguments", command=name, parser=parser)
    return parser


def options(session: Session) -> dict[str, list[tuple[str, argparse.Action]]]:
    found: dict[str, list[tuple[str, argparse.Action]]] = defaultdict(list)
    for command in COMMANDS:
        for action in parser_of(command.name, session).all_actions():
            for spelling in action.option_strings:
                if spelling not in ("-h", "--help", "--help-all"):
                    found[spelling].append((command.name, action))
    return found


def kind(action: argparse.Action) -> str:
    """Return what is typed after the option."""
    if action.nargs == 0:
        return "nothing"
    shown = str(action.metavar or action.choices)
    return SAME.get(shown, shown)


def test_the_same_option_takes_the_same_and_says_the_same(session: Session) -> None:
    words, values = set(), set()
    for spelling, found in options(session).items():
        if not spelling.startswith("--"):
            continue
        if len({str(action.help).partition(" (default:")[0] for _, action in found}) > 1:
            words.add(spelling)
        if len({kind(action) for _, action in found}) > 1:
            values.add(spelling)
    assert words - IN_OTHER_WORDS == set(), "another name, or the declaration of the other commands"
    assert values - OTHER_VALUES == set()


def test_the_time_of_a_kernel_and_of_a_whole_command_have_names_of_their_own(session: Session) -> None:
    found = options(session)
    assert {name for name, _ in found["--budget"]} == {"sweep", "tune"}
    assert {name for name, _ in found["--max-time"]} == {"run"}
    assert {action.help for _, action in found["--round-time"]} == {
        "most time spent on timing one kernel in s (default: 0.1)"
    }


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_commands_with_many_options_show_first_what_most_need(command, session: Session) -> None:
    parser = parser_of(command.name, session)
    own = [action for action in parser._actions if action.option_strings[:1] != ["-h"]]
    if not command.first:
        assert len(own) <= 20 or command.name in ("results",)
        return
    parser.show_first(*command.first.split())
    short = parser.format_help()
    assert 8 <= len(command.first.split()) <= 17
    for name in command.first.split():
        assert f"\n  {name}" in short or f", {name}" in short or f" {name} " in short
    assert f"more options: 'ckprof {command.name} --help-all'" in short
    parser.first = ()
    everything = parser.format_help()
    hidden = [action for action in own if action.option_strings and action.option_strings[0] not in short]
    assert hidden and all(action.option_strings[0] in everything for action in hidden)


def test_help_all_shows_the_rest(ckprof) -> None:
    short, full = (ckprof("run", word).out for word in ("--help", "--help-all"))
    assert "--wave-groups" in full and "--wave-groups" not in short
    assert len(short.splitlines()) < len(full.splitlines()) / 2
    assert "--conf FILE" in short and "examples:" in short


def test_commands_stand_together_by_task(ckprof) -> None:
    text = ckprof("--help").out
    tasks = list(dict.fromkeys(command.task for command in COMMANDS))
    places = [text.index(f"\n{task}:\n") for task in tasks]
    assert places == sorted(places)
    for command in COMMANDS:
        place = text.index(f"\n  {command.name} ")
        assert max(start for start in places if start < place) == places[tasks.index(command.task)]


def test_documents_name_no_option_that_is_gone(session: Session) -> None:
    gone = ("--all ", "--max-time 2h", "--engine xdl")
    for path in Path(__file__).parents[2].glob("docs/*.md"):
        text = path.read_text()
        assert not [name for name in gone[1:] if name in text], path
