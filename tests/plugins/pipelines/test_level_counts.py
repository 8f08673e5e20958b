"""What documents say of how much the levels express."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckprof.model.api_level import API_LEVEL_2025_11
from tests.plugins.pipelines.level_counts import counts, table

pytestmark = pytest.mark.thorough

DOCUMENT = Path(__file__).parents[3] / "docs" / "amd.md"


def test_the_table_of_the_document_is_counted():
    """What was compiled stands behind: that takes hours, so it is not counted again."""
    lines = DOCUMENT.read_text().splitlines()
    head, rule, *rows = table(API_LEVEL_2025_11)
    start = next(place for place, line in enumerate(lines) if line.startswith(head))
    found = lines[start + len((head, rule)) : start + len((head, rule, *rows))]
    assert [line[: len(row)] for line, row in zip(found, rows, strict=True)] == rows
    for line in found:
        _, _, _, expressed, compiled, failed, _ = line.split("|")
        assert int(compiled) + int(failed) <= int(expressed), line


def test_lists_of_all_directions_have_kernels_of_november_2025():
    found = counts(API_LEVEL_2025_11)
    for folder in ("forward", "backward_data", "backward_weight"):
        lists = [one for one in found if one.name.startswith(folder) and "fp16" in one.name]
        assert any(one.expressed for one in lists), folder
    # whatever is left out is left out by rules of the level
    reasons = {rule for one in found for rule in one.rejected}
    assert reasons == {"api-level-feature"}
