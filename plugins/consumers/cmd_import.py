"""``ckprof import``: times in files of programs that use tuned results, as measurements of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.fields import add_fields, chosen
from ckprof.errors import ExitCode
from ckprof.model.types import DataType
from ckprof.plugin.protocols.formats import ImportHints
from ckprof.wording import counted
from ckprof_plugins.consumers.attempts import attempts_of
from ckprof_plugins.consumers.audit import AuditCall

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session


_EPILOG = """\
examples:
  ckprof import gfx942130.HIP.fdb.txt --store amd.db --trust
  ckprof import a8w8_tuned_gemm.csv --store amd.db --tag aiter
  ckprof report amd.db -o amd.html

Every time becomes a measurement whose origin is its file. It never competes with measurements of this
program: kernels are known by name alone, and reports rank what the same tools measured on the same device.
Without --trust nothing of them is ranked, since no file proves that results were verified. Exit code 0:
something was read, 1: nothing was.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof import``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths", metavar="FILE", nargs="+", type=Path, help="file with times of kernels: {consumer}"
    )
    parser.add_argument(
        "--store", metavar="FILE", type=Path, required=True, help="store to add to, or a new one"
    )
    add_fields(parser, AuditCall, "consumer")
    parser.add_argument(
        "--trust",
        action="store_true",
        help="take results for verified, which nothing in the files proves: only then are they ranked, "
        "compared and trained on; each says so",
    )
    group = parser.add_argument_group("what a file lacks")
    group.add_argument("--arch", metavar="NAME", help="architecture of the device")
    group.add_argument("--target", metavar="ID", help="where the kernels ran: see 'ckprof list targets'")
    group.add_argument("--dtype", metavar="NAME", help="type of the operands")
    add_fields(group, ImportHints, "layout", "device", "tags")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a file, the store or an option is wrong.
    """
    from ckprof.store.writer import StoreWriter

    hints = chosen(
        arguments,
        ImportHints,
        target=arguments.target or "",
        arch=arguments.arch or "",
        dtype=DataType.parse(arguments.dtype) if arguments.dtype else None,
    )
    options = {"consumer": arguments.consumer or "", "trust": arguments.trust}
    # all files are read before the first is added: a wrong one changes nothing
    read = [(path, list(attempts_of(session.registry, path, hints, **options))) for path in arguments.paths]
    total = sum(len(attempts) for _, attempts in read)
    if not total:
        session.console.warning("no file holds a time: nothing is added")
        return ExitCode.FAILED
    with StoreWriter(arguments.store, wait_s=0, on_wait=session.console.info) as writer:
        for path, attempts in read:
            added = writer.append_many(attempts)
            session.console.info(
                f"{path}: {counted(added, 'outcome')} added, {len(attempts) - added} were there already"
            )
    session.console.result(f"{counted(total, 'outcome')} of {counted(len(read), 'file')}")
    return ExitCode.OK
