"""The devices of a sweep on several of them, and the ceilings of each."""

from dataclasses import replace

import pytest

from ckprof.compare.side import Side, side_of
from ckprof.model.roofline import CeilingKind
from ckprof.model.types import DataType
from ckprof.store.attempt import DEVICE as DEVICE_FACTS
from ckprof.store.attempt import REFERENCE_MS, Mark
from ckprof.sweep.evidence import ceiling_evidence
from ckprof_plugins.pages.charts import best_points, roofline_chart
from ckprof_plugins.pages.content import best_rows
from ckprof_plugins.pages.devices import device_rows
from ckprof_plugins.pages.options import ReportOptions
from tests.measured import SESSION, Made, attempts
from tests.sweep.test_evidence import ceiling

ONE = Made(problems=1, instances=1, rounds=1, processes=1)


def test_devices_are_rated_by_their_checks():
    """A check stands in all attempts of its round, and counts once."""
    (first,) = attempts(ONE)

    def device(name, checks, temperature=None, marks=()):
        session = replace(SESSION, uid=name * 32, environment={DEVICE_FACTS: {"id": f"lab:{name}"}})
        return [
            replace(
                first,
                session=session,
                sequence=number,
                marks=marks,
                conditions=replace(
                    first.conditions, temperature_c=temperature, extra={REFERENCE_MS: checks[number // 2]}
                ),
            )
            for number in range(2 * len(checks))
        ]

    unchecked = replace(
        first, session=replace(SESSION, uid="f" * 32, environment={DEVICE_FACTS: {"id": "lab:f"}})
    )
    found = [*device("a", [1.0, 1.2], 60.0), *device("b", [2.2], 70.0, (Mark.SLOW_DEVICE,)), unchecked]
    rows = device_rows([*found, *attempts(ONE)])
    assert [(row.id, row.checks, row.reference_ms, row.attempts, row.slow) for row in rows] == [
        ("lab:b", 1, 2.2, 2, 2),
        ("lab:a", 2, 1.1, 4, 0),
        ("lab:f", 0, None, 1, 0),
    ]
    # the median of 1.1 and 2.2 is 1.65
    assert [row.ratio and round(row.ratio, 6) for row in rows] == [
        round(2.2 / 1.65, 6),
        round(1.1 / 1.65, 6),
        None,
    ]
    assert [row.temperature_c for row in rows] == [70.0, 60.0, None]


def side_with(*kept):
    side = side_of("x", attempts(Made(problems=2, instances=3)))
    (row, *_) = side.rows.values()
    sessions = [
        replace(
            side.sessions[0],
            uid=f"{number:032x}",
            environment=ceiling_evidence(row.measurement.device, ceilings),
        )
        for number, ceilings in enumerate(kept)
    ]
    return Side(label="x", rows=side.rows, sessions=tuple(sessions))


def test_rows_have_the_highest_ceiling_that_was_seen():
    dtype = best_rows(side_with(), ReportOptions())[0].key.dtype
    own = DataType(dtype)
    other = next(one for one in DataType if one is not own)
    side = side_with(
        [ceiling(100, 50, dtype=own), ceiling(900, 50, dtype=other)],
        [ceiling(120, 40, dtype=own), ceiling(300, 90, kind=CeilingKind.THEORETICAL)],
    )
    (first, *_) = best_rows(side, ReportOptions())
    assert first.ceilings == (
        ceiling(300, 90, kind=CeilingKind.THEORETICAL, dtype=own),
        ceiling(120, 50, dtype=own),
    )
    assert first.intensity is not None
    assert first.of_ceiling == pytest.approx(
        first.gflops / min(120, 50 * first.intensity, 300, 90 * first.intensity)
    )
    given_by_hand = ReportOptions(ceilings=(ceiling(1000, 500),))
    assert best_rows(side, given_by_hand)[0].ceilings == (first.ceilings[0], ceiling(1000, 500))


def test_both_ceilings_are_drawn():
    side = side_with([ceiling(100, 50), ceiling(300, 90, kind=CeilingKind.THEORETICAL)])
    drawn = str(roofline_chart(best_points(best_rows(side, ReportOptions()))))
    assert drawn.count("<polyline") == 2
    assert ">theoretical ceiling<" in drawn and ">measured ceiling<" in drawn
    assert "The measured ceiling is 100 GFLOP/s and 50 GB/s." in drawn
