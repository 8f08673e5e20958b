"""What the package registers: search strategies, and the choice of kernels by a time model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.parser import CommandParser
from ckprof.plugin.hookspecs import hookimpl
from ckprof_plugins.tuning.strategies import SHIPPED, STRATEGIES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ckprof.kernels.build_dir import BuildDir
    from ckprof.kernels.candidates import Candidate
    from ckprof.plugin.additions import Additions
    from ckprof.plugin.protocols import SourceAddition
    from ckprof.session import Session


@hookimpl
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Let ``generate`` take a time model, and other commands know predictions."""
    if command in ("sweep", "results", "report", "compare", "inspect"):
        from ckprof_plugins.tuning.stored.options import add_options

        add_options(command, parser)
    if command != "generate":
        return
    group = parser.add_argument_group("choice by predicted times")
    group.add_argument(
        "--model",
        type=Path,
        metavar="FILE",
        help="a file of 'ckprof train': the registry's selection and the C interface then take the supported "
        "kernel with the smallest predicted time instead of the first one",
    )
    group.add_argument("--force", action="store_true", help="use a model of another device anyway")
    if isinstance(parser, CommandParser):
        parser.first = (*parser.first, "--model")


@hookimpl
def ckprof_add_sources(
    arguments: Mapping[str, object],
    session: Session,
    build_dir: BuildDir,
    candidates: Sequence[Candidate],
) -> SourceAddition | None:
    """Rank kernels by the times that a model predicts, if one is given."""
    path = arguments.get("model")
    if not isinstance(path, (str, Path)):
        return None
    from ckprof_plugins.tuning.time_model.embedding import predicted_ranking

    force = bool(arguments.get("force"))
    return predicted_ranking(session, Path(path), build_dir, candidates, force=force)


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the kind of strategies, those that ship with it, and the form of the tile engine's tables."""
    from ckprof.plugin.protocols import StoreFormat

    registry.add(STRATEGIES, *SHIPPED)
    registry.add_lazy(StoreFormat, "ckprof_plugins.tuning.benchmark_table:FORMAT")
