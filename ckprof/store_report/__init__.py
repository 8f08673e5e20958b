"""The report of a store: one HTML page, or Markdown for pull requests."""

from __future__ import annotations

from typing import Final

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = ("ckprof.store_report.plugin",)
