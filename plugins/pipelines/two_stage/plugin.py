"""Announces the two-stage family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Pipeline
    from ckprof_converters.records import GemmRecord


@hookimpl
def ckprof_register_pipelines() -> Sequence[Pipeline[GemmRecord]]:
    """Add the two-stage family."""
    from ckprof_plugins.pipelines.two_stage.pipeline import TwoStagePipeline

    return [TwoStagePipeline()]
