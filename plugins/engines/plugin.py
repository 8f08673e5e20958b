"""Enters the engines that ship with ckprof beside its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.protocols.engines import Engine


@hookimpl
def ckprof_register_engines() -> list[Engine]:
    """Enter Parsl, which is imported when it is used."""
    from ckprof_plugins.engines.parsl_engine import ParslEngine

    return [ParslEngine()]
