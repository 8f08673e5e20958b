"""The options of ``ckprof compare --settle``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.instances import add_instance_options, chosen_query
from ckprof.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from ckprof.api.settling import SettleOptions
    from ckprof.cli.session import Session


def add_settle_options(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add what says which kernels are run again, and how each side is built."""
    group = parser.add_argument_group("settling")
    group.add_argument(
        "--settle",
        action="store_true",
        help="build the kernels of unclear rows for both sides, and measure them again, interleaved",
    )
    group.add_argument(
        "--old-compiler", metavar="COMPILER", help="compiler of the old side (default: that of the new one)"
    )
    group.add_argument(
        "--settle-rounds", type=int, default=20, metavar="N", help="rounds of a row at most (default: 20)"
    )
    add_instance_options(parser, session)
    shared_options.add_build_options(parser, session)


def chosen_settling(arguments: argparse.Namespace, session: Session) -> SettleOptions | None:
    """Return what the options say; ``None`` without ``--settle``.

    :raises UsageError: no kernels are named, or a number is out of range.
    """
    if not arguments.settle:
        return None
    from ckprof.api.settling import SettleOptions
    from ckprof.compare.settle import SettleLimits

    query = chosen_query(arguments, session, [])
    if not query.conf and query.rule_set is None:
        raise UsageError("--settle requires the list that the kernels come from: --conf or --rule-set")
    new = shared_options.chosen_build_options(arguments)
    return SettleOptions(
        query=query,
        old=replace(new, compiler=arguments.old_compiler or new.compiler, build_dir=None),
        new=new,
        limits=SettleLimits(max_rounds=arguments.settle_rounds),
    )
