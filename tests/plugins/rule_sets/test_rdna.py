"""The kernels of RDNA devices: one per wave grid, valid there, and part of what the other rule sets have."""

import pytest

from ckprof import Profiler
from ckprof.errors import NothingLeftError, UsageError
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.types import DataType

#: upstream's table, by hand
TILES = ("32x64x32_2x4x1", "16x128x32_1x8x1", "128x16x32_8x1x1", "64x32x32_4x2x1")
SPACES = ("nhwgc_2d", "ndhwgc_3d")


@pytest.fixture(scope="module")
def profiler():
    return Profiler()


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1200", "gfx1201"])
def test_the_table(profiler, arch):
    found = profiler.instances(InstanceQuery(rule_set="rdna", arch=arch))
    assert {candidate.name for candidate in found.candidates} == {
        f"grouped_conv_fwd_{dtype}_{space}_compv3_cshuffle_intrawave_{tile}_16x16x16_vec2_2_8"
        for dtype in ("fp16", "bf16")
        for space in SPACES
        for tile in TILES
    }
    assert not found.invalid
    names = {candidate.name for candidate in found.candidates}
    for rule_set in ("default", "full"):
        others = profiler.instances(InstanceQuery(rule_set=rule_set, directions="fwd", arch=arch)).candidates
        assert names <= {candidate.name for candidate in others}
    part = InstanceQuery(rule_set="rdna", arch=arch, ndims=(3,), dtypes=(DataType.BF16,))
    assert len(profiler.instances(part).candidates) == 4


@pytest.mark.parametrize("arch", ["gfx1250", "gfx942"])
def test_other_devices_have_none(profiler, arch):
    with pytest.raises(NothingLeftError, match=f"rule set rdna: it has none for {arch}"):
        profiler.instances(InstanceQuery(rule_set="rdna", arch=arch)).require()


def test_an_architecture_without_a_table(profiler):
    with pytest.raises(UsageError, match="gfx1150"):
        profiler.instances(InstanceQuery(rule_set="rdna", arch="gfx1150"))
