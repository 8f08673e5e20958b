"""The output formats that ship with ckprof, imported when one of their kind is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from ckprof.plugin.hookspecs import hookimpl
from ckprof.plugin.protocols import ComparisonFormat, ParityFormat, ReportFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.errors import CkprofError
    from ckprof.plugin.additions import Additions
    from ckprof.report.document import Document

T = TypeVar("T")
FormatT = TypeVar("FormatT", ParityFormat, ComparisonFormat)

#: labels that all kinds of formats share
_GITHUB: Final = "annotations for GitHub Actions"
_EVERYTHING: Final = "everything, with schema and version"


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the formats of runs and of both kinds of comparisons."""
    registry.add_lazy(ReportFormat, "ckprof.report.plugin:run_formats")
    registry.add_lazy(ParityFormat, "ckprof.report.plugin:parity_formats")
    registry.add_lazy(ComparisonFormat, "ckprof.report.plugin:comparison_formats")


def _failures() -> dict[str, Callable[[CkprofError], str]]:
    """Return, for each format that can, what says in it why there is no result."""
    from ckprof.report import ci

    return {"github": ci.failure_annotations, "junit": ci.failure_junit, "md": ci.failure_markdown}


def _text(document: Callable[[T], Document]) -> Callable[[T], str]:
    return lambda result: document(result).text()


def _markdown(document: Callable[[T], Document]) -> Callable[[T], str]:
    return lambda result: document(result).markdown()


def run_formats() -> list[ReportFormat]:
    """Return table, JSON, CSV, Markdown, JUnit and GitHub's annotations for runs and batches."""
    from ckprof.report import batch_report, ci_formats, run_data
    from ckprof.report.batch_report import batch_document
    from ckprof.report.run_table import run_document

    # what is rendered, for a run and for a batch
    formats = {
        ("csv", "one row per outcome"): (run_data.render_csv, batch_report.render_batch_csv),
        ("github", _GITHUB): (ci_formats.render_run_github, ci_formats.render_batch_github),
        ("json", _EVERYTHING): (run_data.render_json, batch_report.render_batch_json),
        ("junit", "one test case per instance and problem"): (
            ci_formats.render_run_junit,
            ci_formats.render_batch_junit,
        ),
        ("md", "tables in Markdown"): (_markdown(run_document), _markdown(batch_document)),
        ("table", "tables for a terminal"): (_text(run_document), _text(batch_document)),
    }
    failures = _failures()
    return [
        ReportFormat(
            id=id_,
            label=label,
            render=render,
            render_batch=render_batch,
            commands=id_ == "github",
            render_failure=failures.get(id_),
        )
        for (id_, label), (render, render_batch) in formats.items()
    ]


def parity_formats() -> list[ParityFormat]:
    """Return table, JSON, JUnit, Markdown and GitHub's annotations for comparisons of instance strings."""
    from ckprof.report import ci_formats, parity_text

    formats = (
        ("github", _GITHUB, ci_formats.render_parity_github),
        ("json", _EVERYTHING, parity_text.render_parity_json),
        ("junit", "one test case per instance", ci_formats.render_parity_junit),
        ("md", "for pull requests", parity_text.render_parity_markdown),
        ("table", "for a terminal", _text(parity_text.parity_document)),
    )
    return _formats(ParityFormat, formats)


def comparison_formats() -> list[ComparisonFormat]:
    """Return table, JSON, CSV, Markdown, JUnit and GitHub's annotations for comparisons of measurements."""
    from ckprof.report import ci_formats, comparison_data
    from ckprof.report.comparison_text import comparison_document

    formats = (
        ("csv", "one row per matched kernel and problem", comparison_data.render_csv),
        ("github", _GITHUB, ci_formats.render_comparison_github),
        ("json", _EVERYTHING, comparison_data.render_json),
        ("junit", "one test case per row, for CI", ci_formats.render_comparison_junit),
        ("md", "tables in Markdown, for pull requests", _markdown(comparison_document)),
        ("table", "tables for a terminal", _text(comparison_document)),
    )
    return _formats(ComparisonFormat, formats)


def _formats(kind: type[FormatT], formats: Sequence[tuple[str, str, Callable[[Any], str]]]) -> list[FormatT]:
    """Return formats of a kind by their ids, labels, and what renders in them."""
    failures = _failures()
    return [
        kind(id=id_, label=label, render=render, render_failure=failures.get(id_))
        for id_, label, render in formats
    ]
