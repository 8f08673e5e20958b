"""The formats of comparisons that ship with ckprof, imported when one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl
from ckprof.plugin.protocols import ComparisonFormat

if TYPE_CHECKING:
    from ckprof.compare.model import Comparison


def _table(comparison: Comparison) -> str:
    from ckprof.compare.text_formats import render_table

    return render_table(comparison)


def _markdown(comparison: Comparison) -> str:
    from ckprof.compare.text_formats import render_markdown

    return render_markdown(comparison)


def _json(comparison: Comparison) -> str:
    from ckprof.compare.data_formats import render_json

    return render_json(comparison)


def _csv(comparison: Comparison) -> str:
    from ckprof.compare.data_formats import render_csv

    return render_csv(comparison)


def _junit(comparison: Comparison) -> str:
    from ckprof.compare.data_formats import render_junit

    return render_junit(comparison)


@hookimpl
def ckprof_register_comparison_formats() -> list[ComparisonFormat]:
    """Return table, JSON, CSV, Markdown and JUnit."""
    return [
        ComparisonFormat(id="csv", label="one row per matched kernel and problem", render=_csv),
        ComparisonFormat(id="json", label="everything, with schema and version", render=_json),
        ComparisonFormat(id="junit", label="one test case per row, for CI", render=_junit),
        ComparisonFormat(id="md", label="tables in Markdown, for pull requests", render=_markdown),
        ComparisonFormat(id="table", label="tables for a terminal", render=_table),
    ]
