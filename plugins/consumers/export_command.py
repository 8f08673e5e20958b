"""``ckprof export``: verified winners for programs that use them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.fields import add_fields, chosen
from ckprof.errors import ExitCode
from ckprof.store.query import StoreQuery
from ckprof.wording import counted
from ckprof_plugins.consumers.export import ExportCall, export
from ckprof_plugins.consumers.requests import DeviceChoice, KernelSources

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof export results.db --for miopen --program-version 3.2.0.5f2ae8c -o ~/.config/miopen
  ckprof export tune.db --for hipdnn --arch gfx942 --compute-units 304 -o overrides/
  ckprof export gemm.db --for aiter --tree aiter/ -o configs/

Of each problem, the fastest kernel is written whose results were verified. What the program cannot name, or
what its own kernels do not support, is counted by reason, and nothing is written for it. Entries name the
old library's kernel of a winner's list line; what was measured is the kernel that ckprof made of the line.
Winners of another device than the one that --arch and --compute-units name are left out. Exit code 0:
entries were written, 1: there was nothing to write.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof export``."""
    parser.epilog = _EPILOG
    parser.add_argument("store", metavar="STORE", type=Path, help="store of a sweep or a search")
    add_fields(parser, ExportCall, "consumer", "folder", "version")
    group = parser.add_argument_group("device")
    add_fields(group, DeviceChoice, "arch", "compute_units")
    add_fields(group, ExportCall, "any_device")
    add_fields(parser.add_argument_group("kernels"), KernelSources, "conf", "tree")
    add_fields(parser.add_argument_group("which winners"), StoreQuery, "direction", "dtype", "session")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: the store, a list or an option is wrong.
    """
    call = chosen(
        arguments,
        ExportCall,
        store=arguments.store,
        sources=chosen(arguments, KernelSources),
        device=chosen(arguments, DeviceChoice),
        query=chosen(arguments, StoreQuery, "direction", "dtype", "session"),
    )
    result = export(session.registry, call)
    for path in result.paths:
        session.console.info(f"wrote {path}")
    for why, count in result.left_out.most_common():
        session.console.warning(f"{count} left out: {why}")
    session.console.result(f"{counted(result.entries, 'entry', 'entries')} for {call.consumer}")
    return ExitCode.OK if result.entries else ExitCode.FAILED
