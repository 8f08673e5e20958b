"""The programs that use tuned results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register AITER, hipDNN, Inductor, MIOpen, traces of the old library, and generated libraries."""
    from ckprof.plugin.protocols import Consumer

    registry.add_lazy(Consumer, "ckprof_plugins.consumers._old_ck.trace_reader:ComposableKernel")
    registry.add_lazy(Consumer, "ckprof_plugins.consumers.aiter.consumer:Aiter")
    registry.add_lazy(Consumer, "ckprof_plugins.consumers.generated_library:GeneratedLibrary")
    registry.add_lazy(Consumer, "ckprof_plugins.consumers.hipdnn:Hipdnn")
    registry.add_lazy(Consumer, "ckprof_plugins.consumers.inductor.list_audit:Inductor")
    registry.add_lazy(Consumer, "ckprof_plugins.consumers.miopen.consumer:Miopen")
