"""What documents say of how much the levels express."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckprof.model.api_level import API_LEVEL_2025_11
from plugins.emulator.tests.run_record import Record, summary, table
from tests.plugins.pipelines.level_counts import OPERATIONS, counts

pytestmark = pytest.mark.thorough

DOCUMENT = Path(__file__).parents[3] / "docs" / "amd.md"


def stands(wanted):
    """Whether the document has these lines one after the other."""
    return "\n".join(["", *wanted, ""]) in DOCUMENT.read_text()


@pytest.mark.parametrize(("arch", "fused"), [("gfx942", False), ("gfx950", False), ("gfx942", True)])
def test_the_tables_of_the_document_are_counted(arch, fused):
    assert stands(table(Record(arch, API_LEVEL_2025_11), fused=fused))


def test_the_sums_of_the_document_are_counted():
    assert stands(summary())


def test_lists_of_all_operations_have_kernels_of_november_2025():
    found = counts(API_LEVEL_2025_11)
    for folder in OPERATIONS:
        lists = [one for one in found if one.name.startswith(folder) and "fp16" in one.name]
        assert any(one.expressed for one in lists), folder
    # whatever is left out is left out by rules of the level
    reasons = {rule for one in found for rule in one.rejected}
    assert reasons == {"api-level-feature", "shuffle-repeat"}
