"""Derives legacy instance lists from an installed Composable Kernel: its headers and archive."""

from __future__ import annotations
