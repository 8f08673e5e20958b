"""Comparisons for programs: JSON, CSV and JUnit."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

from ckprof.compare.records import (
    COLUMNS,
    display_name,
    problem_fields,
    problem_record,
    row_record,
    unmatched_record,
)
from ckprof.plain_text import csv_cell
from ckprof.statistics.verdict import Verdict

if TYPE_CHECKING:
    from ckprof.compare.model import ComparedRow, Comparison

SCHEMA: Final = "ckprof.compare"

#: raised whenever a key changes its meaning or vanishes; new keys do not raise it
VERSION: Final = 1

#: characters that XML 1.0 does not allow
_CONTROL: Final = {code: "?" for code in range(32) if chr(code) not in "\t\n\r"}


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return everything as plain values. Ratios are new time / old time."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "old": comparison.old_label,
        "new": comparison.new_label,
        "policy": asdict(comparison.policy),
        "verdicts": {verdict.value: count for verdict, count in comparison.verdicts.items()},
        "geometric_mean": asdict(comparison.geometric_mean) if comparison.geometric_mean else None,
        "settled": comparison.settled,
        "what_changed": [asdict(one) for one in comparison.what_changed],
        "problems": [problem_record(one) for one in comparison.problems],
        "rows": [
            {**row_record(row), "problem_fields": problem_fields(row), "worsened": row.worsened}
            for row in comparison.rows
        ],
        "only_old": [unmatched_record(row) for row in comparison.only_old],
        "only_new": [unmatched_record(row) for row in comparison.only_new],
    }


def render_json(comparison: Comparison) -> str:
    """Render everything."""
    return json.dumps(as_json(comparison), indent=2) + "\n"


def render_csv(comparison: Comparison) -> str:
    """Render one line per matched row; empty cells where there is no such figure."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: csv_cell(value) for name, value in row.items()} for row in map(row_record, comparison.rows)
    )
    return buffer.getvalue()


def render_junit(comparison: Comparison) -> str:
    """Render one test suite per problem and one test case per row.

    Slower rows and kernels that stopped to work are failures; unclear rows count as skipped.
    """
    groups: dict[str, list[ComparedRow]] = defaultdict(list)
    for row in comparison.rows:
        key = row.key.problem
        groups[" ".join(filter(None, (key.direction, key.dtype, key.problem.describe())))].append(row)
    root = ElementTree.Element("testsuites", name=f"{comparison.old_label} against {comparison.new_label}")
    for name, rows in groups.items():
        suite = ElementTree.SubElement(root, "testsuite", name=name)
        for row in rows:
            _case(suite, name, row)
        for attribute, tag in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
        suite.set("tests", str(len(rows)))
        suite.set("errors", "0")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, problem: str, row: ComparedRow) -> None:
    case = ElementTree.SubElement(suite, "testcase", name=display_name(row.old), classname=problem)
    if row.new.ranked:
        case.set("time", f"{row.new.mean_ms / 1e3:.9f}")
    verdict = row.judgement.verdict if row.judgement else None
    if row.worsened:
        text = f"{row.old.status.value} -> {row.new.status.value}: {row.new.reason}"
        ElementTree.SubElement(case, "failure", type="status", message=text.translate(_CONTROL))
    elif verdict is Verdict.SLOWER and row.judgement:
        text = f"{row.judgement.change.ratio - 1:+.1%}: {row.old.mean_ms:.4g} ms -> {row.new.mean_ms:.4g} ms"
        ElementTree.SubElement(case, "failure", type="slower", message=text)
    elif verdict is Verdict.UNCLEAR and row.judgement:
        needed = row.judgement.rounds_needed
        rounds = f"about {needed} rounds" if needed else "more than 1000 rounds"
        ElementTree.SubElement(case, "skipped", message=f"unclear: {rounds} would settle it")
