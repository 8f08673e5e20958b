"""``ckprof doctor``: what is found, what is missing, what to install."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.fields import add_format
from ckprof.errors import ExitCode
from ckprof.measure.canary import canary_finding
from ckprof.model.device import FindingState
from ckprof.report.table import Column, Table
from ckprof.settings import find_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


from ckprof.cli.session import Session


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof doctor``."""
    parser.epilog = "Exit code 5 when something is missing or broken that the embedded default needs.\n"
    add_format(parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command."""
    rows = [
        (target.id, finding.topic, finding.state, finding.detail, finding.advice)
        for target in session.registry.targets
        for findings in (
            target.findings(),
            filter(None, [canary_finding(target)]),
            # what devices that any machine has need for its kernels
            *(device.findings() for device in session.registry.devices if device.target == target.id),
        )
        for finding in findings
    ]
    rows += [
        ("", f"plugin {plugin.name}", FindingState.BROKEN, plugin.error, "see 'ckprof plugins'")
        for plugin in session.manager.broken
    ]
    rows += [("", *row) for row in _settings_rows(arguments, session)]
    columns: list[Column[tuple[str, str, FindingState, str, str]]] = [
        Column("target", lambda row: row[0]),
        Column("topic", lambda row: row[1]),
        Column("state", lambda row: row[2].value),
        Column("found", lambda row: row[3], whole_below=True),
        Column("what to do", lambda row: row[4], whole_below=True),
    ]
    table = Table(columns, rows, label=lambda row: f"{row[0]} {row[1]}".strip())
    session.console.table(table, arguments.format)
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
    path, message = (explicit, "") if explicit else find_file(Path.cwd())
    if message:
        yield "settings", FindingState.OPTIONAL, message, ""
    if path is not None:
        yield "settings", FindingState.OK, str(path), ""
    settings = session.settings
    for name in settings.plugins:
        yield "plugin of the settings", FindingState.OK, name, ""
    if settings.compiler:
        yield "compiler of the settings", FindingState.OK, settings.compiler, ""
