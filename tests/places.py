"""Folders of files that tests read."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"
