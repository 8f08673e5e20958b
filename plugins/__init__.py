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
    "code_objects",
    "consumers",
    "cuda",
    "dispatcher",
    "emulator",
    "extract",
    "hunt",
    "judge",
    "old_ck",
    "pages",
    "tuning",
)

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = (
    "ckprof_plugins.baselines",
    "ckprof_plugins.directions",
    "ckprof_plugins.operations.gemm",
    "ckprof_plugins.pipelines",
    "ckprof_plugins.pipelines.depthwise",
    "ckprof_plugins.pipelines.implicit_gemm",
    "ckprof_plugins.pipelines.stream_k",
    "ckprof_plugins.pipelines.two_stage",
    "ckprof_plugins.pipelines.universal_gemm",
    "ckprof_plugins.rule_sets",
    "ckprof_plugins.targets.cpu",
    "ckprof_plugins.targets.hip",
    *(
        f"ckprof_plugins.{name}.plugin"
        for name in FEATURE_PACKAGES
        if (Path(__file__).parent / name / "plugin.py").is_file()
    ),
)
