"""The interval around a predicted time."""

from math import exp, log

import pytest

from ckprof_plugins.tuning.predicted_interval import KINDS, WIDEST, interval_us


def test_the_interval_is_that_of_the_kind():
    for (pipeline, repeats), half in KINDS.items():
        low, high = interval_us(10.0, pipeline, 5 if repeats else 0)
        assert log(high / 10.0) == pytest.approx(half) and low * high == pytest.approx(100.0)
        assert half <= WIDEST


def test_what_no_table_is_of_has_the_widest():
    for pipeline in ("mem", "", None):
        assert interval_us(10.0, pipeline, 5) == pytest.approx((10.0 * exp(-WIDEST), 10.0 * exp(WIDEST)))


def test_what_has_no_loop_is_further_off():
    without, repeats = (interval_us(10.0, "compv3", iterations)[1] for iterations in (0, 1))
    assert without > repeats == interval_us(10.0, "compv3", 100)[1]
