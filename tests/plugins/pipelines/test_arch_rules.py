"""What an architecture rejects, with both numbers."""

from itertools import product
from types import SimpleNamespace

import pytest

from ckprof.errors import UsageError
from ckprof.model.architecture import API_LEVELS, LATEST_API_LEVEL, find_architecture
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from ckprof_plugins.pipelines.rules import latest_level, unfit_for_shuffle, wide_waves

PIPELINE = ImplicitGemmPipeline()
LEVEL = LATEST_API_LEVEL
DIRECTIONS = ("fwd", "bwd_data", "bwd_weight")
LAYOUTS = ("NHWGC", "G_C")
ADDED = {"direction": "bwd_data", "elementwise_op": "AddClamp"}
EXPLICIT = {"explicit_gemm": True, "specialization": "filter1x1_stride1_pad0"}


def unmet_requirements(instance, arch):
    return {rejection.rule: rejection for rejection in PIPELINE.unmet_requirements(instance, arch, LEVEL)}


@pytest.mark.parametrize(
    ("arch", "rule", "changes", "found", "allowed"),
    [
        ("gfx90a", "wave-grid", {"warp_m": 2}, "2x1x1", "1x4x1, 2x2x1, 4x1x1"),
        ("gfx942", "mma-tile", {"warp_tile_k": 8}, "16x16x8", None),
        ("gfx1201", "narrow-wave", {"warp_tile_m": 32, "warp_tile_n": 32}, 32, 16),
        ("gfx942", "lds-budget", {"tile_m": 512, "tile_k": 64}, 81920, 65536),
        ("gfx942", "lds-budget", {"pipeline": "compv6", "tile_m": 256, "tile_k": 64}, 49152, 32768),
        ("gfx942", "tile-grain", {"tile_k": 8}, 8, 16),
        ("gfx942", "coverage", {"vector_size_b": 1, "vector_size_c": 16, "tile_n": 24}, 16, 24),
        ("gfx942", "coverage", {"tile_m": 48}, 4, 6),
        ("gfx942", "vector-size", {"vector_size_a": 6}, 6, "a power of two"),
        ("gfx942", "vector-size", {"vector_size_a": 32}, 64, 32),
        # 64 x 4 x 2 x 3 lanes
        ("gfx942", "coverage", {"tile_m": 128, "tile_k": 33, "warp_n": 2, "warp_k": 3}, 4224, 1536),
        ("gfx942", "coverage", {"pipeline": "compv6", "vector_size_a": 32}, 32, 16),
        ("gfx942", "merged-groups", {"direction": "bwd_weight", "num_groups_to_merge": 96}, 96, 64),
    ],
)
def test_rejections_have_both_numbers(arch, rule, changes, found, allowed, make_instance):
    broken = unmet_requirements(make_instance(**changes), arch)[rule]
    assert broken.found == found
    if allowed is not None:
        assert broken.allowed == allowed
    for number in (found, allowed):
        if isinstance(number, int):
            assert str(number) in broken.message


def test_tiles_are_multiples_of_what_headers_cut_them_into(make_instance):
    grains = {"fwd": (1, 16, 16), "bwd_data": (1, 16, 16), "bwd_weight": (16, 16, 1)}
    for direction, of_axes in grains.items():
        for axis, grain in zip("mnk", of_axes, strict=True):
            for size in (1, 8, 15, 16, 17, 24, 32):
                instance = make_instance(direction=direction, **{f"tile_{axis}": size})
                broken = unmet_requirements(instance, "gfx942").get("tile-grain")
                expected = (size, grain) if size % grain else None
                assert (broken and (broken.found, broken.allowed)) == expected, (direction, axis, size)


def test_vectors_are_powers_of_two_up_to_32_bytes(make_instance):
    for name, (dtype, size_bytes), size in product("abc", (("bf16", 2), ("fp32", 4)), range(1, 33)):
        instance = make_instance(dtype=dtype, **{f"vector_size_{name}": size})
        broken = unmet_requirements(instance, "gfx942").get("vector-size")
        expected = (size * size_bytes, 32) if size * size_bytes > 32 else None
        expected = expected if size in (1, 2, 4, 8, 16, 32) else (size, "a power of two")
        assert (broken and (broken.found, broken.allowed)) == expected, (name, dtype, size)


