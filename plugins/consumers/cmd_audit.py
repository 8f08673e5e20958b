"""``ckprof audit``: will the rows of databases of tuned results be used, and are they right."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import Outputs, add_outputs
from ckprof.errors import ExitCode, InputError
from ckprof.formatting import agreeing, counted
from ckprof.paths import checkout_path
from ckprof.report.ci import JUnit
from ckprof.report.document import Document, Part
from ckprof.report.table import Column, Table
from ckprof.sanitize import json_text, one_line, plain
from ckprof.version import __version__
from ckprof_plugins.consumers.audit import SHOWN, AuditCall, add_case, audit, formats, write_clean
from ckprof_plugins.consumers.records import Reason, Severity

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof_plugins.consumers.records import AuditFinding, AuditReport, FileAudit


_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


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
next to FILE, without these rows; an existing file of that name is kept. Exit code 0: sound, 1: something
was found that --fail-on names, 3: a file belongs to no known program, or cannot be written.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof audit``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        type=Path,
        help="file or folder of a program that uses tuned results: {consumer}",
    )
    add_fields(parser, AuditCall, "consumer")
    add_fields(parser.add_argument_group("kernels"), AuditCall, "conf", "tree")
    add_fields(parser.add_argument_group("device"), AuditCall, "arch", "compute_units", "version")
    group = parser.add_argument_group("result")
    add_fields(group, AuditCall, "fail_on")
    group.add_argument(
        "--fix", action="store_true", help="write FILE.clean next to FILE, without wrong and unused rows"
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
    call = chosen(arguments, AuditCall, paths=tuple(arguments.paths))
    with Outputs(arguments, session, AUDIT_FORMATS) as outputs:
        report = audit(session.registry, call)
        outputs.deliver(report, audit_document)
    refused: InputError | None = None
    for file in report.files if arguments.fix else ():
        try:
            clean = write_clean(session.registry, call, file)
        except InputError as exc:
            # the other files are written
            refused = refused or exc
            continue
        if clean is not None:
            session.console.info(f"wrote {clean}")
    if refused is not None:
        raise refused
    return ExitCode.FAILED if report.failed else ExitCode.OK


SCHEMA: Final = "ckprof.audit"
VERSION: Final = 1
#: findings with the same reason that are spelled out as text
_OF_ONE_REASON: Final = 5


def audit_document(report: AuditReport) -> Document:
    """Return the audit as text: per file what was judged, a summary by reason, and the first findings."""
    parts: list[Part] = []
    for file in report.files:
        parts.append(f"{file.path}: {file.label}, {counted(file.entries, 'entry', 'entries')}")
        rows = [(count, "", "", text) for text, count in file.judged.most_common()]
        rows += [
            (count, reason.severity.value, reason.value, reason.meaning)
            for reason, count in file.by_reason.most_common()
        ]
        if rows:
            parts.append(
                Table(
                    [
                        Column("entries", lambda row: row[0], align="right"),
                        Column("severity", lambda row: row[1]),
                        Column("reason", lambda row: row[2]),
                        Column("", lambda row: row[3], whole_below=True),
                    ],
                    rows,
                )
            )
        lines = [
            f"{place(file, one)}: {one.reason.severity.value}: {one.reason.value}: {one.message}\n"
            f"    {one_line(one.text)}"
            for one in _first(file)
        ]
        hidden = len(file.findings) - len(lines)
        if hidden > 0:
            lines.append(f"... and {hidden} more; --format json has all of them")
        if lines:
            parts.append("\n".join(lines))
    parts.append(verdict(report))
    return Document(parts)


def _first(file: FileAudit) -> list[AuditFinding]:
    """Return findings to be spelled out: of each reason some, errors first, in the order of the file."""
    each = min(_OF_ONE_REASON, max(1, SHOWN // max(1, len(file.by_reason))))
    counts: Counter[Reason] = Counter()
    kept = []
    for severity in Severity:
        for position, finding in enumerate(file.findings):
            if finding.reason.severity is severity:
                counts[finding.reason] += 1
                if counts[finding.reason] <= each:
                    kept.append(position)
    return [file.findings[position] for position in sorted(kept[:SHOWN])]


def place(file: FileAudit, finding: AuditFinding) -> str:
    """Return where a finding is, as compilers write it."""
    return f"{file.path}:{finding.line}" if finding.line else str(file.path)


def verdict(report: AuditReport) -> str:
    """Return one line that says what the exit code means."""
    entries = sum(file.entries for file in report.files)
    found = sum(len(file.findings) for file in report.files)
    counts = f"{counted(len(report.files), 'file')}, {counted(entries, 'entry', 'entries')}"
    if report.failed:
        others = found - report.failed
        fail = agreeing(report.failed, "fails", "fail")
        return f"{counts}: {counted(report.failed, 'finding')} {fail} the audit, {counted(others, 'other')}"
    if found:
        return f"{counts}: {counted(found, 'finding')}, none of which fails the audit"
    return f"{counts}: sound"


def render_text(report: AuditReport) -> str:
    """Render the audit as text of any width."""
    return audit_document(report).text()


def render_json(report: AuditReport) -> str:
    """Render all findings."""
    values = {
        "schema": SCHEMA,
        "version": VERSION,
        "passed": not report.failed,
        "failed": report.failed,
        "lists": report.lists,
        "files": [_file_values(file) for file in report.files],
    }
    return json_text(values, 1) + "\n"


def _file_values(file: FileAudit) -> dict[str, Any]:
    return {
        "path": str(file.path),
        "label": file.label,
        "entries": file.entries,
        "judged": dict(file.judged.most_common()),
        "by_reason": {reason.value: count for reason, count in file.by_reason.most_common()},
        "findings": [
            {
                "line": one.line,
                "entry": one.entry,
                "severity": one.reason.severity.value,
                "reason": one.reason.value,
                "message": one.message,
                "text": one.text,
            }
            for one in file.findings
        ],
    }


def render_junit(report: AuditReport) -> str:
    """Render one suite per file, with a case per reason: what was found is the text of the case."""
    junit = JUnit("ckprof audit")
    for file in report.files:
        suite = junit.suite(file.path.name)
        for reason in Reason:
            found = [finding for finding in file.findings if finding.reason is reason]
            texts = [f"{place(file, one)}: {one.message}: {one.text}" for one in found]
            about = f"{counted(len(found), 'entry', 'entries')}: {reason.meaning}"
            add_case(junit, suite, reason.value, texts, about, fails=reason in report.fail_on)
    return junit.render()


def render_sarif(report: AuditReport) -> str:
    """Render each finding as a result of a rule, which is its reason."""
    driver = {
        "name": "ckprof",
        "version": __version__,
        "rules": [{"id": one.value, "shortDescription": {"text": one.meaning}} for one in Reason],
    }
    results = [_sarif_result(file.path, finding) for file in report.files for finding in file.findings]
    run = {"tool": {"driver": driver}, "results": results}
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, 1) + "\n"


def _sarif_result(path: Path, finding: AuditFinding) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(os.fsencode(checkout_path(path) or path))}}
    if finding.line:
        location["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.reason.value,
        "level": finding.reason.severity.value,
        "message": {"text": plain(f"{finding.message}: {finding.text}")},
        "locations": [{"physicalLocation": location}],
    }


#: every format
AUDIT_FORMATS: Final = formats(
    "audit format",
    {"text": render_text, "json": render_json, "junit": render_junit, "sarif": render_sarif},
)
