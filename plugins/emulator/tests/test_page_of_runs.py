"""The tables of the page on kernels that ran are counted."""

from pathlib import Path

import pytest

from ckprof.model.architecture import API_LEVEL_2025_11
from plugins.emulator.tests.run_record import Record, summary, table

pytestmark = pytest.mark.thorough

DOCUMENT = Path(__file__).parents[1] / "docs" / "kernels-that-ran.md"


def stands(wanted):
    """Whether the document has these lines one after the other."""
    return "\n".join(["", *wanted, ""]) in DOCUMENT.read_text()


@pytest.mark.parametrize(("arch", "fused"), [("gfx942", False), ("gfx950", False), ("gfx942", True)])
def test_the_tables_of_the_document_are_counted(arch, fused):
    assert stands(table(Record(arch, API_LEVEL_2025_11), fused=fused))


def test_the_sums_of_the_document_are_counted():
    assert stands(summary())
