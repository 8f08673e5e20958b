"""Runs for CI services: JUnit XML, and annotations for GitHub Actions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ckprof.model.outcome import Status
from ckprof.model.results import Verdict
from ckprof.report.github import Annotation, Level, render
from ckprof.report.junit import JUnit, add
from ckprof.report.rows import baseline_rows, rows_of_problem
from ckprof.report.run_table import status_counts
from ckprof.report.unserved import unserved_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree import ElementTree

    from ckprof.model.results import BatchResults, RunResults
    from ckprof.report.rows import Row

#: fails where no instance could serve a problem
_SERVED = "an instance supports the problem"


def render_run_junit(results: RunResults) -> str:
    """Render one test suite per problem and one test case per instance and number of splits."""
    junit = JUnit("ckprof run")
    _add_run(junit, results)
    return junit.render()


def render_batch_junit(batch: BatchResults) -> str:
    """Render the same for each list, and one case for a list that cannot be read."""
    junit = JUnit("ckprof run")
    for item in batch.lists:
        if item.results is not None:
            _add_run(junit, item.results, f"{item.name}: ")
            continue
        case = junit.case(junit.suite(item.name), "can be read")
        add(case, "skipped" if item.verdict is Verdict.SKIPPED else "error", message=item.reason)
    return junit.render()


def _add_run(junit: JUnit, results: RunResults, prefix: str = "") -> None:
    for index, problem in enumerate(results.problems):
        suite = junit.suite(f"{prefix}{results.direction} {problem.describe()}")
        served = junit.case(suite, _SERVED)
        rows = rows_of_problem(results, index)
        if not _is_served(rows):
            add(served, "failure", type="unsupported", message=_unserved_text(results, index))
        for row in rows:
            _finish(junit.case(suite, row.instance.lasting_name(row.outcome.split_k)), row)
        for row in baseline_rows(results, index):
            kernel = row.instance
            _finish(junit.case(suite, f"baseline {row.baseline} {kernel.dtype.value} {kernel.layout}"), row)


def _finish(case: ElementTree.Element, row: Row) -> None:
    outcome = row.outcome
    if outcome.measurement is not None:
        case.set("time", f"{outcome.measurement.median_ms / 1e3:.9f}")
    if outcome.status.is_failure:
        text = "\n".join(filter(None, (row.instance.source, row.instance.instance_string)))
        add(case, "failure", text, type=outcome.status.value, message=outcome.reason)
    elif outcome.status is Status.UNSUPPORTED:
        add(case, "skipped", message=outcome.reason)


def render_run_github(results: RunResults) -> str:
    """Render an error on the line of each instance that failed, and for problems that none supports."""
    counts = status_counts(Counter(outcome.status for outcome in results.outcomes))
    return render(_remarks(results), f"{len(results.instances)} instances: {counts or 'no outcome'}")


def render_batch_github(batch: BatchResults) -> str:
    """Render the same for all lists, and an error for each that cannot be read."""
    remarks: list[Annotation] = []
    for item in batch.lists:
        if item.results is not None:
            remarks += _remarks(item.results)
        elif item.verdict.is_broken:
            source, _, message = item.reason.partition(": ")
            at = Annotation.at(source, level=Level.ERROR, title=item.name, message=message or item.reason)
            remarks.append(at)
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in batch.verdicts.items())
    return render(remarks, f"{batch.found} lists: {counts}")


def _remarks(results: RunResults) -> Iterator[Annotation]:
    for conversion in results.conversions:
        for line in conversion.dropped:
            if line.rule == "error":
                source = f"{conversion.path}:{line.line}"
                yield Annotation.at(source, level=Level.WARNING, title="left out", message=line.reason)
    for index, problem in enumerate(results.problems):
        rows = rows_of_problem(results, index)
        for row in (*rows, *baseline_rows(results, index)):
            if row.outcome.status.is_failure:
                yield Annotation.at(
                    row.instance.source,
                    level=Level.ERROR,
                    title=f"{row.outcome.status.value}: {row.title}",
                    message=f"{row.outcome.reason}\n{problem.describe()}",
                )
        if not _is_served(rows):
            message = f"{_unserved_text(results, index)}: {problem.describe()}"
            yield Annotation(level=Level.ERROR, title="no instance supports the problem", message=message)


def _is_served(rows: list[Row]) -> bool:
    return any(row.outcome.status is Status.OK for row in rows)


def _unserved_text(results: RunResults, index: int) -> str:
    unserved = unserved_in(results, index)
    return f"none of {len(results.of_problem(index))} outcomes is ok: {unserved.reason if unserved else ''}"
