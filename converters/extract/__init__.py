"""Derives legacy instance lists from an installed Composable Kernel: its headers and its archive's symbols."""

from __future__ import annotations
