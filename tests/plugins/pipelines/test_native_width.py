"""Widths of accesses that CK Tile derives from tiles, and those that cover a tile."""

from __future__ import annotations

import pytest

from ckprof_plugins.pipelines.rules import covers, native_width


@pytest.mark.parametrize(
    ("fast", "share", "element", "width"),
    [
        # 16 bytes, 8 bytes where the share is smaller, single elements where neither fits
        *[(64, 16, 2, 8), (64, 4, 2, 4), (12, 8, 2, 4), (10, 5, 2, 1), (64, 2, 2, 1)],
        # the axis fits and the share does not, and the other way round
        *[(64, 12, 2, 4), (24, 64, 2, 8), (20, 64, 2, 4)],
        *[(64, 16, 4, 4), (64, 2, 4, 2), (64, 16, 1, 16)],
    ],
)
def test_the_widest_access_divides_axis_and_share(fast, share, element, width):
    assert native_width(fast, share, element) == width


@pytest.mark.parametrize(
    ("fast", "other", "width", "waves", "does"),
    [
        # 8 lanes along a row, 8 rows a wave, 32 rows at once
        (64, 64, 8, 4, True),
        (64, 16, 8, 4, True),
        # more lanes along a row than a wave has
        (128, 128, 1, 4, False),
        # rows of 24 elements take 3 lanes, which do not divide a wave
        (24, 64, 8, 1, False),
        (4, 64, 8, 1, False),
    ],
)
def test_lanes_cover_whole_rows(fast, other, width, waves, does):
    assert covers(fast, other, width, waves, 64) is does
