"""``ckprof import``: times in files of programs that use tuned results, as measurements of a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli.fields import add_fields, chosen
from ckprof.errors import ExitCode, PluginError, UsageError
from ckprof.formatting import counted
from ckprof.model.outcome import Status, Verification
from ckprof.model.types import DataType
from ckprof.plugin.members import offers
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.sanitize import encodable
from ckprof.store.attempt import Attempt
from ckprof_plugins.consumers.audit import AuditCall, ids_with, required_consumer
from ckprof_plugins.consumers.protocols import CONSUMERS, Consumer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ckprof.cli.session import Session
    from ckprof.plugin.registry import Registry


#: what the verification of attempts says that were taken on trust
TRUSTED: Final = "none here: taken on trust from"


def attempts_of(
    registry: Registry, path: Path, hints: ImportHints, *, consumer: str = "", trust: bool = False
) -> Iterator[Attempt]:
    """Yield the measurements of a file, each with its origin.

    :param consumer: id of the program that owns the file; empty: the one that recognises it.
    :param trust: take results for verified, which nothing in the file proves.
    :raises InputError: the file cannot be read, or is of no known program.
    :raises UsageError: the program's files have no times, or do not say what must be known.
    """
    owner = required_consumer(registry, path, consumer)
    if not offers(owner, Consumer.measurements):
        readers = ids_with(registry, Consumer.measurements)
        raise UsageError(f"{path}: files of {owner.id} hold no times of kernels; those of {readers} do")
    reference = encodable(f"{TRUSTED} {path.name}")
    trusted = Verification(
        max_error=0.0, wrong_elements=0, elements=0, rtol=0.0, atol=0.0, reference=reference
    )
    for attempt in owner.measurements(path, hints):
        if not isinstance(attempt, Attempt):
            raise PluginError(
                f"plugin {registry.entries(CONSUMERS).provider(owner.id)}: consumer {owner.id!r}: "
                f"measurements yields {type(attempt).__name__}, expected Attempt"
            )
        taken = trust and attempt.status is Status.OK and attempt.verification is None
        yield replace(attempt, verification=trusted) if taken else attempt


_EPILOG = """\
examples:
  ckprof import gfx942130.HIP.fdb.txt --store amd.db --trust
  ckprof import a8w8_tuned_gemm.csv --store amd.db --tag aiter
  ckprof report amd.db -o amd.html

Every time becomes a measurement whose origin is its file. It is never ranked against ckprof's own
measurements: its kernels are known by name only. Reports rank times of the same tools on the same device.
Without --trust they are not ranked at all, since no file proves that results were verified. Exit code 0:
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
