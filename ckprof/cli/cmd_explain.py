"""``ckprof explain``: what becomes of one line of an instance list, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, add_format
from ckprof.errors import ExitCode
from ckprof.kernels.candidates import list_candidates
from ckprof.kernels.choose import chosen_architecture
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.architecture import LATEST_API_LEVEL
from ckprof.model.conversion import ListReading
from ckprof.report.document import Document
from ckprof.report.table import Column, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ckprof.cli.session import Session
    from ckprof.model.conversion import ExplainedField, ExplainedLine

_EPILOG = """\
examples:
  ckprof explain forward/tests/nhwgc_fp16:7          # line 7 of a list that ships with ckprof
  ckprof explain my.conf:7:12                        # places as error messages print them work, too
  ckprof explain 'GroupedConvolutionForwardDepthwise<32,32,3,1,1,1,1,1,4,4,8,8>'
  ckprof explain --layout nhwgc --dtype fp16 'DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<64, 64, ...>'

Shows every argument with its name and what it became, every key of the record with its origin, the rule
that dropped the line, or what is wrong with it; then the kernel's name, the instance string of CK Tile, and
the rules that it breaks. Exit code 3 if the line is wrong.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof explain``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "line",
        metavar="LINE|FILE:LINE",
        nargs="+",
        help="a line of a list, or its place; several are explained one by one",
    )
    add_fields(parser, ListReading, "layout", "dtype", "mma_k_table", "upstream_comments")
    add_format(parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: there is no such file or line, or no converter knows such lines.
    """
    reading = shared_options.chosen_list_reading(arguments, session)
    explained = [session.profiler.explain(text, reading=reading) for text in arguments.line]
    if arguments.format == "json":
        session.console.result(json.dumps([_values(line, session) for line in explained], indent=2))
    else:
        session.console.result(Document([part for line in explained for part in _parts(line, session)]))
    wrong = any(line.errors or line.list_error for line in explained)
    return ExitCode.INPUT if wrong else ExitCode.OK


def _kernels(line: ExplainedLine, session: Session) -> Iterator[dict[str, Any]]:
    """Yield the kernels of a line with the rules that forbid to build them."""
    arch = chosen_architecture(session.profiler, InstanceQuery()).name
    for one in list_candidates([line.conversion] if line.conversion else [], session.registry):
        unmet = one.pipeline.unmet_requirements(one.instance, arch, LATEST_API_LEVEL)
        broken = {rule.rule: rule.message for rule in unmet}
        text = one.selected().instance_string
        yield {"kernel": one.name, "instance string": text, "arch": arch, "broken": broken}


def _values(line: ExplainedLine, session: Session) -> dict[str, Any]:
    values = asdict(replace(line, conversion=None)) | {
        "path": str(line.path) if line.path else None,
        "record": [{"name": name, "value": one, "origin": why} for name, (one, why) in line.record.items()],
        "rules": [{"id": id_, "text": text} for id_, text in line.rules.items()],
        "kernels": [*_kernels(line, session)],
    }
    return {name: value for name, value in values.items() if name not in ("list_error", "conversion")}


def _parts(line: ExplainedLine, session: Session) -> list[str | Table[Any]]:
    head = f"{line.path}:{line.line}: " if line.path else ""
    parts: list[str | Table[Any]] = [
        head + (f"{line.title} ({line.direction or 'no direction'})" if line.title else "no instance")
    ]
    if line.fields:
        parts.append(_argument_table(line))
    if line.record:
        parts.append(_key_table(line))
        if line.rules:
            parts.append("\n".join(f"{id_}: {text}" for id_, text in line.rules.items()))
    if line.lossy:
        parts.append(f"lossy: the kernel does without {line.lossy}")
    if line.note:
        parts.append(f"note: {line.note}")
    if line.errors or line.list_error:
        parts += [f"wrong at column {column}: {message}" for column, message in line.errors]
        if line.list_error:
            parts.append(f"wrong in its list: {line.list_error}")
    elif line.rule:
        parts.append(f"dropped by {line.rule}: {line.reason}")
    else:
        parts.append(f"gives an instance of variant {line.variant}")
    for one in _kernels(line, session):
        broken = [f"fails on {one['arch']}: {text} ({rule})" for rule, text in one["broken"].items()]
        kernel = f"kernel: {one['kernel']}\ninstance string: {one['instance string']}"
        parts.append("\n".join([kernel, *(broken or [f"all rules hold on {one['arch']}"])]))
    return parts


def _argument_table(line: ExplainedLine) -> Table[ExplainedField]:
    def becomes(field: ExplainedField) -> str:
        unused = "(validated)" if field.read else "(validated, unused)"
        return field.error or ", ".join(field.becomes) or unused

    columns: list[Column[ExplainedField]] = [
        Column("#", lambda field: field.position),
        Column("column", lambda field: field.column),
        Column("argument", lambda field: field.name),
        Column("text", lambda field: field.text),
        Column("becomes", becomes, whole_below=True),
    ]
    return Table(columns, line.fields)


def _key_table(line: ExplainedLine) -> Table[tuple[str, tuple[Any, str]]]:
    columns: list[Column[tuple[str, tuple[Any, str]]]] = [
        Column("key", lambda item: item[0]),
        Column("value", lambda item: json.dumps(item[1][0])),
        Column("from", lambda item: item[1][1], whole_below=True),
    ]
    return Table(columns, [*line.record.items()])
