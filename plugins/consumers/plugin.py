"""Announces the programs that use tuned results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import Consumer


@hookimpl
def ckprof_register_consumers() -> Sequence[Consumer]:
    """Add AITER, hipDNN, Inductor, MIOpen, the old library as traces show it, and generated libraries."""
    from ckprof_plugins.consumers._old_ck.trace_reader import ComposableKernel
    from ckprof_plugins.consumers.aiter.consumer import Aiter
    from ckprof_plugins.consumers.generated_library import GeneratedLibrary
    from ckprof_plugins.consumers.hipdnn import Hipdnn
    from ckprof_plugins.consumers.inductor.list_audit import Inductor
    from ckprof_plugins.consumers.miopen.consumer import Miopen

    return [Aiter(), ComposableKernel(), GeneratedLibrary(), Hipdnn(), Inductor(), Miopen()]
