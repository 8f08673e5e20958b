"""Completion of the command line by the shell, through argcomplete."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from ckprof.errors import ExitCode

if TYPE_CHECKING:
    from ckprof.cli.parser import CommandParser
    from ckprof.cli.session import Session


def is_asked() -> bool:
    """Say whether a shell asks for completions instead of running a command."""
    return "_ARGCOMPLETE" in os.environ


def typed_words() -> list[str]:
    """Return the words of the line in front of the one that is to be completed; none where they are wrong."""
    try:
        from argcomplete.lexers import split_line
    except ImportError:
        # A shell would show whatever is printed here between the words of its user.
        sys.exit(ExitCode.FAILED)
    line = os.environ.get("COMP_LINE", "")
    point = int(os.environ.get("COMP_POINT", len(line)))
    _, _, _, words, _ = split_line(line, point)
    # the first one is ckprof itself, or python -m ckprof
    skipped = int(os.environ.get("_ARGCOMPLETE", "1"))
    return list(words[skipped:])


def complete(parser: CommandParser, session: Session | None) -> None:
    """Hand what can stand at the end of the line to the shell, and end.

    :param session: that of the command, if there is one already: it knows names of directions and targets.
    """
    import argcomplete

    if session is not None:
        from ckprof.model.architecture import architectures

        registry = session.registry
        names = {
            "direction": registry.operations.ids,
            "target": registry.targets.ids,
            "arch": [*architectures()],
            "rule_set": registry.rule_sets.ids,
        }
        for action in parser.all_actions():
            if action.dest in names:
                # what argcomplete looks for
                vars(action)["completer"] = partial(_starting, tuple(names[action.dest]))
    argcomplete.autocomplete(parser, always_complete_options="long")


def _starting(names: tuple[str, ...], prefix: str, **_: object) -> list[str]:
    return [name for name in names if name.startswith(prefix)]
