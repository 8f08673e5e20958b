"""What an architecture rejects, with both numbers."""

from __future__ import annotations

import pytest

from ckprof.errors import UsageError
from ckprof.model.architecture import LATEST_API_LEVEL
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline

PIPELINE = ImplicitGemmPipeline()
LEVEL = LATEST_API_LEVEL


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


def test_more_local_memory_allows_more(make_instance):
    instance = make_instance(tile_m=512, tile_k=64)
    assert "lds-budget" in unmet_requirements(instance, "gfx942")
    assert "lds-budget" not in unmet_requirements(instance, "gfx950")


def test_kernels_can_be_written_for_the_latest_level(make_instance):
    assert PIPELINE.unmet_requirements(make_instance(), "gfx942", LATEST_API_LEVEL) == ()


def test_an_unknown_architecture(make_instance):
    with pytest.raises(UsageError, match="did you mean 'gfx950'"):
        PIPELINE.unmet_requirements(make_instance(), "gfx905", LEVEL)
