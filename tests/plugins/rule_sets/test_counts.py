"""The rule sets hold what upstream's generator enumerates.

What is left after upstream's filter by architecture is counted with a filter that stands here: it shares
nothing with the validity rules.
"""

from collections import Counter

import pytest

from ckprof_plugins.pipelines.depthwise_family import DepthwiseInstance

COUNTS = [
    ("default", "gfx90a", "fwd", (14, 14, 14), (14, 14, 14), 0, 50),
    ("default", "gfx90a", "bwd_data", (16, 16, 16), (16, 16, 16), 0, 76),
    ("default", "gfx90a", "bwd_weight", (32, 32, 32), (32, 32, 32), 0, 152),
    ("default", "gfx942", "fwd", (14, 14, 14), (14, 14, 14), 0, 50),
    ("default", "gfx942", "bwd_data", (16, 16, 16), (16, 16, 16), 0, 76),
    ("default", "gfx942", "bwd_weight", (32, 32, 32), (32, 32, 32), 0, 152),
    ("default", "gfx950", "fwd", (16, 16, 16), (16, 16, 16), 0, 58),
    ("default", "gfx950", "bwd_data", (20, 20, 20), (20, 20, 20), 0, 92),
    ("default", "gfx950", "bwd_weight", (40, 40, 40), (40, 40, 40), 0, 184),
    ("default", "gfx1201", "fwd", (0, 0, 0), (0, 0, 0), 0, 0),
    ("default", "gfx1201", "bwd_data", (0, 0, 0), (0, 0, 0), 0, 0),
    ("default", "gfx1201", "bwd_weight", (0, 0, 0), (0, 0, 0), 0, 0),
    ("default", "gfx1250", "fwd", (12, 12, 12), (12, 12, 12), 0, 24),
    ("default", "gfx1250", "bwd_data", (12, 12, 12), (12, 12, 12), 0, 48),
    ("default", "gfx1250", "bwd_weight", (24, 24, 24), (24, 24, 24), 0, 96),
    ("full", "gfx90a", "fwd", (882, 882, 329), (851, 851, 309), 60, 3164),
    ("full", "gfx90a", "bwd_data", (106, 106, 72), (106, 106, 72), 0, 0),
    ("full", "gfx90a", "bwd_weight", (1852, 1852, 224), (1836, 1836, 224), 0, 2420),
    ("full", "gfx942", "fwd", (641, 641, 308), (611, 611, 288), 60, 3080),
    ("full", "gfx942", "bwd_data", (86, 86, 78), (86, 86, 78), 0, 0),
    ("full", "gfx942", "bwd_weight", (1942, 1942, 228), (1930, 1930, 228), 0, 3280),
    ("full", "gfx950", "fwd", (641, 641, 308), (611, 611, 288), 60, 3080),
    ("full", "gfx950", "bwd_data", (86, 86, 78), (86, 86, 78), 0, 0),
    ("full", "gfx950", "bwd_weight", (1942, 1942, 228), (1930, 1930, 228), 0, 3280),
    ("full", "gfx1201", "fwd", (802, 802, 20), (782, 782, 0), 60, 60),
    ("full", "gfx1201", "bwd_data", (94, 94, 0), (94, 94, 0), 0, 0),
    ("full", "gfx1201", "bwd_weight", (684, 684, 0), (674, 674, 0), 0, 0),
    ("full", "gfx1250", "fwd", (1386, 1386, 20), (1366, 1366, 0), 60, 5196),
    ("full", "gfx1250", "bwd_data", (254, 254, 0), (254, 254, 0), 0, 0),
    ("full", "gfx1250", "bwd_weight", (1980, 1980, 0), (1952, 1952, 0), 0, 2992),
    ("full-tests", "gfx90a", "fwd", (176, 176, 67), (170, 170, 61), 12, 624),
    ("full-tests", "gfx90a", "bwd_data", (21, 21, 14), (21, 21, 14), 0, 0),
    ("full-tests", "gfx90a", "bwd_weight", (368, 368, 44), (367, 367, 45), 0, 484),
    ("full-tests", "gfx942", "fwd", (128, 128, 61), (122, 122, 57), 12, 615),
    ("full-tests", "gfx942", "bwd_data", (17, 17, 15), (17, 17, 16), 0, 0),
    ("full-tests", "gfx942", "bwd_weight", (387, 387, 45), (386, 386, 46), 0, 674),
    ("full-tests", "gfx950", "fwd", (128, 128, 61), (122, 122, 57), 12, 615),
    ("full-tests", "gfx950", "bwd_data", (17, 17, 15), (17, 17, 16), 0, 0),
    ("full-tests", "gfx950", "bwd_weight", (387, 387, 45), (386, 386, 46), 0, 674),
    ("full-tests", "gfx1201", "fwd", (160, 160, 4), (157, 157, 0), 12, 12),
    ("full-tests", "gfx1201", "bwd_data", (18, 18, 0), (19, 19, 0), 0, 0),
    ("full-tests", "gfx1201", "bwd_weight", (135, 135, 0), (136, 136, 0), 0, 0),
    ("full-tests", "gfx1250", "fwd", (277, 277, 4), (273, 273, 0), 12, 1032),
    ("full-tests", "gfx1250", "bwd_data", (50, 50, 0), (51, 51, 0), 0, 0),
    ("full-tests", "gfx1250", "bwd_weight", (395, 395, 0), (389, 389, 0), 0, 600),
    ("tiny", "gfx90a", "fwd", (4, 4, 4), (3, 3, 3), 3, 21),
    ("tiny", "gfx90a", "bwd_data", (2, 2, 2), (2, 1, 1), 0, 0),
    ("tiny", "gfx90a", "bwd_weight", (5, 5, 2), (5, 5, 2), 0, 10),
    ("tiny", "gfx942", "fwd", (4, 4, 4), (3, 3, 3), 3, 21),
    ("tiny", "gfx942", "bwd_data", (2, 2, 2), (2, 1, 1), 0, 0),
    ("tiny", "gfx942", "bwd_weight", (5, 5, 2), (5, 5, 2), 0, 6),
    ("tiny", "gfx950", "fwd", (4, 4, 4), (3, 3, 3), 3, 21),
    ("tiny", "gfx950", "bwd_data", (2, 2, 2), (2, 1, 1), 0, 0),
    ("tiny", "gfx950", "bwd_weight", (5, 5, 2), (5, 5, 2), 0, 6),
    ("tiny", "gfx1201", "fwd", (4, 4, 1), (3, 3, 0), 3, 3),
    ("tiny", "gfx1201", "bwd_data", (3, 3, 0), (2, 2, 0), 0, 0),
    ("tiny", "gfx1201", "bwd_weight", (4, 4, 0), (4, 4, 0), 0, 0),
    ("tiny", "gfx1250", "fwd", (4, 4, 1), (3, 3, 0), 3, 11),
    ("tiny", "gfx1250", "bwd_data", (3, 3, 0), (2, 2, 0), 0, 0),
    ("tiny", "gfx1250", "bwd_weight", (4, 4, 0), (4, 4, 0), 0, 2),
]

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


@pytest.mark.parametrize(
    ("rule_set", "arch", "direction", "two", "three", "depthwise", "left"),
    COUNTS,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_counts(rule_set, arch, direction, two, three, depthwise, left, entries_of):
    # what ckprof adds there has its own test
    more = entries_of("rdna", arch, (direction,)) if arch == "gfx1201" else ()
    rdna = {entry.instance.key for entry in more}
    instances = [entry.instance for entry in entries_of(rule_set, arch, (direction,))]
    instances = [instance for instance in instances if instance.key not in rdna]
    counted = Counter((i.ndim, i.dtype.value) for i in instances)
    assert tuple(counted[2, dtype] for dtype in ("fp16", "bf16", "fp32")) == two
    assert tuple(counted[3, dtype] for dtype in ("fp16", "bf16", "fp32")) == three
    assert sum(isinstance(i, DepthwiseInstance) for i in instances) == depthwise
    assert sum(passes_upstreams_filter(i, arch) for i in instances) == left


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
