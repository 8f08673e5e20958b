"""Fills the page of commands with their help texts while the site is built."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

MARKER = "{{ help of every command }}"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marker by the help text of each command."""
    if MARKER not in markdown:
        return markdown
    from ckprof.cli.commands import COMMANDS

    return markdown.replace(MARKER, "\n\n".join(_section(command.name) for command in COMMANDS))


def _section(name: str) -> str:
    help_text = subprocess.run(
        [sys.executable, "-m", "ckprof", name, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "100"},
    ).stdout
    return f"## ckprof {name}\n\n```text\n{help_text.rstrip()}\n```"
