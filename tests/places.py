"""Folders of files that tests read."""

from __future__ import annotations

from pathlib import Path

from ckprof_plugins import FEATURE_PACKAGES

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"
PLUGINS = TESTS.parent / "plugins"


def left_out(path: Path) -> bool:
    """Say whether a path leads into a feature package that is not there."""
    if not path.is_relative_to(PLUGINS):
        return False
    package = path.relative_to(PLUGINS).parts[0]
    return package in FEATURE_PACKAGES and not (PLUGINS / package).exists()
