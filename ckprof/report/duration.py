"""Durations for people."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Return a duration for people, e.g. ``2 h 05 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
