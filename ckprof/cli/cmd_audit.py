"""``ckprof audit``: will the rows of databases of tuned results be used, and are they right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import Outputs, add_outputs
from ckprof.consumers.audit import audit, write_clean
from ckprof.consumers.requests import AuditCall, DeviceChoice, KernelSources
from ckprof.errors import ExitCode
from ckprof.report.audit_formats import AUDIT_FORMATS, audit_document

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof audit ~/.config/miopen                               # every database of a folder
  ckprof audit gfx942130.db.txt --arch gfx942 --compute-units 304
  ckprof audit gfx942130.HIP.fdb.txt --conf lists/            # lists of 'ckprof extract'
  ckprof audit a8w8_tuned_gemm.csv --tree aiter/              # numbers and names of kernels
  ckprof audit databases/ --fix -o junit=audit.xml

Nothing is compiled or run. Each row is read as its program reads it; its kernel is looked up, and asked by
its own support test whether it supports the problem. Errors are rows that the program rejects or that run
something wrong, warnings are rows that are never used; notes do not fail the audit. --fix writes FILE.clean
beside FILE, without these rows. Exit code 0: sound, 1: something was found that --fail-on names, 3: a file
is of no program.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof audit``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        type=Path,
        help="file or folder of a program that uses tuned results: {consumers}",
    )
    add_fields(parser, AuditCall, "consumer")
    add_fields(parser.add_argument_group("kernels"), KernelSources, "conf", "tree")
    add_fields(parser.add_argument_group("device"), DeviceChoice, "arch", "compute_units")
    group = parser.add_argument_group("result")
    add_fields(group, AuditCall, "fail_on")
    group.add_argument(
        "--fix", action="store_true", help="write FILE.clean beside FILE, without what is wrong"
    )
    group.add_argument(
        "--format",
        default="text",
        choices=AUDIT_FORMATS.ids,
        help="format of the result (default: text); text shows some findings of each reason",
    )
    add_outputs(group)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a file, a list or an option is wrong.
    """
    call = chosen(
        arguments,
        AuditCall,
        paths=tuple(arguments.paths),
        sources=chosen(arguments, KernelSources),
        device=chosen(arguments, DeviceChoice),
    )
    with Outputs(arguments, session, AUDIT_FORMATS) as outputs:
        report = audit(session.registry, call)
        fitted = outputs.format.id == "text"
        outputs.deliver(report, (lambda: session.console.result(audit_document(report))) if fitted else None)
    if arguments.fix:
        for file in report.files:
            clean = write_clean(session.registry, call, file)
            if clean is not None:
                session.console.info(f"wrote {clean}")
    return ExitCode.OK if report.passed else ExitCode.FAILED
