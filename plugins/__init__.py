"""What ships with ckprof: directions, pipelines, rule sets, targets, baselines, each through hooks alone."""

from __future__ import annotations

from typing import Final

#: modules with hook implementations, loaded by the plugin manager
PLUGIN_MODULES: Final = (
    "ckprof_plugins.baselines.plugin",
    "ckprof_plugins.consumers.plugin",
    "ckprof_plugins.directions.plugin",
    "ckprof_plugins.engines.plugin",
    "ckprof_plugins.extract.plugin",
    "ckprof_plugins.operations.gemm.plugin",
    "ckprof_plugins.pipelines.depthwise.plugin",
    "ckprof_plugins.pipelines._gemm.plugin",
    "ckprof_plugins.pipelines.implicit_gemm.plugin",
    "ckprof_plugins.pipelines.stream_k.plugin",
    "ckprof_plugins.pipelines.two_stage.plugin",
    "ckprof_plugins.pipelines.universal_gemm.plugin",
    "ckprof_plugins.rule_sets.plugin",
    "ckprof_plugins.targets.cpu.plugin",
    "ckprof_plugins.targets.cuda.plugin",
    "ckprof_plugins.targets.hip.plugin",
)
