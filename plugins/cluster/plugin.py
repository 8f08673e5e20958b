"""Enters the engines that ship with ckprof, and the options that choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.hookspecs import hookimpl

if TYPE_CHECKING:
    import argparse

    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the kind of engines: several devices of one machine, and Parsl."""
    from ckprof_plugins.cluster.engines import ENGINES, Engine

    registry.add(ENGINES)
    registry.add_lazy(Engine, "ckprof_plugins.cluster.local:LocalEngine")
    registry.add_lazy(Engine, "ckprof_plugins.cluster.parsl_engine:ParslEngine")


@hookimpl
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the options for many devices to the command that measures for hours."""
    if command == "sweep":
        from ckprof_plugins.cluster.runner import add_options

        add_options(parser)
