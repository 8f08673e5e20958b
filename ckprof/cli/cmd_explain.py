"""``ckprof explain``: what becomes of one line of an instance list, and why."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from ckprof.cli import shared_options
from ckprof.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.flow.explain_line import ExplainedPlace
    from ckprof.model.explanation import ExplainedLine

_EPILOG = """\
examples:
  ckprof explain forward/tests/nhwgc_fp16:7          # line 7 of a list that ships with ckprof
  ckprof explain my.conf:7:12                        # places as error messages print them work, too
  ckprof explain 'GroupedConvolutionForwardDepthwise<32,32,3,1,1,1,1,1,4,4,8,8>'
  ckprof explain --layout nhwgc --dtype fp16 'DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<64, 64, ...>'

Shows every argument with its name and what it became, every key of the record with its origin, the rule that
dropped the line, or what is wrong with it. Exit code 3 if the line is wrong.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof explain``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "line",
        metavar="LINE|FILE:LINE",
        nargs="+",
        help="a line of a list, or where it stands; several in turn",
    )
    shared_options.add_reading_options(parser, lenient=False)
    shared_options.add_conversion_options(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: there is no such file or line, or no converter knows such lines.
    """
    reading = shared_options.chosen_list_reading(arguments, session)
    explained = [session.profiler.explain(text, reading=reading) for text in arguments.line]
    if arguments.format == "json":
        session.console.result(json.dumps([_values(place) for place in explained], indent=2))
    else:
        session.console.result("\n\n".join(_text(place) for place in explained))
    wrong = any(place.explained.errors or place.error for place in explained)
    return ExitCode.INPUT if wrong else ExitCode.OK


def _values(place: ExplainedPlace) -> dict[str, Any]:
    values = asdict(place.explained)
    return {"path": str(place.path) if place.path else None, "line": place.line, **values} | (
        {"rule": place.rule, "reason": place.reason} if place.rule else {}
    )


def _text(place: ExplainedPlace) -> str:
    line = place.explained
    head = f"{place.path}:{place.line}: " if place.path else ""
    parts = [head + (f"{line.title} ({line.direction or 'no direction'})" if line.title else "no instance")]
    if line.fields:
        parts.append(_argument_table(line))
    if line.record:
        parts.append(_key_table(line))
        if line.rules:
            parts.append("\n".join(f"{rule.id}: {rule.text}" for rule in line.rules))
    if line.note:
        parts.append(f"note: {line.note}")
    rule, reason = (place.rule, place.reason) if place.rule else (line.rule, line.reason)
    if line.errors or place.error:
        parts += [f"wrong at column {column}: {message}" for column, message in line.errors]
        if place.error:
            parts.append(f"wrong in its list: {place.error}")
    elif rule:
        parts.append(f"dropped by {rule}: {reason}")
    else:
        parts.append(f"gives an instance of variant {line.variant}")
    return "\n\n".join(parts)


def _argument_table(line: ExplainedLine) -> str:
    rows = [
        (
            field.position,
            field.column,
            field.name,
            field.text,
            field.error or (", ".join(field.becomes) if field.becomes else _unused(field.read)),
        )
        for field in line.fields
    ]
    return tabulate(rows, headers=("#", "column", "argument", "text", "becomes"), disable_numparse=True)


def _unused(read: bool) -> str:
    return "(used by a check)" if read else "(checked, no influence)"


def _key_table(line: ExplainedLine) -> str:
    rows = [(key.name, json.dumps(key.value), key.origin) for key in line.record]
    return tabulate(rows, headers=("key", "value", "from"), disable_numparse=True)
