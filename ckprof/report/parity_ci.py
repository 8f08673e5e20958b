"""Comparisons of instance strings for CI services: JUnit XML, and annotations for GitHub Actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ckprof.model.parity import ParityFinding
from ckprof.report.github import Annotation, Level, render
from ckprof.report.junit import JUnit, add
from ckprof.report.parity_text import differences, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.parity import Comparison, ParityReport, Unmatched


class _Case(NamedTuple):
    """One instance of a comparison."""

    #: ``None``: both sides have it
    finding: ParityFinding | None
    text: str
    source: str = ""
    #: what is to be said of it
    about: str = ""


def render_parity_junit(report: ParityReport) -> str:
    """Render one suite per comparison; what does not fail the comparison is a passed or skipped case.

    A case is called as its instance prints itself, so that lines may come and go.
    """
    junit = JUnit("ckprof parity")
    for comparison in report.comparisons:
        suite = junit.suite(comparison.lasting_title)
        for one in _cases(comparison):
            case = junit.case(suite, one.text)
            about = f"{one.source}: {one.about}" if one.source else one.about
            if one.finding in report.fail_on:
                add(case, "failure", one.text, type=one.finding.value, message=about)
            elif one.finding is ParityFinding.SKIPPED:
                add(case, "skipped", message=about)
            elif one.finding is not None:
                add(case, "system-out", f"{one.finding.value}: {about}")
    return junit.render()


def render_parity_github(report: ParityReport) -> str:
    """Render a remark on the line of each finding: an error if it fails the comparison, else a notice."""
    remarks = [
        Annotation.at(
            one.source,
            level=Level.ERROR if one.finding in report.fail_on else Level.NOTICE,
            title=f"parity: {one.finding.value}",
            message=f"{one.text}\n{one.about}",
        )
        for comparison in report.comparisons
        for one in _cases(comparison)
        if one.finding is not None
    ]
    return render(remarks, verdict(report))


def _cases(comparison: Comparison) -> Iterator[_Case]:
    for match in comparison.matches:
        yield _Case(None, match.text)
    for item in comparison.missing:
        yield _Case(ParityFinding.MISSING, item.text, item.source, _about(item, comparison.first))
    for item in comparison.extra:
        yield _Case(ParityFinding.EXTRA, item.text, item.source, _about(item, comparison.second))
    for copy in comparison.duplicates:
        about = f"{len(copy.sources)} times in {copy.side}: {', '.join(copy.sources)}"
        yield _Case(ParityFinding.DUPLICATE, copy.text, copy.sources[-1], about)
    for loss in comparison.lossy:
        changed = differences(loss.differences)
        about = f"{loss.rule}: {loss.reason}" + (f" ({changed})" if changed else "")
        yield _Case(ParityFinding.LOSSY, loss.text, loss.sources[-1], about)
    for skip in comparison.skipped:
        yield _Case(ParityFinding.SKIPPED, skip.text, skip.source, f"{skip.rule}: {skip.reason}")


def _about(item: Unmatched, side: str) -> str:
    parts = [f"only in {side}", item.note]
    if item.nearest is not None:
        parts.append(f"nearest {item.nearest.source}: {differences(item.nearest.differences)}")
    return "; ".join(part for part in parts if part)