def test_what_goes_with_some_directions_pipelines_or_architectures_alone(make_instance):
    own = {"pipeline": "compv5", "warp_m": 1, "warp_n": 1, "warp_k": 2}
    for rule, changes, fine in (
        ("wave-grid", own, True),
        ("wave-grid", {**own, "warp_k": 1}, False),
        ("wave-grid", {**own, "warp_k": 3}, False),
        ("wave-grid", {**own, "warp_n": 2}, False),
        ("wave-grid", {**own, "pipeline": "compv3"}, False),
        *[("split-image", {"direction": name, "split_image": True}, name == "fwd") for name in DIRECTIONS],
        *[("split-image", {"direction": name}, True) for name in DIRECTIONS],
        *[("gemm-pipeline", {"direction": name, "pipeline": "compv5"}, name == "fwd") for name in DIRECTIONS],
        *[("gemm-pipeline", {"direction": name, "pipeline": "compv3"}, True) for name in DIRECTIONS],
        *[("explicit-gemm", {"direction": name, **EXPLICIT}, name != "bwd_data") for name in DIRECTIONS],
        ("explicit-gemm", {"specialization": "filter1x1_pad0", "num_groups_to_merge": 2}, True),
        *[("types", {"direction": name, "dtype": "fp8"}, name == "fwd") for name in DIRECTIONS],
        *[("types", {"direction": name, "dtype": "fp32"}, True) for name in DIRECTIONS],
        # a channel of the result is another one in a kernel that folds strides
        *[
            ("elementwise", {**ADDED, "d_layouts": name, "fold_stride": True}, name != "G_C")
            for name in LAYOUTS
        ],
        *[("elementwise", {**ADDED, "d_layouts": name}, True) for name in LAYOUTS],
        ("elementwise", {**ADDED, "direction": "fwd", "d_layouts": "G_K", "fold_stride": True}, True),
        ("layout", {"layout": "ngchw"}, False),
        ("layout", {"layout": "ndhwgc"}, True),
    ):
        broken = unmet_requirements(make_instance(**changes), "gfx90a")
        assert (rule not in broken) is fine, (rule, changes)


def test_shares_of_local_memory_are_named_where_stages_have_less(make_instance):
    for pipeline, budget, share in (("compv6", 32768, ", compv6 may use 1/2 of it"), ("compv3", 65536, "")):
        instance = make_instance(pipeline=pipeline, tile_m=512, tile_n=512, tile_k=64)
        message = unmet_requirements(instance, "gfx942")["lds-budget"].message
        assert message.endswith(f"the budget is {budget} (gfx942 has 65536{share})")


def test_limits_that_messages_say_in_words_have_numbers(make_instance):
    for rule, changes, numbers in (
        ("smem-buffering", {"pipeline": "compv4"}, (1, 2)),
        ("smem-buffering", {"pipeline": "compv1", "double_smem_buffer": True}, (2, 1)),
        ("merged-groups", {"direction": "bwd_data", "num_groups_to_merge": 2}, (2, 1)),
        ("explicit-gemm", {**EXPLICIT, "num_groups_to_merge": 2}, (2, 1)),
        ("wave-divides-tile", {"tile_m": 96}, (96, 64)),
    ):
        broken = unmet_requirements(make_instance(**changes), "gfx942")[rule]
        assert (broken.found, broken.allowed) == numbers, rule


def test_a_type_without_matrix_instructions(make_instance):
    broken = unmet_requirements(make_instance(dtype="fp32"), "gfx1201")["mma-tile"]
    assert broken.message == "gfx1201 has no MMA tile 16x16x16 for fp32 (it has none)"


@pytest.mark.parametrize(("arch", "has"), [("gfx942", True), ("gfx950", False), ("gfx90a", False)])
def test_tf32_needs_instructions_for_it(arch, has, make_instance):
    instance = make_instance(dtype="fp32", compute_type="tf32")
    broken = unmet_requirements(instance, arch)
    assert ("mma-tile" in broken) != has
    if not has:
        assert broken["mma-tile"].message == f"{arch} has no MMA tile 16x16x16 for tf32 (it has none)"
    shallow = unmet_requirements(make_instance(dtype="fp32", compute_type="tf32", warp_tile_k=4), "gfx942")
    # one instruction of fp32 is that deep, of TF32 twice as deep
    assert shallow["mma-tile"].allowed == "16x16x8, 16x16x16, 32x32x4, 32x32x8"


def test_families_of_the_latest_level_and_of_wide_waves():
    for level in (*API_LEVELS, "2020-01"):
        broken = latest_level("kernels")(SimpleNamespace(api_level=level))
        older = level in API_LEVELS[:-1]
        assert (broken and (broken.found, broken.allowed)) == ((level, LEVEL) if older else None)
    for arch, numbers in (("gfx942", None), ("gfx1201", (32, 64))):
        broken = wide_waves(SimpleNamespace(arch=find_architecture(arch)))
        assert (broken and (broken.found, broken.allowed)) == numbers


def test_an_unknown_architecture(make_instance):
    with pytest.raises(UsageError, match="did you mean 'gfx950'"):
        PIPELINE.unmet_requirements(make_instance(), "gfx905", LEVEL)


