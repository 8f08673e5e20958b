"""Adds the options that describe one GEMM instance, and that have kernels pad channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof import hookimpl

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ckprof.model.instance import Instance
    from ckprof.model.types import DataType

#: the commands that work on instances
COMMANDS: Final = frozenset({"run", "build", "generate", "list instances"})
#: those that have kernels of several instances besides
_OF_LISTS: Final = frozenset({"sweep", "tune", "check-support"})


@hookimpl
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the options to the commands that work on instances."""
    if command in COMMANDS:
        from ckprof_plugins.pipelines.spec_option import add_options

        add_options(parser)
    if command in COMMANDS | _OF_LISTS:
        from ckprof_plugins.pipelines.padding import add_option

        add_option(parser)


@hookimpl
def ckprof_make_instances(
    arguments: Mapping[str, object],
    directions: tuple[str, ...],
    ndims: tuple[int, ...],
    dtypes: tuple[DataType, ...],
) -> Sequence[Instance] | None:
    """Return the instance that the option describes."""
    from ckprof_plugins.pipelines.spec_option import instances_from_spec

    return instances_from_spec(arguments, directions, ndims, dtypes)


@hookimpl
def ckprof_modify_instances(instances: list[Instance], arguments: Mapping[str, object]) -> None:
    """Have kernels pad channels, if that is asked for."""
    from ckprof_plugins.pipelines.padding import pad

    pad(instances, arguments)
