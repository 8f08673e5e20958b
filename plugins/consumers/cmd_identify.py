"""``ckprof identify``: which instance a kernel of a trace, a log or a database is."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.cli.outputs import to_output_file
from ckprof.errors import ExitCode
from ckprof.plain_text import one_line
from ckprof.report.document import Document
from ckprof.wording import counted
from ckprof_plugins.consumers.identify import Identifier, texts_of
from ckprof_plugins.consumers.requests import KernelLookup

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof_plugins.consumers.identify import Identified, InstanceMatch

_EPILOG = """\
examples:
  ckprof identify results.csv                          # names of kernels in a table of rocprof
  ckprof identify trace.json                           # a trace of PyTorch's profiler
  ckprof identify miopen.log
  ckprof identify '_ZN7ck_tile6kentryILi1E...'         # a symbol, mangled or readable
  ckprof identify 'DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<256, 128, ...>'

Gives the instance, its line in a list, the problem if the text says it, and the command that runs and
verifies the instance. Several instances may share a symbol; all are shown. Of a file, texts that mean
nothing are counted. Exit code 0: something was identified, 1: nothing was.
"""
#: instances of one text that are shown
_SHOWN: Final = 6


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof identify``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "what", metavar="TEXT|FILE", nargs="+", help="a symbol, a line, a string; or a file that holds some"
    )
    add_fields(parser, KernelLookup, "conf")
    add_format(parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a file or a list cannot be read.
    """
    identifier = Identifier(registry=session.registry, names=chosen(arguments, KernelLookup, "conf").conf)
    found: list[Identified] = []
    unknown = 0
    for what in arguments.what:
        path = Path(what)
        is_file = len(what) < 4096 and "<" not in what and path.is_file()
        texts = texts_of(path) if is_file else [(what, "", 1)]
        for text, where, count in texts:
            one = identifier.identify(text, where, count)
            if one.what or not is_file:
                found.append(one)
            else:
                unknown += 1
    with to_output_file(arguments, session):
        if arguments.format == "json":
            session.console.result(json.dumps([asdict(one) for one in found], indent=1))
        else:
            session.console.result(Document([_text(one) for one in found]))
    if unknown:
        session.console.info(f"{counted(unknown, 'text')} of files say nothing of a known kernel")
    return ExitCode.OK if any(one.what for one in found) else ExitCode.FAILED


def _text(one: Identified) -> str:
    times = f" ({one.count} times)" if one.count > 1 else ""
    place = f"{one.where}: " if one.where else ""
    lines = [f"{place}{one.what or 'unknown'}{f' ({one.direction})' if one.direction else ''}{times}"]
    lines.append(f"  text      {_shortened(one.text)}")
    if one.problem:
        lines.append(f"  problem   {one.problem}")
    for match in one.matches[:_SHOWN]:
        lines += _match_lines(match)
    if len(one.matches) > _SHOWN:
        lines.append(f"  ... and {len(one.matches) - _SHOWN} more instances; --format json has all of them")
    if one.note:
        lines.append(f"  note      {one.note}")
    return "\n".join(lines)


def _match_lines(match: InstanceMatch) -> list[str]:
    lines = [f"  list line {match.source}"]
    if match.line:
        lines.append(f"            {_shortened(match.line)}")
    if match.kernel:
        lines.append(f"  kernel    {match.kernel}")
        lines.append(f"  instance  {match.instance_string}")
    if match.command:
        lines.append(f"  verify    {match.command}")
    if match.note:
        lines.append(f"  note      {match.note}")
    return lines


def _shortened(text: str) -> str:
    plain = one_line(text)
    return plain if len(plain) <= 200 else f"{plain[:200]}..."