def test_what_is_exactly_as_large_as_allowed_is_allowed(make_instance):
    for arch, rule, changes in (
        # 65,536 bytes of local memory: (256 + 256) x 64 halves; half of it: (128 + 128) x 64
        ("gfx942", "lds-budget", {"tile_m": 256, "tile_n": 256, "tile_k": 64}),
        ("gfx942", "lds-budget", {"pipeline": "compv6", "tile_m": 128, "tile_n": 128, "tile_k": 64}),
        # which has more
        ("gfx950", "lds-budget", {"tile_m": 512, "tile_k": 64}),
        # a lane has 16 elements: of more a vector is made by several lanes, but not in compv6
        ("gfx942", "coverage", {"tile_m": 128, "tile_k": 32, "vector_size_a": 16}),
        ("gfx942", "coverage", {"tile_m": 128, "tile_k": 32, "vector_size_a": 32}),
        ("gfx942", "coverage", {"pipeline": "compv6", "tile_m": 128, "tile_k": 32, "vector_size_a": 16}),
        ("gfx942", "narrow-wave", {"warp_tile_m": 32, "warp_tile_n": 32}),
        ("gfx1201", "narrow-wave", {"warp_tile_m": 16, "warp_tile_n": 16}),
    ):
        assert rule not in unmet_requirements(make_instance(**changes), arch), (arch, rule, changes)
    for arch, rule, changes in (
        ("gfx942", "coverage", {"pipeline": "compv6", "tile_m": 128, "tile_k": 32, "vector_size_a": 32}),
        ("gfx942", "coverage", {"tile_m": 128, "tile_k": 32, "vector_size_a": 24}),
    ):
        assert rule in unmet_requirements(make_instance(**changes), arch), (arch, rule, changes)


@pytest.mark.parametrize(
    ("tile", "waves", "mma", "unfit"),
    [
        # MMA tiles of a wave along M and N: 2 and 8; 4 and 1; 1 and 1; 16 and 2
        ((128, 128, 32), (4, 1, 1), (16, 16, 16), None),
        ((256, 64, 32), (2, 2, 1), (32, 32, 16), None),
        ((16, 16, 16), (1, 1, 1), (16, 16, 16), None),
        ((256, 32, 16), (1, 1, 1), (16, 16, 16), None),
        # 3; 6 along N; 12; 5; what waves do not fill is the matter of another rule
        ((48, 16, 16), (1, 1, 1), (16, 16, 16), ("m", 3)),
        ((64, 192, 16), (1, 2, 1), (16, 16, 16), ("n", 6)),
        ((192, 16, 16), (1, 1, 1), (16, 16, 16), ("m", 12)),
        ((16, 80, 16), (1, 1, 1), (16, 16, 16), ("n", 5)),
        ((40, 16, 16), (1, 1, 1), (16, 16, 16), None),
        ((256, 96, 16), (2, 1, 1), (32, 32, 16), ("n", 3)),
    ],
)
def test_shuffles_move_powers_of_two(tile, waves, mma, unfit, make_instance):
    sizes = {"tile": tile, "warp": waves, "warp_tile": mma}
    changes = {
        f"{name}_{axis}": size
        for name, three in sizes.items()
        for axis, size in zip("mnk", three, strict=True)
    }
    for epilogue, expected in (("cshuffle", unfit), ("default", None)):
        candidate = SimpleNamespace(instance=make_instance(**changes, epilogue=epilogue))
        assert unfit_for_shuffle(candidate) == expected
    if unfit is not None and unfit[0] == "n":
        candidate = SimpleNamespace(instance=make_instance(**changes, epilogue="cshuffle"))
        assert unfit_for_shuffle(candidate, "m") is None


def test_backward_weight_merges_powers_of_two_groups(make_instance):
    for direction, merged, fine in (
        *[("bwd_weight", count, True) for count in (1, 2, 4, 8, 16, 32, 64)],
        *[("bwd_weight", count, False) for count in (3, 5, 6, 12, 33, 48, 65, 128)],
        *[("fwd", count, True) for count in (1, 3, 128)],
        *[("bwd_data", count, count == 1) for count in (1, 2, 3)],
    ):
        broken = unmet_requirements(make_instance(direction=direction, num_groups_to_merge=merged), "gfx942")
        assert ("merged-groups" in broken) == (not fine), (direction, merged)


#: tile, grid of waves of an interwave kernel whose weights are wrong in half types
WRONG = {"direction": "bwd_weight", "scheduler": "interwave", "pipeline": "mem", "dtype": "fp16"}
SHAPES = [((64, 64, 64), (2, 2)), ((64, 16, 64), (2, 1)), ((16, 32, 64), (1, 2))]


def shaped(tile, waves):
    sizes = {f"tile_{axis}": size for axis, size in zip("mnk", tile, strict=True)}
    return {**sizes, "warp_m": waves[0], "warp_n": waves[1], "warp_k": 1}


def test_kernels_that_are_known_to_give_wrong_weights_are_rejected(make_instance):
    for shape in SHAPES:
        for fine, changes in (
            *[
                (False, {"pipeline": name, "dtype": dtype})
                for name in ("mem", "compv1")
                for dtype in ("fp16", "bf16")
            ],
            (True, {"direction": "fwd"}),
            (True, {"direction": "bwd_data"}),
            (True, {"scheduler": "intrawave"}),
            (True, {"pipeline": "compv3"}),
            (True, {"specialization": "filter1x1_stride1_pad0"}),
            (True, {"dtype": "fp32"}),
            (True, {"tile_m": 32}),
            (True, {"warp_m": 4}),
        ):
            instance = make_instance(**{**WRONG, **shaped(*shape), **changes})
            assert ("wrong-interwave" in unmet_requirements(instance, "gfx942")) == (not fine), (
                shape,
                changes,
            )
