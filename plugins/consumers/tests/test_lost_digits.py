"""Which splits lose digits, against simulated sums."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ckprof_plugins.consumers.lost_digits import lost_digits


@pytest.mark.parametrize(
    ("dtype", "splits", "lost"),
    [
        *(("bf16", splits, splits >= 8) for splits in (-1, 1, 2, 4, 8, 64)),
        *(("fp16", splits, splits >= 16) for splits in (1, 8, 16, 64)),
        *((dtype, 128, False) for dtype in ("fp32", "int8", "fp8")),
    ],
)
def test_splits_that_lose_digits(dtype, splits, lost):
    assert bool(lost_digits(dtype, splits, 10_000)) is lost


def test_the_bounds_hold_for_sums_that_are_rounded_at_each_addition():
    """64 parts, each rounded to fp16, added up in fp16: the largest error of 20,000 sums."""
    found = re.search(
        r"off by ([\d.]+) units in the last place, by ([\d.]+) without", lost_digits("fp16", 64, 6400)
    )
    together, alone = map(float, found.groups())
    draw = np.random.default_rng(1)
    parts = draw.normal(0, 1 / 8, (64, 20_000))
    exact = parts.sum(axis=0)
    sums = np.zeros(20_000, np.float16)
    for part in parts.astype(np.float16):
        sums = (sums.astype(np.float32) + part.astype(np.float32)).astype(np.float16)
    unit = float(np.spacing(np.float16(6.0)))
    once = np.abs(exact.astype(np.float16) - exact).max() / unit
    error = np.abs(sums - exact).max() / unit
    assert once <= alone < error <= together
