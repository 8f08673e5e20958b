"""The properties that a reader needs to reproduce a run."""

from __future__ import annotations

import datetime
import subprocess
import sys
from typing import TYPE_CHECKING

from ckprof.run.host import host_properties
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.recipe import BuildRecipe


def run_environment(
    recipe: BuildRecipe, device: str, options: Mapping[str, object], folder: Path
) -> dict[str, object]:
    """Return host, compiler, flags, versions, command line, git state and options as plain JSON values.

    :param device: what the target says of the device, empty if none was used.
    :param options: the options that influence the figures, seed included.
    :param folder: where the command was called; its git state is recorded.
    """
    return {
        "ckprof_version": __version__,
        "argv": sys.argv[1:],
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "host": host_properties(),
        "device": device,
        "compiler": {
            "command": list(recipe.compiler.command),
            "description": recipe.compiler.description,
            "identity": recipe.compiler.identity,
        },
        "flags": list(recipe.compile_flags),
        "api_level": recipe.api_level,
        "git": git_state(folder),
        "options": dict(options),
    }


def git_state(folder: Path) -> dict[str, object] | None:
    """Return commit and dirty flag of the checkout around ``folder``; ``None`` outside one or without git."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": dirty}


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()
