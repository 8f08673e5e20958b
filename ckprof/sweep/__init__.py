"""Measuring many kernels on many problems: what is left to do, in which order, and when it is enough."""

from __future__ import annotations

from typing import Final

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = ("ckprof.sweep.cluster.plugin",)
