"""Comparisons for CI services: JUnit XML, and annotations for GitHub Actions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ckprof.compare.verdict import Verdict
from ckprof.report.comparison.summary import settling_text
from ckprof.report.figures import display_name
from ckprof.report.github import Annotation, Level, render
from ckprof.report.junit import JUnit, add
from ckprof.wording import change

if TYPE_CHECKING:
    from ckprof.compare.model import ComparedRow, Comparison


class _Trouble(NamedTuple):
    """What is to be said of a row."""

    #: ``status``, ``slower`` or ``unclear``
    kind: str
    text: str


def render_junit(comparison: Comparison) -> str:
    """Render one test suite per problem and one test case per row.

    Slower rows and kernels that stopped to work are failures; unclear rows count as skipped.
    """
    groups: dict[str, list[ComparedRow]] = defaultdict(list)
    for row in comparison.rows:
        groups[_problem(row)].append(row)
    junit = JUnit("ckprof compare")
    for name, rows in groups.items():
        suite = junit.suite(name)
        for row in rows:
            case = junit.case(suite, row.old.kernel.lasting_name(row.key.split_k))
            if row.new.ranked:
                case.set("time", f"{row.new.time_ms / 1e3:.9f}")
            trouble = _trouble(row)
            if trouble is not None and trouble.kind == "unclear":
                add(case, "skipped", message=trouble.text)
            elif trouble is not None:
                add(case, "failure", type=trouble.kind, message=trouble.text)
    return junit.render()


def render_github(comparison: Comparison) -> str:
    """Render an error for each row that JUnit calls a failure, and a warning for rows that are missing."""
    remarks = [
        Annotation(
            level=Level.ERROR,
            title=f"{trouble.kind}: {display_name(row.old)}",
            message=f"{_problem(row)}: {trouble.text}",
        )
        for row in comparison.rows
        if (trouble := _trouble(row)) is not None and trouble.kind != "unclear"
    ]
    for row in comparison.only_old:
        remarks.append(
            Annotation(
                level=Level.WARNING,
                title=f"missing: {display_name(row)}",
                message=f"{row.key.problem.problem.describe()}: only in {comparison.old_label}",
            )
        )
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in comparison.verdicts.items())
    return render(remarks, f"{comparison.old_label} and {comparison.new_label}: {counts}")


def _problem(row: ComparedRow) -> str:
    key = row.key.problem
    return " ".join(filter(None, (key.direction, key.dtype, key.layout, key.problem.describe())))


def _trouble(row: ComparedRow) -> _Trouble | None:
    verdict = row.judgement.verdict if row.judgement else None
    if row.worsened:
        return _Trouble("status", f"{row.old.status.value} -> {row.new.status.value}: {row.new.reason}")
    if verdict is Verdict.SLOWER and row.judgement:
        changed = change(row.judgement.change.ratio)
        return _Trouble("slower", f"{changed}: {row.old.time_ms:.4g} ms -> {row.new.time_ms:.4g} ms")
    if verdict is Verdict.UNCLEAR and row.judgement:
        return _Trouble("unclear", f"unclear: {settling_text(row.judgement)} would settle it")
    return None
