"""Adds the pages of feature packages to the site, and fills the page of commands: help texts and settings.

A feature package has its pages in its own folder, ``plugins/NAME/docs/*.md``. Pages link to each other as
files of the checkout do.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMANDS_MARKER = "{{ help of every command }}"
SETTINGS_MARKER = "{{ every setting }}"

_ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>[^)#:]+)(?P<anchor>#[^)]*)?\)")
_TASKS = "Tasks"


def package_pages() -> list[Path]:
    """Return the pages of feature packages."""
    return sorted((_ROOT / "plugins").glob("*/docs/*.md"))


def on_config(config: Any) -> Any:
    """Have the pages of feature packages among the tasks."""
    tasks = next(entry[_TASKS] for entry in config["nav"] if _TASKS in entry)
    tasks += [page.name for page in package_pages()]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Have those pages, and the images next to them, on the site."""
    from mkdocs.structure.files import File

    for page in package_pages():
        for path in (page, *sorted((page.parent / "images").glob("*"))):
            name = path.relative_to(page.parent).as_posix()
            if name not in files.src_uris:
                files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def links_of_the_site(markdown: str, page: Path) -> str:
    """Return a page with its links as they are on the site; those to packages that are not here are text."""

    def link(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(page.parent / match["path"]))
        place, own = _place(target), _place(page)
        if place is None or own is None:
            return match[0]
        if not target.exists():
            return match["text"]
        return f"[{match['text']}]({posixpath.relpath(place, posixpath.dirname(own))}{match['anchor'] or ''})"

    return _LINK.sub(link, markdown)


def _place(path: Path) -> str | None:
    """Return where the site has a file."""
    names = path.relative_to(_ROOT).parts if path.is_relative_to(_ROOT) else ()
    if names[:1] == ("docs",):
        return "/".join(names[1:])
    return "/".join(names[3:]) if names[:1] == ("plugins",) and names[2:3] == ("docs",) else None


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Replace the markers by the help texts of all commands, and by a table of the settings."""
    if page is not None:
        markdown = links_of_the_site(markdown, Path(page.file.abs_src_path))
    if COMMANDS_MARKER in markdown:
        from ckprof.cli.commands import command_table

        commands = [command for command in command_table() if command.is_built_in]
        sections = "\n\n".join(_section(command.name, command.first) for command in commands)
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


def _section(name: str, first: str = "") -> str:
    """Return the help of a command, the long one where there are two."""
    help_text = subprocess.run(
        [sys.executable, "-m", "ckprof", name, "--help-all" if first else "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "100"},
    ).stdout
    return f"## ckprof {name}\n\n```text\n{help_text.rstrip()}\n```"
