"""The engine that ships with ckprof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.protocols.engines import Engine


@hookimpl
def ckprof_register_engines() -> list[Engine]:
    """Enter the engine for several devices of one machine."""
    from ckprof.sweep.cluster.local import LocalEngine

    return [LocalEngine()]
