"""Fills the page of commands while the site is built: with their help texts, and with the settings."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

COMMANDS_MARKER = "{{ help of every command }}"
SETTINGS_MARKER = "{{ every setting }}"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers by the help texts of all commands, and by a table of the settings."""
    if COMMANDS_MARKER in markdown:
        from ckprof.cli.commands import COMMANDS

        sections = "\n\n".join(_section(command.name) for command in COMMANDS)
        markdown = markdown.replace(COMMANDS_MARKER, sections)
    return markdown.replace(SETTINGS_MARKER, settings_table())


def settings_table() -> str:
    """Return a row for each setting."""
    from ckprof.option import options_of
    from ckprof.settings import Settings

    rows = ["| setting | what it says | without it |", "| --- | --- | --- |"]
    for setting, option in options_of(Settings):
        rows.append(f"| `{setting.name}` | {option.help} | {option.shown(setting.default)} |")
    return "\n".join(rows)


def _section(name: str) -> str:
    from ckprof.cli.commands import COMMANDS

    longer = any(command.first for command in COMMANDS if command.name == name)
    help_text = subprocess.run(
        [sys.executable, "-m", "ckprof", name, "--help-all" if longer else "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "100"},
    ).stdout
    return f"## ckprof {name}\n\n```text\n{help_text.rstrip()}\n```"
