"""Time models, and searches for the best kernels."""

from __future__ import annotations

from typing import Final

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = ("ckprof.tuning.search.plugin",)
