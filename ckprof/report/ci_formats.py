"""Runs, comparisons and parity for CI services: JUnit XML, and annotations for GitHub Actions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ckprof.compare.change import Verdict
from ckprof.errors import Diagnostic
from ckprof.formatting import change, counted
from ckprof.model.outcome import Status
from ckprof.model.parity import ParityFinding
from ckprof.model.results import ListVerdict, status_counts
from ckprof.report.ci import AnnotationLevel, JUnit, Remark, add, remark, remark_at, render
from ckprof.report.comparison_text import settling_text, shift_lines, verdict_line
from ckprof.report.figures import display_name
from ckprof.report.parity_text import differences, verdict
from ckprof.report.rows import baseline_rows, rows_of_problem
from ckprof.report.run_table import PARTIAL
from ckprof.report.unserved import unserved_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree import ElementTree

    from ckprof.compare.compare import ComparedRow, Comparison
    from ckprof.compare.side import RowKey
    from ckprof.model.parity import ParityReport, StringComparison, Unmatched
    from ckprof.model.results import BatchResults, RunResults
    from ckprof.report.rows import ResultRow


#: fails where no instance could serve a problem
_SERVED = "an instance supports the problem"


def render_run_junit(results: RunResults) -> str:
    """Render one test suite per problem and one test case per instance and number of splits."""
    junit = JUnit("ckprof run")
    _add_run(junit, results)
    if results.partial:
        _add_partial(junit)
    return junit.render()


def render_batch_junit(batch: BatchResults) -> str:
    """Render the same for each list, and one case for a list that cannot be read."""
    junit = JUnit("ckprof run")
    for item in batch.lists:
        if item.results is not None:
            _add_run(junit, item.results, f"{item.name}: ")
            continue
        case = junit.case(junit.suite(item.name), "can be read")
        add(case, "skipped" if item.verdict is ListVerdict.SKIPPED else "error", message=item.reason)
    if not batch.finished:
        _add_partial(junit)
    return junit.render()


def _add_partial(junit: JUnit) -> None:
    add(junit.case(junit.suite("run"), "came to its end"), "error", type="partial", message=PARTIAL)


def _add_run(junit: JUnit, results: RunResults, prefix: str = "") -> None:
    for index, problem in enumerate(results.problems):
        suite = junit.suite(f"{prefix}{results.direction} {problem.describe()}")
        served = junit.case(suite, _SERVED)
        rows = rows_of_problem(results, index)
        if not _is_served(rows):
            missing = not results.is_complete(index)
            kind, what = ("not measured", "skipped") if missing else ("unsupported", "failure")
            add(served, what, type=kind, message=_unserved_text(results, index))
        for row in rows:
            _finish(junit.case(suite, row.instance.lasting_name(row.outcome.split_k)), row)
        for row in baseline_rows(results, index):
            kernel = row.instance
            _finish(junit.case(suite, f"baseline {row.baseline} {kernel.dtype.value} {kernel.layout}"), row)


def _finish(case: ElementTree.Element, row: ResultRow) -> None:
    outcome = row.outcome
    if outcome.measurement is not None:
        case.set("time", f"{outcome.measurement.time_ms / 1e3:.9f}")
    if outcome.status.is_failure:
        text = "\n".join(filter(None, (row.instance.source, row.instance.instance_string)))
        add(case, "failure", text, type=outcome.status.value, message=outcome.reason)
    elif outcome.status is Status.UNSUPPORTED:
        add(case, "skipped", message=outcome.reason)


def render_run_github(results: RunResults) -> str:
    """Render an error on the line of each instance that failed, and for problems that none supports."""
    counts = status_counts(Counter(outcome.status for outcome in results.outcomes))
    of_problems = f" on {counted(len(results.problems), 'problem')}" if len(results.problems) > 1 else ""
    end = f"{counted(len(results.instances), 'instance')}{of_problems}: {counts or 'no outcome'}"
    return render(_remarks(results), f"{end}. {PARTIAL}" if results.partial else end)


def render_batch_github(batch: BatchResults) -> str:
    """Render the same for all lists, and an error for each that cannot be read."""
    remarks: list[Remark] = []
    for item in batch.lists:
        if item.results is not None:
            remarks += _remarks(item.results)
        elif item.verdict is ListVerdict.BROKEN:
            source, _, message = item.reason.partition(": ")
            remarks.append(remark_at(source, AnnotationLevel.ERROR, item.name, message or item.reason))
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in batch.verdicts.items())
    return render(remarks, f"{batch.found} lists: {counts}")


def _remarks(results: RunResults) -> Iterator[Remark]:
    for conversion in results.conversions:
        for line, why in conversion.dropped.items():
            if why.rule == "error":
                source = f"{conversion.path}:{line}"
                yield remark_at(source, AnnotationLevel.WARNING, "excluded", why.message)
    for index, problem in enumerate(results.problems):
        rows = rows_of_problem(results, index)
        for row in (*rows, *baseline_rows(results, index)):
            if row.outcome.status.is_failure:
                title = f"{row.outcome.status.value}: {row.title}"
                message = f"{row.outcome.reason}\n{problem.describe()}"
                yield remark_at(row.instance.source, AnnotationLevel.ERROR, title, message)
        if not _is_served(rows):
            message = f"{_unserved_text(results, index)}: {problem.describe()}"
            missing = not results.is_complete(index)
            title = "not measured" if missing else "no instance supports the problem"
            yield remark(AnnotationLevel.WARNING if missing else AnnotationLevel.ERROR, title, message)


def _is_served(rows: list[ResultRow]) -> bool:
    return any(row.outcome.status is Status.OK for row in rows)


def _unserved_text(results: RunResults, index: int) -> str:
    unserved = unserved_in(results, index)
    if unserved is not None and not unserved.complete:
        return unserved.reason
    return f"none of {len(results.of_problem(index))} outcomes is ok: {unserved.reason if unserved else ''}"


def render_parity_junit(report: ParityReport) -> str:
    """Render one suite per comparison; what does not fail the comparison is a passed or skipped case.

    A case is called as its instance prints itself, so that lines may come and go.
    """
    junit = JUnit("ckprof parity")
    for comparison in report.comparisons:
        suite = junit.suite(comparison.lasting_title)
        for match in comparison.matches:
            junit.case(suite, match.text)
        for finding, text, found in _findings(comparison):
            case = junit.case(suite, text)
            about = str(found) if found.path else found.message
            if finding in report.fail_on:
                add(case, "failure", text, type=finding.value, message=about)
            elif finding is ParityFinding.SKIPPED:
                add(case, "skipped", message=about)
            else:
                add(case, "system-out", f"{finding.value}: {about}")
    return junit.render()


def render_parity_github(report: ParityReport) -> str:
    """Render a remark on the line of each finding: an error if it fails the comparison, else a notice."""
    remarks = [
        remark_at(
            str(found.path),
            AnnotationLevel.ERROR if finding in report.fail_on else AnnotationLevel.NOTICE,
            f"parity: {finding.value}",
            f"{text}\n{found.message}",
        )
        for comparison in report.comparisons
        for finding, text, found in _findings(comparison)
    ]
    return render(remarks, verdict(report))


def _findings(comparison: StringComparison) -> Iterator[tuple[ParityFinding, str, Diagnostic]]:
    """Yield what one side alone has, or has otherwise: the string, and what is to be said of it."""
    for finding, items, side in (
        (ParityFinding.MISSING, comparison.missing, comparison.first),
        (ParityFinding.EXTRA, comparison.extra, comparison.second),
    ):
        for item in items:
            yield finding, item.text, Diagnostic(path=item.source, message=_about(item, side))
    for copy in comparison.duplicates:
        about = f"{len(copy.sources)} times in {copy.side}: {', '.join(copy.sources)}"
        yield ParityFinding.DUPLICATE, copy.text, Diagnostic(path=copy.sources[-1], message=about)
    for loss in comparison.lossy:
        changed = differences(loss.differences)
        about = f"{loss.rule}: {loss.reason}" + (f" ({changed})" if changed else "")
        yield ParityFinding.LOSSY, loss.text, Diagnostic(path=loss.sources[-1], message=about)
    for skip in comparison.skipped:
        about = f"{skip.rule}: {skip.reason}"
        yield ParityFinding.SKIPPED, skip.text, Diagnostic(path=skip.source, message=about)


def _about(item: Unmatched, side: str) -> str:
    parts = [f"only in {side}", item.note]
    if item.nearest is not None:
        parts.append(f"nearest {item.nearest.source}: {differences(item.nearest.differences)}")
    return "; ".join(part for part in parts if part)


def render_comparison_junit(comparison: Comparison) -> str:
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
        of_row = case(_compared_problem(row.key), row.old.kernel.lasting_name(row.key.split_k))
        if row.new.ranked:
            of_row.set("time", f"{row.new.time_ms / 1e3:.9f}")
        if comparison.failure_of(row):
            add(of_row, "failure", type=_compared_kind(row), message=_compared_text(row))
        elif row.change and row.change.verdict is Verdict.UNCLEAR:
            add(of_row, "skipped", message=_compared_text(row))
    for lost in comparison.only_old if comparison.missing_fail else ():
        of_row = case(_compared_problem(lost.key), lost.kernel.lasting_name(lost.key.split_k))
        add(of_row, "failure", type="missing", message=f"only in {comparison.old_label}")
    if comparison.shift_fails:
        add(case("all rows", "no shared change"), "failure", type="shift", message=_shift_text(comparison))
    return junit.render()


def render_comparison_github(comparison: Comparison) -> str:
    """Render an error for whatever fails the comparison, and a notice for what else became worse."""
    remarks = []
    for row in comparison.rows:
        failure = comparison.failure_of(row)
        slower = row.change is not None and row.change.verdict is Verdict.SLOWER
        if failure or row.worsened or slower:
            level = AnnotationLevel.ERROR if failure else AnnotationLevel.NOTICE
            message = f"{_compared_problem(row.key)}: {_compared_text(row)}"
            remarks.append(remark(level, f"{_compared_kind(row)}: {display_name(row.old)}", message))
    for lost in comparison.only_old:
        level = AnnotationLevel.ERROR if comparison.missing_fail else AnnotationLevel.NOTICE
        message = f"{lost.key.problem.problem.describe()}: only in {comparison.old_label}"
        remarks.append(remark(level, f"missing: {display_name(lost)}", message))
    if comparison.shifted:
        level = AnnotationLevel.ERROR if comparison.shift_fails else AnnotationLevel.NOTICE
        remarks.append(remark(level, "shift: all rows", _shift_text(comparison)))
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in comparison.verdicts.items())
    said = verdict_line(comparison.failures, comparison.policy.fail_on)
    end = f"{comparison.old_label} and {comparison.new_label}: {counts}; {said}"
    return render(remarks, end)


def _compared_problem(row: RowKey) -> str:
    key = row.problem
    return " ".join(filter(None, (key.direction, key.dtype, key.layout, key.problem.describe())))


def _compared_kind(row: ComparedRow) -> str:
    """Return the value of ``--fail-on`` that a row is a case of."""
    return row.change.verdict.value if row.change and not row.worsened else "status"


def _compared_text(row: ComparedRow) -> str:
    if row.worsened or row.change is None:
        return f"{row.old.status.value} -> {row.new.status.value}: {row.new.reason}"
    if row.change.verdict is Verdict.UNCLEAR:
        return f"unclear: {settling_text(row.change)} would resolve it"
    changed = change(row.change.ratio)
    return f"{changed}: {row.old.time_ms:.4g} ms -> {row.new.time_ms:.4g} ms"


def _shift_text(comparison: Comparison) -> str:
    return "; ".join(shift_lines(comparison))
