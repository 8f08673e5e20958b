"""Names and rules of matrix-product kernels."""

from __future__ import annotations

import pytest

from ckprof.errors import InputError
from ckprof_plugins.operations.gemm.problem import GemmProblem
from tests.plugins.pipelines.universal_gemm.products import FAMILY, NEW, OLD, broken, make_product


def test_name_is_that_of_the_dispatcher():
    instance = make_product(tile=(128, 128, 32), pipeline="compv4")
    assert FAMILY.kernel_name(instance) == (
        "gemm_fp16_rcr_compv4_cshuffle_intrawave_False_False_False_False_128x128x32_2x2x1_32x32x16"
    )
    changed = make_product(
        "bf16", "crr", pads=(True, False, True), persistent=True, scheduler="interwave", pipeline="mem",
        epilogue="default", vector_size_a=4, vector_size_b=2, vector_size_c=1,
    )  # fmt: skip
    assert FAMILY.kernel_name(changed) == (
        "gemm_bf16_crr_mem_default_interwave_True_False_True_True_128x128x64_2x2x1_32x32x16_vec4_2_1"
    )


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp8", "bf8", "int8"])
@pytest.mark.parametrize("layout", ["rcr", "rrr", "ccr", "crr"])
@pytest.mark.parametrize("level", [OLD, NEW])
def test_usual_kernel_is_valid(dtype, layout, level):
    assert broken(make_product(dtype, layout), level) == []


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({"pipeline": "compv5"}, ["api-level-feature"], []),
        ({"pipeline": "compv1", "scheduler": "interwave"}, ["api-level-feature"], []),
        ({"pipeline": "mem", "scheduler": "interwave"}, [], []),
        ({"scheduler": "interwave"}, ["api-level-feature", "scheduler"], ["scheduler"]),
        ({"pipeline": "compv6"}, ["api-level-feature", "gemm-pipeline"], ["gemm-pipeline"]),
        ({"pipeline": "compv4", "tile": (128, 128, 32), "persistent": True}, ["api-level-feature"], []),
        ({"pipeline": "mem", "persistent": True}, [], []),
        # a wave would compute seven tiles along m
        ({"tile": (224, 256, 64), "mma": (16, 16, 32)}, ["shuffle-repeat"], ["shuffle-repeat"]),
        ({"tile": (192, 128, 64)}, ["shuffle-repeat"], ["shuffle-repeat"]),
        ({"tile": (192, 128, 64), "epilogue": "default"}, [], []),
        ({"tile": (96, 128, 64)}, ["wave-divides-tile"], ["wave-divides-tile"]),
        ({"tile": (128, 136, 64), "waves": (2, 1, 1)}, ["tile-grain", "wave-divides-tile"],
         ["tile-grain", "wave-divides-tile"]),
        ({"waves": (1, 1, 8), "tile": (128, 128, 128)}, ["wave-grid"], ["wave-grid"]),
        ({"tile": (256, 256, 64), "pipeline": "compv4"}, ["lds-budget"], ["lds-budget"]),
        ({"vector_size_a": 3, "vector_size_b": 8, "vector_size_c": 8}, ["vector-size"], ["vector-size"]),
        ({"vector_size_a": 8, "vector_size_b": 16, "vector_size_c": 8}, ["vector-size"], ["vector-size"]),
    ],
)  # fmt: skip
def test_rules(changes, old, new):
    instance = make_product(**changes)
    assert (broken(instance, OLD), broken(instance, NEW)) == (old, new)


def test_types_without_instructions():
    assert broken(make_product("fp32"), OLD)[0] == "api-level-feature"
    assert "mma-tile" in broken(make_product("int8", mma=(4, 64, 16)), NEW)
    assert "wave-size" in broken(make_product(), NEW, arch="gfx1201")


def test_unknown_level_and_values():
    assert broken(make_product(), "1999-01")[0] == "api-level"
    with pytest.raises(
        InputError, match="instance 0: vector sizes are 4, 0, 0, expected all of them or none"
    ):
        make_product(vector_size_a=4)
    with pytest.raises(InputError, match="unsupported-family"):
        make_product(elementwise_op="MultiDAdd", num_d_tensors=1)
    with pytest.raises(InputError, match="instance 0: pipeline"):
        make_product(pipeline="preshufflev2")


def test_fields_have_the_names_of_the_library_interface():
    fields = make_product(pipeline="compv4", tile=(128, 128, 32)).fields()
    assert {fields[name] for name in ("tile_m", "tile_n")} == {128}
    assert (fields["wave_grid_k"], fields["mma_tile_k"], fields["persistent"]) == (1, 16, False)


def test_work_is_the_product():
    instance = make_product()
    work = FAMILY.work(instance, GemmProblem(m=3840, n=4096, k=2048), 2)
    assert work is not None
    assert (work.m, work.n, work.k, work.splits, work.waves) == (3840, 4096, 2048, 2, 4)
    assert work.tensor_bytes == 63_963_136
