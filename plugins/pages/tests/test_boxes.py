"""Boxes of samples, against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.compare.side import side_of
from ckprof_plugins.pages.charts import box_chart, box_of, boxes
from tests.measured import Made, attempts

samples = st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=60)


@given(samples)
def test_a_box(values):
    box = box_of("x", values)
    first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
    assert (box.first_quartile, box.median, box.third_quartile) == pytest.approx((first, middle, third))
    within = [one for one in values if first - 1.5 * (third - first) <= one <= third + 1.5 * (third - first)]
    assert box.samples == len(values)
    assert len(within) == pytest.approx(len(values) - box.beyond_count, abs=1)
    assert box.low <= box.median <= box.high
    assert len(box.beyond) == min(20, box.beyond_count)
    assert all(one < box.low or one > box.high for one in box.beyond)


def test_the_fastest_kernels_of_each_problem():
    made = list(attempts(Made(problems=3, instances=4, rounds=5)))
    side = side_of("x", made)
    found = boxes(side, made, kernels=2)
    for key, of_problem in found.items():
        best, second = side.by_problem[key][:2]
        expected = [
            [
                s
                for one in made
                if one.key.digest == row.measurement.digest
                for s in one.measurement.samples_ms
            ]
            for row in (best, second)
            if row.time
        ]
        assert [box.median for box in of_problem] == pytest.approx([np.median(some) for some in expected])
        assert [box.samples for box in of_problem] == [25, 25]


def test_no_box_is_no_chart():
    text = ("x", "x", "x")
    assert box_chart([], *text) is None
    drawn = box_chart([box_of("a<b", [1.0, 1.0, 1.0, 9.0])], *text)
    assert drawn is not None and "a&lt;b" in drawn and drawn.count('class="beyond"') == 1
