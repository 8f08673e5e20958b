"""The rule sets hold what upstream's generator enumerates.

What is left after upstream's filter by architecture is counted with a filter that stands here: it shares
nothing with the validity rules.
"""

import csv
from collections import Counter

import pytest

from ckprof_plugins.pipelines.depthwise_family import DepthwiseInstance
from tests.places import TESTS

#: how many kernels upstream's generator enumerates, and how many of them pass its filter
COUNTS = [*csv.DictReader((TESTS / "data" / "rule_set_counts.csv").read_text().splitlines())]

#: Kernels of one call for all directions.
JOINT_COUNTS = {
    "default": {"gfx90a": 372, "gfx942": 372, "gfx950": 456, "gfx1201": 0, "gfx1250": 288},
    "full": {"gfx90a": 12496, "gfx942": 11800, "gfx950": 11800, "gfx1201": 6280, "gfx1250": 14404},
    "full-tests": {"gfx90a": 2495, "gfx942": 2356, "gfx950": 2356, "gfx1201": 1254, "gfx1250": 2876},
    "tiny": {"gfx90a": 35, "gfx942": 35, "gfx950": 35, "gfx1201": 23, "gfx1250": 23},
}


GRIDS = {
    "gfx90a": "1x4 2x2 4x1",
    "gfx942": "1x1 1x2 1x4 2x1 2x2 4x1",
    "gfx950": "1x1 1x2 1x4 2x1 2x2 4x1 8x2 4x4",
    "gfx1201": "2x4 1x8 8x1 4x2",
    "gfx1250": "2x4 1x8 8x1 4x2 2x1 4x1 1x4 2x2",
}
WIDE_HALF = "32x32x8 32x32x16 16x16x16 16x16x32 4x64x16 64x4x16"
HALF = {
    **dict.fromkeys(("gfx90a", "gfx942", "gfx950"), WIDE_HALF),
    "gfx1201": "16x16x16",
    "gfx1250": "16x16x32",
}
FLOAT = {**dict.fromkeys(("gfx90a", "gfx942", "gfx950"), "16x16x4 16x16x8 16x16x16 32x32x4 32x32x8")}


def passes_upstreams_filter(instance, arch):
    """The filter of June 2026: waves along K are taken for one, types without a table pass."""
    if isinstance(instance, DepthwiseInstance):
        return True
    m, n, k = instance.tile.sizes
    if instance.direction == "bwd_weight":
        fits = m % 16 == 0 and n % 16 == 0
    else:
        fits = n % 16 == 0 and k % 16 == 0
    if instance.direction != "fwd" and instance.gemm_pipeline.value not in ("compv3", "mem"):
        return False
    grid_m, grid_n, _ = instance.wave_grid.sizes
    mma_m, mma_n, mma_k = instance.mma_tile.sizes
    fits = fits and f"{grid_m}x{grid_n}" in GRIDS[arch].split()
    fits = fits and m % (grid_m * mma_m) == 0 and n % (grid_n * mma_n) == 0 and k % mma_k == 0
    float_type = instance.dtype.value == "fp32"
    listed = (FLOAT if float_type else HALF).get(arch)
    fits = fits and (listed is None or str(instance.mma_tile) in listed.split())
    if arch == "gfx1250" and instance.wave_grid.sizes == (1, 2, 2):
        return False
    budget = 32768 if instance.gemm_pipeline.value in ("compv4", "compv6") else 65536
    return fits and (m + n) * k * (4 if float_type else 2) <= budget


