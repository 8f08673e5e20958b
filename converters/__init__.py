"""Readers of legacy instance lists; they reach ckprof through hooks alone."""

from __future__ import annotations

from typing import Final

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = ("ckprof_converters.plugin",)
