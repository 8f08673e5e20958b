"""Slowdowns planted in copies of CK Tile's headers are found and explained; edits of style are no alarm.

Takes an hour: only ``-m slow`` runs it. In ``$CK_BUILDER_ROOT`` it needs the tree of ``python -m
ckprof_plugins.targets.hip.fetch 2025-11``. What is said, ``plugins/tuning/tests/planted_figures.py`` prints.
"""

import os

import pytest

from plugins.tuning.tests.e2e.planted import COMPV1, COMPV3, DRAWN, FASTER, NEUTRAL, SLOWDOWNS
from plugins.tuning.tests.planted_figures import FAIL_ON, TOGETHER, compared

pytest.importorskip("ckprof_plugins.emulator")

pytestmark = [
    pytest.mark.amd,
    pytest.mark.slow,
    pytest.mark.usefixtures("amd_toolchain"),
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not os.environ.get("CK_BUILDER_ROOT"), reason="no headers of November 2025 in $CK_BUILDER_ROOT"
    ),
]


PLANTED = SLOWDOWNS | {name: edit for name, edit in DRAWN.items() if name not in FASTER}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_slowdown_is_found_and_its_place_named(name, tmp_path):
    edit = PLANTED[name]
    (row,) = compared([edit], [edit.kernel], tmp_path).rows
    assert row.fails(FAIL_ON), row.ratio
    assert any(reason.cause in edit.causes for reason in row.reasons[:2]), row.reasons


@pytest.mark.parametrize("begin", range(0, len(NEUTRAL), TOGETHER))
def test_edits_of_style_are_no_alarm(begin, tmp_path):
    edits = [*NEUTRAL.values()][begin : begin + TOGETHER]
    rows = compared(edits, [COMPV1, COMPV3], tmp_path).rows
    assert [row.ratio for row in rows] == [1.0, 1.0]
    assert not any(row.differs for row in rows)
