"""Programs that use tuned results as a kind of objects, and those that are known."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof.plugin.protocols import StoreFormat
from ckprof_plugins.consumers.protocols import CONSUMERS, Consumer

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the kind and the programs that are known, and formats: Parquet, T4, reports of runs."""
    registry.add(CONSUMERS)
    registry.add_lazy(
        StoreFormat,
        "ckprof_plugins.consumers.parquet:FORMAT",
        "ckprof_plugins.consumers.run_report:FORMAT",
        "ckprof_plugins.consumers.t4:FORMAT",
    )
    # what the old library calls its kernels is known there; commands say that it is missing
    if importlib.util.find_spec("ckprof_plugins.extract") is not None:
        registry.add_lazy(
            Consumer,
            "ckprof_plugins.consumers._old_ck.trace_reader:ComposableKernel",
            "ckprof_plugins.consumers.aiter.consumer:Aiter",
            "ckprof_plugins.consumers.generated_library:GeneratedLibrary",
            "ckprof_plugins.consumers.hipdnn:Hipdnn",
            "ckprof_plugins.consumers.inductor.lists:Inductor",
            "ckprof_plugins.consumers.miopen.consumer:Miopen",
        )
