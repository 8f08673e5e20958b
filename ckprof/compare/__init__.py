"""Comparing measurements: what became faster, slower or wrong between two sides."""

from __future__ import annotations

from typing import Final

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = ("ckprof.compare.plugin",)
