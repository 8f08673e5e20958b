"""Adds the options that describe one GEMM instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof_plugins.pipelines.gemm_family import by_hand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.model.dtype import DataType
    from ckprof.model.instance import Instance


@hookimpl
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the options to the commands that work on instances."""
    if command in by_hand.COMMANDS:
        by_hand.add_options(parser)


@hookimpl
def ckprof_make_instances(
    arguments: argparse.Namespace,
    directions: tuple[str, ...],
    ndims: tuple[int, ...],
    dtypes: tuple[DataType, ...],
) -> Sequence[Instance] | None:
    """Return the instance that the options describe."""
    return by_hand.instances_by_hand(arguments, directions, ndims, dtypes)
