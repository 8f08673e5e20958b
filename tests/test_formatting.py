"""How counts, shares, factors and durations are written."""

import pytest

from ckprof.formatting import agreeing, change, counted, duration, factor, percent, would_resolve


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (counted(0, "attempt"), "0 attempts"),
        (counted(1, "attempt"), "1 attempt"),
        (counted(342, "attempt"), "342 attempts"),
        (counted(2, "query", "queries"), "2 queries"),
        (counted(1, "query", "queries"), "1 query"),
        (agreeing(1, "is", "are"), "is"),
        (agreeing(0, "is", "are"), "are"),
        (percent(0.0254), "2.5 %"),
        (percent(0.91, 0), "91 %"),
        (percent(0.05, None), "5 %"),
        (percent(0.025, None), "2.5 %"),
        (factor(2.7234), "2.72x"),
        (factor(0.125), "0.125x"),
        (factor(12345.6), "12346x"),
        (change(1.355), "+35.5 %"),
        (change(0.933), "-6.7 %"),
        (change(2.0), "2x"),
        (change(0.5), "0.5x"),
        (change(1.999), "+99.9 %"),
        (duration(59.4), "59 s"),
        (duration(61), "1 min"),
        (duration(3599), "1 h 00 min"),
        (duration(7500), "2 h 05 min"),
    ],
)
def test_formatting(written, expected):
    assert written == expected


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "about 1 round would resolve it"),
        (1000, "about 1000 rounds would resolve it"),
        (87630, "more than 1000 rounds would be needed"),
    ],
)
def test_a_number_that_nobody_waits_for_is_not_said(number, said):
    assert would_resolve(number, "round") == said
