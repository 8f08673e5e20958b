"""Keys say what a kernel is, and no two kernels have the same one."""

from dataclasses import replace

import pytest

import ckprof
from ckprof.model.types import ComputeType, DataType
from ckprof_plugins.directions.bwd_weight import OPERATION as BACKWARD_WEIGHT
from ckprof_plugins.directions.fwd import OPERATION as FORWARD
from ckprof_plugins.dispatcher.keys import algorithm_of, signature_of
from ckprof_plugins.pipelines.vocabulary import ChannelPadding


def test_a_key_of_a_gemm_kernel(kernels_of):
    first = "tile_m == 128 and gemm_pipeline == 'compv4' and dtype == 'bf16' and ndim == 3"
    instance = kernels_of("fwd", first).candidates[0].instance
    assert signature_of(instance, FORWARD) == {
        **{"dtype_in": "bf16", "dtype_wei": "bf16", "dtype_out": "bf16"},
        **{"layout": "ndhwgc", "ndim_spatial": 3},
    }
    assert algorithm_of(instance) == {
        **{"tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1},
        **{"warp_m": 32, "warp_n": 32, "warp_k": 16},
        **{"vector_size_a": 8, "vector_size_b": 8, "vector_size_c": 8},
        **{"pipeline": "compv4", "scheduler": "intrawave", "epilogue": "cshuffle"},
        **{"block_per_cu": 1, "num_wave_groups": 1, "num_groups_to_merge": 1, "specialization": "default"},
        **{"large_tensor": False, "streamk_enabled": False},
        **{"streamk_reduction": "none", "streamk_persistent": False},
    }


def test_tensors_have_the_types_of_their_own(kernels_of):
    instance = kernels_of("fwd", "_bfp8").candidates[0].instance
    found = signature_of(instance, FORWARD)
    assert [found[f"dtype_{name}"] for name in ("in", "wei", "out")] == ["bf8", "fp8", "fp8"]


@pytest.mark.parametrize(
    ("direction", "chosen", "expected"),
    [
        (
            "bwd_weight",
            "family == 'stream_k'",
            {"streamk_enabled": True, "streamk_reduction": "tree", "specialization": "default"},
        ),
        ("bwd_weight", "family == 'two_stage'", {"specialization": "default_2stage"}),
        (
            "bwd_weight",
            "explicit_gemm and gemm_pipeline == 'compv6'",
            {"specialization": "filter1x1_stride1_pad0_explicit_gemm"},
        ),
        (
            "fwd",
            "family == 'depthwise' and filt == 5",
            {
                **{"pipeline": "depthwise", "scheduler": "none", "epilogue": "none", "block_per_cu": 2},
                **{"tile_k": 5, "wave_k": 0, "warp_m": 2},
            },
        ),
    ],
)
def test_what_keys_have_no_field_for_stands_in_the_specialization(direction, chosen, expected, kernels_of):
    instance = kernels_of(direction, chosen).candidates[0].instance
    found = algorithm_of(instance)
    assert {name: found[name] for name in expected} == expected


def test_marks_stand_in_the_order_of_names(kernels_of):
    instance = kernels_of("fwd", "fp32_nhwgc_2d_compv3").candidates[0].instance
    changed = replace(
        instance,
        double_smem_buffer=True,
        compute_type=ComputeType.TF32,
        channel_padding=ChannelPadding.OUTSIDE,
    )
    expected = f"{instance.specialization.value}_dsb_padded_outside_tf32"
    assert algorithm_of(changed)["specialization"] == expected


@pytest.mark.thorough
def test_kernels_of_the_largest_rule_set_are_told_apart():
    """Without those marks, 2,752 of 8,200 backward-weight kernels share a key with another one."""
    query = ckprof.InstanceQuery(
        **{"rule_set": "full", "directions": "bwd_weight", "arch": "gfx942"},
        **{"dtypes": (DataType.FP16,), "ndims": (2,), "keep_invalid": True},
    )
    instances = [one.instance for one in ckprof.Profiler().instances(query).candidates]
    keys = {repr((signature_of(one, BACKWARD_WEIGHT), algorithm_of(one))) for one in instances}
    assert len(keys) == len(instances) > 1000
