"""Comparisons for CI services: JUnit XML, and annotations for GitHub Actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.compare.verdict import Verdict
from ckprof.report.comparison.summary import settling_text, shift_lines, verdict_line
from ckprof.report.figures import display_name
from ckprof.report.github import Annotation, Level, render
from ckprof.report.junit import JUnit, add
from ckprof.wording import change

if TYPE_CHECKING:
    from xml.etree import ElementTree

    from ckprof.compare.model import ComparedRow, Comparison
    from ckprof.compare.side import RowKey


def render_junit(comparison: Comparison) -> str:
    """Render one test suite per problem and one test case per row.

    Rows that fail the comparison are failures, unclear ones that do not are skipped. What fails it besides
    rows of both sides has cases of its own.
    """
    junit = JUnit("ckprof compare")
    suites: dict[str, ElementTree.Element] = {}

    def case(problem: str, name: str) -> ElementTree.Element:
        if problem not in suites:
            suites[problem] = junit.suite(problem)
        return junit.case(suites[problem], name)

    for row in comparison.rows:
        of_row = case(_problem(row.key), row.old.kernel.lasting_name(row.key.split_k))
        if row.new.ranked:
            of_row.set("time", f"{row.new.time_ms / 1e3:.9f}")
        if comparison.failure_of(row):
            add(of_row, "failure", type=_kind(row), message=_text(row))
        elif row.judgement and row.judgement.verdict is Verdict.UNCLEAR:
            add(of_row, "skipped", message=_text(row))
    for lost in comparison.only_old if comparison.missing_fail else ():
        of_row = case(_problem(lost.key), lost.kernel.lasting_name(lost.key.split_k))
        add(of_row, "failure", type="missing", message=f"only in {comparison.old_label}")
    if comparison.shift_fails:
        add(case("all rows", "no shared change"), "failure", type="shift", message=_shift(comparison))
    return junit.render()


def render_github(comparison: Comparison) -> str:
    """Render an error for whatever fails the comparison, and a warning for what else became worse."""
    remarks = []
    for row in comparison.rows:
        failure = comparison.failure_of(row)
        slower = row.judgement is not None and row.judgement.verdict is Verdict.SLOWER
        if failure or row.worsened or slower:
            level = Level.ERROR if failure else Level.WARNING
            message = f"{_problem(row.key)}: {_text(row)}"
            remarks.append(
                Annotation(level=level, title=f"{_kind(row)}: {display_name(row.old)}", message=message)
            )
    for lost in comparison.only_old:
        remarks.append(
            Annotation(
                level=Level.ERROR if comparison.missing_fail else Level.WARNING,
                title=f"missing: {display_name(lost)}",
                message=f"{lost.key.problem.problem.describe()}: only in {comparison.old_label}",
            )
        )
    if comparison.shift_fails:
        remarks.append(Annotation(level=Level.ERROR, title="shift: all rows", message=_shift(comparison)))
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in comparison.verdicts.items())
    end = f"{comparison.old_label} and {comparison.new_label}: {counts}; {verdict_line(comparison)}"
    return render(remarks, end)


def _problem(row: RowKey) -> str:
    key = row.problem
    return " ".join(filter(None, (key.direction, key.dtype, key.layout, key.problem.describe())))


def _kind(row: ComparedRow) -> str:
    """Return the value of ``--fail-on`` that a row is a case of."""
    return row.judgement.verdict.value if row.judgement and not row.worsened else "status"


def _text(row: ComparedRow) -> str:
    if row.worsened or row.judgement is None:
        return f"{row.old.status.value} -> {row.new.status.value}: {row.new.reason}"
    if row.judgement.verdict is Verdict.UNCLEAR:
        return f"unclear: {settling_text(row.judgement)} would settle it"
    changed = change(row.judgement.change.ratio)
    return f"{changed}: {row.old.time_ms:.4g} ms -> {row.new.time_ms:.4g} ms"


def _shift(comparison: Comparison) -> str:
    return "; ".join(shift_lines(comparison))
