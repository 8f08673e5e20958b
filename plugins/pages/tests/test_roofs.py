"""Roofs in reports: those of the device and the type of a row."""

from dataclasses import replace

import pytest

from ckprof.compare.side import Side, side_of
from ckprof.model.roof import RoofKind
from ckprof.model.types import DataType
from ckprof.sweep.evidence import roof_evidence
from ckprof_plugins.pages.charts import best_points, roofline_chart
from ckprof_plugins.pages.content import best_rows
from ckprof_plugins.pages.options import ReportOptions
from tests.measured import Made, attempts
from tests.sweep.test_evidence import roof


def side_with(*kept):
    side = side_of("x", attempts(Made(problems=2, instances=3)))
    (row, *_) = side.rows.values()
    sessions = [
        replace(
            side.sessions[0], uid=f"{number:032x}", environment=roof_evidence(row.measurement.device, roofs)
        )
        for number, roofs in enumerate(kept)
    ]
    return Side(label="x", rows=side.rows, sessions=tuple(sessions))


def test_rows_have_the_highest_roof_that_was_seen():
    dtype = best_rows(side_with(), ReportOptions())[0].key.dtype
    own = DataType(dtype)
    other = next(one for one in DataType if one is not own)
    side = side_with(
        [roof(100, 50, dtype=own), roof(900, 50, dtype=other)],
        [roof(120, 40, dtype=own), roof(300, 90, kind=RoofKind.THEORETICAL)],
    )
    (first, *_) = best_rows(side, ReportOptions())
    assert first.roofs == (roof(300, 90, kind=RoofKind.THEORETICAL, dtype=own), roof(120, 50, dtype=own))
    assert first.intensity is not None
    assert first.of_roof == pytest.approx(
        first.gflops / min(120, 50 * first.intensity, 300, 90 * first.intensity)
    )
    given_by_hand = ReportOptions(roofs=(roof(1000, 500),))
    assert best_rows(side, given_by_hand)[0].roofs == (first.roofs[0], roof(1000, 500))


def test_both_roofs_are_drawn():
    side = side_with([roof(100, 50), roof(300, 90, kind=RoofKind.THEORETICAL)])
    drawn = str(roofline_chart(best_points(best_rows(side, ReportOptions()))))
    assert drawn.count("<polyline") == 2
    assert ">theoretical ceiling<" in drawn and ">measured ceiling<" in drawn
    assert "The measured ceiling is 100 GFLOP/s and 50 GB/s." in drawn
