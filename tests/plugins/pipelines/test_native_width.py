"""Widths of accesses that CK Tile derives from tiles, and those that cover a tile."""

from types import SimpleNamespace

import pytest

from ckprof.model.architecture import (
    API_LEVEL_2025_07,
    API_LEVEL_2025_11,
    API_LEVELS,
    LATEST_API_LEVEL,
    find_architecture,
)
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from ckprof_plugins.pipelines.rules import covers, native_width, taken_for_columns, turns_last_of_two
from ckprof_plugins.pipelines.vocabulary import GemmPipeline


@pytest.mark.parametrize(
    ("fast", "share", "element", "width"),
    [
        # 16 bytes, 8 bytes where the share is smaller, single elements where neither fits
        *[(64, 16, 2, 8), (64, 4, 2, 4), (12, 8, 2, 4), (10, 5, 2, 1), (64, 2, 2, 1)],
        # the axis fits and the share does not, and the other way round
        *[(64, 12, 2, 4), (24, 64, 2, 8), (20, 64, 2, 4)],
        *[(64, 16, 4, 4), (64, 2, 4, 2), (64, 16, 1, 16), (64, 16, 32, 1)],
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
        # a row and a half of what the waves load at once; half of it
        (64, 48, 8, 4, False),
        (64, 96, 8, 4, True),
        (64, 24, 8, 1, True),
        # a lane has fewer elements than the width: 4, and 16 lanes are along a row, 16 rows at once
        (64, 8, 8, 2, True),
        (64, 24, 16, 4, False),
        (32, 16, 16, 1, True),
        # less than one element a lane: one, and 64 lanes along a row
        (64, 2, 1, 4, False),
        (64, 4, 4, 4, True),
        (64, 4, 1, 8, False),
        # one and a half
        (12, 8, 6, 1, False),
    ],
)
def test_lanes_cover_whole_rows(fast, other, width, waves, does):
    assert covers(fast, other, width, waves, 64) is does


@pytest.mark.parametrize(
    ("fast", "level", "arch", "right"),
    [
        *[(fast, API_LEVEL_2025_11, "gfx950", fast == 512) for fast in (256, 511, 512, 513, 1024)],
        *[(256, level, "gfx950", False) for level in (API_LEVEL_2025_07, API_LEVEL_2025_11)],
        *[(256, API_LEVEL_2025_11, "gfx942", True), (256, LATEST_API_LEVEL, "gfx950", True)],
    ],
)
def test_rows_are_taken_for_columns_where_operands_are_read_transposed(
    fast, level, arch, right, make_instance
):
    candidate = SimpleNamespace(
        instance=make_instance(pipeline="compv1"), api_level=level, arch=find_architecture(arch)
    )
    found = taken_for_columns(candidate, "b", fast, int("512"))
    assert (found is None) == right
    assert right or f"with 512 x {fast} elements of b" in found[0]


def test_what_is_turned_once_more_in_the_last_of_two_blocks():
    for pipeline in GemmPipeline:
        for level in API_LEVELS:
            for arch in ("gfx942", "gfx950"):
                expected = (pipeline.value, level, arch) == ("compv3", API_LEVEL_2025_07, "gfx950")
                assert turns_last_of_two(pipeline, find_architecture(arch), level) is expected


@pytest.mark.parametrize(
    ("dtype", "tiles"),
    [
        ("fp8", "16x16x32, 16x16x64, 32x32x16, 32x32x32"),
        ("bf8", "16x16x32, 16x16x64, 32x32x16, 32x32x32"),
        ("int8", "16x16x32, 32x32x16"),
        ("fp32", "16x16x4, 16x16x16"),
    ],
)
def test_tiles_of_headers_of_november_2025(dtype, tiles, make_instance):
    """As its dispatcher of MMA tiles has them."""
    instance = make_instance(dtype=dtype, warp_tile_m=8)
    found = ImplicitGemmPipeline().unmet_requirements(instance, "gfx942", API_LEVEL_2025_11)
    (message,) = [one.message for one in found if one.rule == "api-level-feature"]
    assert message.endswith(f"for {dtype} (it has {tiles})")
