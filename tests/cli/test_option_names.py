"""One name has one meaning: what an option is called says what it takes, whichever command has it."""

import argparse
import contextlib
import importlib
import re
from collections import defaultdict
from pathlib import Path

import pytest

import plugins
from ckprof.cli.main import StopSignals
from ckprof.cli.parser import CommandParser
from ckprof.cli.session import open_session
from ckprof.errors import UsageError
from tests.called import COMMANDS, EVERY_PACKAGE
from tests.cases import each

#: option -> command -> why it describes the option in words of its own, or takes other values, than the
#: commands that are not named
WORDS_OF_THE_CORE = {
    "--arch": {
        "list": "instances that are not valid there are excluded",
        "results": "which outcomes",
    },
    "--batch": {
        "problems": "of invented problems a range; of one set that is shown no set need be named",
    },
    "--check": {
        "convert": "compares with the files that it would write, so it has no value",
        "plugins": "the plugin that is tried",
    },
    "--conf": {
        "parity": "what each list is compared with",
        "plugins": "only beside --check",
    },
    "--device": {
        "plugins": "builds and runs on it; an index is nothing that is built for",
        **dict.fromkeys(("build", "generate"), "only those that the target brings along: nothing is run"),
    },
    "--direction": {
        "list": "enumerates several",
        "convert": "an error if the list has another one",
        "diff": "as convert",
        "problems": "which line is written",
    },
    "--dtype": {
        "results": "which outcomes",
        "problems": "what lines mean that name none",
    },
    "--fail-on": {
        "compare": "verdicts on times",
        "parity": "verdicts on strings",
        "diff": "as parity",
    },
    "--format": {
        "run": "formats of plugins; says what a terminal gets",
        "results": "formats of outcomes, which are read as well",
        **dict.fromkeys(("compare", "parity", "diff"), "formats of plugins, listed"),
        "convert": "an account of what is written elsewhere",
        "list": "names alone, or CSV",
        "inspect": "CSV",
    },
    "--layout": {
        "results": "only of imports",
        "problems": "what lines mean that name none",
    },
    "--ndim": {
        "problems": "of invented problems, one",
    },
    "--output": {
        **dict.fromkeys(
            ("results", "convert", "problems"),
            "a file is what the command is for: which one, and what is written by default",
        ),
        **dict.fromkeys(("run", "compare", "parity", "diff"), "several files in several formats"),
    },
    "--set": {
        "run": "folders of a tree",
    },
    "--split-k": {
        "call": "one run",
        "check-support": "questions, not runs",
    },
    "--store": {
        "results": "what imports and merges are added to",
    },
    "--tag": {
        "results": "which outcomes",
    },
    "--target": {
        "results": "which outcomes",
    },
    "--to": {
        "convert": "of lists",
        "problems": "of problems",
    },
    "--top": {
        "run": "which formats have it",
    },
    "--tree": {
        "parity": "which folders a tree has",
    },
    "--why": {
        "list": "rules of instances, no problem is asked",
    },
}
#: the same of feature packages, which have them in their tests
WORDS_OF_THEIR_OWN = {option: dict(commands) for option, commands in WORDS_OF_THE_CORE.items()}
for file in sorted(Path(plugins.__path__[0]).glob("*/tests/own_words.py")):
    package = importlib.import_module(f"plugins.{file.parts[-3]}.tests.own_words")
    for option, commands in package.OWN_WORDS.items():
        WORDS_OF_THEIR_OWN.setdefault(option, {}).update(commands)
#: names of values that mean the same to users
SAME = {"PATH": "FILE", "DIR": "FILE", "ID": "NAME", "TYPE": "NAME", "K": "N"}


@pytest.fixture(scope="module")
def session():
    with StopSignals() as signals:
        yield open_session(signals, verbosity=0, config=None, plugins=())


def parser_of(name, session):
    command = next(command for command in COMMANDS if command.name == name)
    parser = CommandParser(prog=f"ckprof {name}")
    command.load(session).add_arguments(parser, session)
    session.manager.call("ckprof_add_arguments", command=name, parser=parser)
    return parser


