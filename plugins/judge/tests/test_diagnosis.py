"""Whose result a wrong one is."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ckprof_plugins.judge.diagnosis import is_wrong_from_then_on, looks_like

draw = np.random.default_rng(3)
RIGHT = draw.normal(size=1000)
OTHER = draw.normal(size=1000)
#: all but one row as the right one
NEARLY = np.where(np.arange(1000) < 10, OTHER, RIGHT)
STALE = "returns the result of that launch"


@pytest.mark.parametrize(
    ("result", "before", "said"),
    [
        (OTHER, OTHER, STALE),
        (-OTHER * (1 + 1e-4), OTHER, STALE),
        (NEARLY, NEARLY, STALE),
        # wrong in the same row, by something else
        (np.where(np.arange(1000) < 10, 3 * RIGHT, RIGHT), NEARLY, ""),
        (draw.normal(size=1000), OTHER, ""),
        # the same operands, whose signs differ
        (-RIGHT, RIGHT, STALE),
        (np.full(1000, np.nan), OTHER, "writes nothing"),
        (None, OTHER, ""),
    ],
    ids=["another", "sign", "one-row", "wrong-row", "noise", "signs-alone", "nothing", "lost"],
)
def test_whose_result_it_is(result, before, said):
    given, earlier = (SimpleNamespace(reference=one) for one in (RIGHT, before))
    assert looks_like(result, given, earlier) == said


@pytest.mark.parametrize(
    ("failed", "count", "expected"),
    [((5, 6, 7), 7, True), ((5, 7), 7, False), ((5, 6), 7, False), ((1, 2), 2, False), ((7,), 7, False)],
)
def test_from_when_on_launches_are_wrong(failed, count, expected):
    assert is_wrong_from_then_on([(number, None, None) for number in failed], count) is expected
