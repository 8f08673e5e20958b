"""Comparisons of instance strings as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ckprof.model.parity import Comparison, ParityReport

SCHEMA: Final = "ckprof-parity"
#: raised when a key changes its meaning or vanishes; new keys do not raise it
VERSION: Final = 1


def render_parity_json(report: ParityReport) -> str:
    """Render everything that was found."""
    content = {
        "schema": SCHEMA,
        "version": VERSION,
        "ckprof_version": report.ckprof_version,
        "revision": report.revision,
        "fail_on": [trouble.value for trouble in report.fail_on],
        "passed": report.passed,
        "comparisons": [_comparison(comparison) for comparison in report.comparisons],
    }
    return json.dumps(content, indent=2) + "\n"


def _comparison(comparison: Comparison) -> dict[str, Any]:
    values = asdict(comparison)
    matches = values.pop("matches")
    counts = {trouble.value: count for trouble, count in comparison.counts.items()}
    return {**values, "counts": {"matched": comparison.matched, **counts}, "matches": matches}
