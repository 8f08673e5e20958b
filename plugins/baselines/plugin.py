"""Announces the libraries of others that instances can be compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Baseline


@hookimpl
def ckprof_register_baselines() -> Sequence[Baseline]:
    """Add the vendor's library through torch."""
    from ckprof_plugins.baselines.torch_baseline import TorchBaseline

    return [TorchBaseline()]
