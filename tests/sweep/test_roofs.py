"""Roofs as evidence of sweeps: measured, kept, and found again by the device they are of."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.compare.side import Side, side_of
from ckprof.model.roof import Roof, RoofKind
from ckprof.model.types import DataType
from ckprof.sweep.roofs import evidence, kept_roofs, measured_roofs
from ckprof_plugins.pages.best import best_rows
from ckprof_plugins.pages.charts import best_points, roofline_chart
from ckprof_plugins.pages.options import ReportOptions
from tests.measured import Made, attempts
from tests.store.samples import make_attempt, make_session

DEVICE = make_attempt(0).key.device
rates = st.floats(1e-3, 1e9) | st.just(math.inf)


def roof(
    gflops: float, gbytes: float, *, kind: RoofKind = RoofKind.MEASURED, dtype: DataType | None = None
) -> Roof:
    return Roof(kind=kind, gflops=gflops, gbytes_per_s=gbytes, dtype=dtype)


@given(rates, rates, st.sampled_from(RoofKind), st.sampled_from([None, *DataType]))
def test_what_is_kept_is_read(gflops: float, gbytes: float, kind: RoofKind, dtype: DataType | None) -> None:
    one = roof(gflops, gbytes, kind=kind, dtype=dtype)
    expected = None if min(gflops, gbytes) == math.inf else one
    assert Roof.from_plain(one.as_plain()) == expected


@pytest.mark.parametrize("wrong", [{}, {"kind": "guessed", "gflops": 1, "gbytes_per_s": 1}, {"gflops": "x"}])
def test_what_is_no_roof_is_left_out(wrong: dict[str, object]) -> None:
    assert Roof.from_plain(wrong) is None


def test_what_is_measured() -> None:
    seen = {None: 2e11, DataType.FP32: 5e12, DataType.FP16: 0.0}
    found = measured_roofs(lambda dtype: seen[dtype], [DataType.FP32, DataType.FP16])
    assert found == (roof(5000, 200, dtype=DataType.FP32), roof(math.inf, 200, dtype=DataType.FP16))
    assert measured_roofs(lambda dtype: 0.0, list(DataType)) == ()


def test_roofs_are_those_of_their_device() -> None:
    kept = evidence(DEVICE, [roof(5, 7)])
    session = replace(make_session(1), environment=kept)
    assert kept_roofs(session, DEVICE) == (roof(5, 7),)
    assert kept_roofs(session, replace(DEVICE, model="another")) == ()
    assert kept_roofs(make_session(1), DEVICE) == ()
    assert evidence(DEVICE, []) == {}


def side_with(*kept: list[Roof]) -> Side:
    side = side_of("x", attempts(Made(problems=2, instances=3)))
    (row, *_) = side.rows.values()
    sessions = [
        replace(side.sessions[0], uid=f"{number:032x}", environment=evidence(row.measurement.device, roofs))
        for number, roofs in enumerate(kept)
    ]
    return Side(label="x", rows=side.rows, sessions=tuple(sessions))


def test_rows_have_the_highest_roof_that_was_seen() -> None:
    dtype = best_rows(side_with(), ReportOptions())[0].key.dtype
    own = DataType(dtype)
    other = next(one for one in DataType if one is not own)
    side = side_with(
        [roof(100, 50, dtype=own), roof(900, 50, dtype=other)],
        [roof(120, 40, dtype=own), roof(300, 90, kind=RoofKind.THEORETICAL)],
    )
    (first, *_) = best_rows(side, ReportOptions())
    assert first.roofs == (
        roof(300, 90, kind=RoofKind.THEORETICAL, dtype=own),
        roof(120, 50, dtype=own),
    )
    assert first.intensity is not None
    assert first.of_roof == pytest.approx(
        first.gflops / min(120, 50 * first.intensity, 300, 90 * first.intensity)
    )
    given_by_hand = ReportOptions(roofs=(roof(1000, 500),))
    assert best_rows(side, given_by_hand)[0].roofs == (first.roofs[0], roof(1000, 500))


def test_both_roofs_are_drawn() -> None:
    side = side_with([roof(100, 50), roof(300, 90, kind=RoofKind.THEORETICAL)])
    drawn = str(roofline_chart(best_points(best_rows(side, ReportOptions()))))
    assert drawn.count("<polyline") == 2
    assert ">theoretical roof<" in drawn and ">measured roof<" in drawn
    assert "The measured roof is 100 GFLOP/s and 50 GB/s." in drawn
