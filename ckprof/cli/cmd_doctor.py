"""``ckprof doctor``: what is found, what is missing, what to install."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tabulate import tabulate

from ckprof.config.settings import FoundFile, find_file
from ckprof.errors import ExitCode
from ckprof.model.finding import FindingState

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ckprof.cli.session import Session


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof doctor``."""
    parser.epilog = "Exit code 5 when something is missing or broken that the embedded default needs.\n"
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command."""
    rows = [
        (target.id, finding.topic, finding.state, finding.detail, finding.advice)
        for target in session.registry.targets
        for finding in target.findings()
    ]
    rows += [
        ("", f"plugin {plugin.name}", FindingState.BROKEN, plugin.error, "see 'ckprof plugins'")
        for plugin in session.manager.broken
    ]
    rows += [("", *row) for row in _settings_rows(arguments, session)]
    headers = ("target", "topic", "state", "found", "what to do")
    shown = [(target, topic, state.value, *rest) for target, topic, state, *rest in rows]
    if arguments.format == "json":
        session.console.result(json.dumps([dict(zip(headers, row, strict=True)) for row in shown], indent=2))
    else:
        session.console.result(tabulate(shown, headers=headers, disable_numparse=True))
    bad = {FindingState.MISSING, FindingState.BROKEN}
    embedded = {target.id for target in session.registry.targets if target.embedded}
    if any(state in bad and target in embedded for target, _, state, *_ in rows):
        return ExitCode.TOOLCHAIN
    return ExitCode.PLUGIN if session.manager.broken else ExitCode.OK


def _settings_rows(
    arguments: argparse.Namespace, session: Session
) -> Iterator[tuple[str, FindingState, str, str]]:
    """Yield which settings file is read and what code it names: plugins are run, and so is the compiler."""
    explicit: Path | None = getattr(arguments, "config", None)
    found = FoundFile(path=explicit) if explicit else find_file(Path.cwd())
    if found.message:
        yield "settings", FindingState.OPTIONAL, found.message, ""
    if found.path is not None:
        yield "settings", FindingState.OK, str(found.path), ""
    settings = session.settings
    for name in settings.plugins:
        yield "plugin of the settings", FindingState.OK, name, ""
    if settings.compiler:
        yield "compiler of the settings", FindingState.OK, settings.compiler, ""
