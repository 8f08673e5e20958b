"""What ships with ckprof: directions, pipelines, rule sets, targets, baselines, and feature packages.

A feature package is a folder here with a line in :data:`FEATURE_PACKAGES`. The folder may be deleted: a line
without one is a package that is not installed. All that it brings lies there: hooks in ``plugin.py``, tests
in ``tests``, pages in ``docs``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FEATURE_PACKAGES: Final = (
    "cluster",
    "consumers",
    "cuda",
    "emulator",
    "extract",
    "pages",
    "tuning",
)

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = (
    "ckprof_plugins.baselines.plugin",
    "ckprof_plugins.directions.plugin",
    "ckprof_plugins.operations.gemm.plugin",
    "ckprof_plugins.pipelines.depthwise.plugin",
    "ckprof_plugins.pipelines._gemm.plugin",
    "ckprof_plugins.pipelines.implicit_gemm.plugin",
    "ckprof_plugins.pipelines.stream_k.plugin",
    "ckprof_plugins.pipelines.two_stage.plugin",
    "ckprof_plugins.pipelines.universal_gemm.plugin",
    "ckprof_plugins.rule_sets.plugin",
    "ckprof_plugins.targets.cpu.plugin",
    "ckprof_plugins.targets.hip.plugin",
    *(
        f"ckprof_plugins.{name}.plugin"
        for name in FEATURE_PACKAGES
        if (Path(__file__).parent / name / "plugin.py").is_file()
    ),
)
