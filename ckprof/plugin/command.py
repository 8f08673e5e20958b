"""What a command of ``ckprof`` is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Command:
    """One command of ``ckprof``, which a plugin adds with ``registry.add(Command(...))``.

    The session that both functions get is a :class:`ckprof.cli.session.Session`: console, settings, registry,
    and a :class:`ckprof.Profiler`. They raise an error of :mod:`ckprof.errors` where the user has to do
    something; any other exception is a fault of the plugin.

    :param name: what is typed after ``ckprof``.
    :param add_arguments: adds options to the parser of the command, which has those of every command.
    :param run: does the work, and returns an :class:`ckprof.errors.ExitCode`.
    :param task: commands of one task stand together in help.
    :param summary: the line of help.
    :param first: common options, and metavars of positional arguments: ``--help`` shows these alone, and
        ``--help-all`` all; empty for commands whose help is short enough.
    """

    name: str
    add_arguments: Callable[[argparse.ArgumentParser, Any], None]
    run: Callable[[argparse.Namespace, Any], int]
    task: str = ""
    summary: str = ""
    first: str = ""
