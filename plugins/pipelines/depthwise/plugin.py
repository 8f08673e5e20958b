"""Announces the depthwise family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Pipeline
    from ckprof_converters.records import DepthwiseRecord


@hookimpl
def ckprof_register_pipelines() -> Sequence[Pipeline[DepthwiseRecord]]:
    """Add the depthwise family."""
    from ckprof_plugins.pipelines.depthwise.pipeline import DepthwisePipeline

    return [DepthwisePipeline()]