@pytest.mark.parametrize("row", COUNTS, ids=lambda row: "-".join([*row.values()][:3]))
def test_counts(row, entries_of):
    rule_set, arch, direction, *counts = row.values()
    # what ckprof adds there has its own test
    more = entries_of("rdna", arch, (direction,)) if arch == "gfx1201" else ()
    rdna = {entry.instance.key for entry in more}
    instances = [entry.instance for entry in entries_of(rule_set, arch, (direction,))]
    instances = [instance for instance in instances if instance.key not in rdna]
    counted = Counter((instance.dtype.value, instance.ndim) for instance in instances)
    assert [
        *(counted[dtype, ndim] for ndim in (2, 3) for dtype in ("fp16", "bf16", "fp32")),
        sum(isinstance(instance, DepthwiseInstance) for instance in instances),
        sum(passes_upstreams_filter(instance, arch) for instance in instances),
    ] == [*map(int, counts)]


@pytest.mark.parametrize("rule_set", JOINT_COUNTS)
def test_one_call_for_all_directions(rule_set, entries_of):
    more = len(entries_of("rdna", "gfx1201")) if rule_set in ("default", "full") else 0
    counts = {
        arch: len(entries_of(rule_set, arch)) - more * (arch == "gfx1201") for arch in JOINT_COUNTS[rule_set]
    }
    assert counts == JOINT_COUNTS[rule_set]


def test_features_of_full(entries_of):
    def features(direction):
        from ckprof_plugins.rule_sets.default import category

        entries = entries_of("full", "gfx942", (direction,))
        return Counter(category(entry.instance).rpartition("_")[0] for entry in entries)

    assert features("fwd") == {"regular": 2478, "split_image": 298, "merged_groups": 264, "depthwise": 60}
    assert features("bwd_data") == {"regular": 500}
    assert features("bwd_weight") == {
        **{"regular": 2384, "explicit_gemm": 1176, "two_stage": 1480},
        **{"merged_groups": 664, "streamk": 2496},
    }


def test_one_dimension_has_only_features_of_no_tile(entries_of):
    counts = {
        d: Counter(e.defect and e.defect.rule for e in entries_of("full", "gfx942", (d,), (1,)))
        for d in ("fwd", "bwd_data", "bwd_weight")
    }
    assert counts == {"fwd": {"tile-table": 281}, "bwd_data": {}, "bwd_weight": {"tile-table": 2908}}


# the others are picked from full
@pytest.mark.parametrize("rule_set", ["default", "full"])
@pytest.mark.parametrize("arch", JOINT_COUNTS["full"])
def test_names_and_keys_tell_all_kernels_apart(rule_set, arch, entries_of, registry):
    instances = [entry.instance for entry in entries_of(rule_set, arch)]
    names = {registry.pipelines.find(i.pipeline).kernel_name(i).lower() for i in instances}
    assert len(names) == len(instances)
    assert len({i.key for i in instances}) == len(instances)


def test_names_as_upstream_spells_them(entries_of, registry):
    names = {
        registry.pipelines.find(e.instance.pipeline).kernel_name(e.instance)
        for rule_set in ("default", "full")
        for e in entries_of(rule_set, "gfx942")
    }
    for name in (
        "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_16x64x64_1x4x1_16x16x16",
        "grouped_conv_bwd_data_fp16_nhwgc_2d_compv1_cshuffle_intrawave_128x64x32_2x2x1_32x32x16"
        "_vec8_8_8_filter1x1_stride1_pad0",
        "grouped_conv_fwd_depthwise_fp16_ngchw_2d_8x8_f3_s1x1_p1x1_nb8_sub2x2_vec2_2",
    ):
        assert name in names
    three = {name.split("_3d_")[0] for name in names if "_3d_" in name}
    assert {name.rpartition("_")[2] for name in three} == {"ndhwgc"}


@pytest.mark.parametrize("arch", ["gfx942", "gfx1250"])
def test_the_selections_are_parts_of_full(arch, entries_of):
    full, tests, tiny = (
        [entry.instance.identity() for entry in entries_of(rule_set, arch, ("bwd_data",))]
        for rule_set in ("full", "full-tests", "tiny")
    )
    assert len(tiny) < len(tests) < len(full)
    for part, whole in ((tests, full), (tiny, tests)):
        positions = [whole.index(one) for one in part]
        assert positions == sorted(positions)
