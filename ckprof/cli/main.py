"""Placeholder until the commands land."""

from __future__ import annotations


def main() -> int:
    """Entry point."""
    return 2
