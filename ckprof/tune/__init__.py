"""Finding the best kernels without measuring them all: what to measure next, and when it is enough."""

from __future__ import annotations

from typing import Final

#: modules with hook implementations
PLUGIN_MODULES: Final = ("ckprof.tune.plugin",)