def options(session):
    found = defaultdict(list)
    for command in COMMANDS:
        for action in parser_of(command.name, session).all_actions():
            for spelling in action.option_strings:
                if spelling not in ("-h", "--help", "--help-all"):
                    found[spelling].append((command.name, action))
    return found


def kind(action):
    """Return what is typed after the option."""
    if action.nargs == 0:
        return "nothing"
    shown = str(action.metavar or action.choices)
    return SAME.get(shown, shown)


def words(action):
    """Return what an option is said to be, without its default, and whether it may be repeated."""
    return re.sub(r"( |^)\((default|repeatable)\b.*", "", str(action.help), flags=re.DOTALL)


def test_what_is_said_to_be_repeatable_adds_to_what_was_typed(session):
    found = {
        f"{name} {spelling}": action
        for spelling, actions in options(session).items()
        for name, action in actions
        if re.search(r"\(repeatable|repeatable[,;)]", str(action.help))
    }
    assert len(found) > 50
    once = []
    for name, action in found.items():
        parser = argparse.ArgumentParser()
        parser._add_action(action)
        value = next(iter(action.choices or ("1",)))
        with contextlib.suppress(SystemExit, UsageError):  # of values of another kind
            values = vars(parser.parse_args([name.split()[1], value] * 2))[action.dest]
            if not isinstance(values, list) or len(values) < 2:
                once.append(name)
    assert not once


def test_the_same_option_takes_the_same_and_says_the_same(session):
    found = options(session)
    for spelling, actions in found.items():
        if not spelling.startswith("--"):
            continue
        own = WORDS_OF_THEIR_OWN.get(spelling, {})
        said = {words(action) for command, action in actions if command not in own}
        taken = {kind(action) for command, action in actions if command not in own}
        assert len(said) <= 1, (spelling, "another name, or the declaration of the other commands", said)
        assert len(taken) <= 1, (spelling, taken)


@pytest.mark.skipif(not EVERY_PACKAGE, reason="commands that others differ from are not installed")
def test_nothing_is_excused_that_needs_no_excuse(session):
    found = options(session)
    for spelling, own in WORDS_OF_THEIR_OWN.items():
        described = {(words(action), kind(action)) for _, action in found[spelling]}
        assert len(described) > 1, f"{spelling} says the same everywhere"
        others = {(words(a), kind(a)) for command, a in found[spelling] if command not in own}
        for command in own:
            its = {(words(a), kind(a)) for name, a in found[spelling] if name == command}
            assert its and its != others, f"{command} {spelling} is described as elsewhere"


def test_the_time_of_a_kernel_and_of_a_whole_command_have_names_of_their_own(session):
    found = options(session)
    assert {"run", "sweep"} & {name for name, _ in found["--budget"]} == {"sweep"}
    assert {name for name, _ in found["--max-time"]} == {"run"}
    assert {action.help for _, action in found["--round-time"]} == {
        "most time spent on timing one kernel in s (default: 0.1)"
    }


@each(command=COMMANDS)
def test_commands_with_many_options_show_first_what_most_need(command, session):
    parser = parser_of(command.name, session)
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    own = [action for action in shown if action.option_strings[:1] != ["-h"]]
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


def test_help_all_shows_the_rest(ckprof):
    short, full = (ckprof("run", word).out for word in ("--help", "--help-all"))
    assert "--instance-spec" in full and "--instance-spec" not in short and "--no-pad-m" not in full
    assert len(short.splitlines()) < len(full.splitlines()) / 2
    assert "--conf FILE" in short and "examples:" in short


def test_commands_stand_together_by_task(ckprof):
    text = ckprof("--help").out
    tasks = list(dict.fromkeys(command.task for command in COMMANDS))
    places = [text.index(f"\n{task}:\n") for task in tasks]
    assert places == sorted(places)
    for command in COMMANDS:
        place = text.index(f"\n  {command.name} ")
        assert max(start for start in places if start < place) == places[tasks.index(command.task)]


def test_documents_name_no_option_that_is_gone():
    gone = ("--max-time 2h", "--engine xdl")
    for path in Path(__file__).parents[2].glob("docs/*.md"):
        text = path.read_text()
        assert not [name for name in gone if name in text], path
