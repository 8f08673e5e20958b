"""The one place that holds ckprof's version."""

from __future__ import annotations

__version__ = "0.1.0"
