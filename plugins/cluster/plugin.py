"""Enters the engines that ship with ckprof, and the options that choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl

if TYPE_CHECKING:
    import argparse

    from ckprof.plugin.protocols.engines import Engine


@hookimpl
def ckprof_register_engines() -> list[Engine]:
    """Enter several devices of one machine, and Parsl, which is imported when it is used."""
    from ckprof_plugins.cluster.local import LocalEngine
    from ckprof_plugins.cluster.parsl_engine import ParslEngine

    return [LocalEngine(), ParslEngine()]


@hookimpl
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the options for many devices to the command that measures for hours."""
    if command == "sweep":
        from ckprof_plugins.cluster.runner import add_options

        add_options(parser)
