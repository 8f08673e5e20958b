"""Results as tables, JSON, CSV, Markdown, HTML and images."""

from __future__ import annotations

from typing import Final

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = ("ckprof.report.plugin",)
