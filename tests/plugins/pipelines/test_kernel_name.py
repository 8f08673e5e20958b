"""Kernel names: every example and every part of the grammar."""

from __future__ import annotations

import dataclasses

import pytest

from ckprof.model.compute_type import ComputeType
from ckprof.model.dtype import DataType
from ckprof.model.layout import find_layout
from ckprof_plugins.pipelines._gemm.instance import Extent
from ckprof_plugins.pipelines._gemm.kernel_name import gemm_kernel_name, name_of_instance
from ckprof_plugins.pipelines._gemm.vocabulary import (
    Epilogue,
    GemmPipeline,
    Scheduler,
    Specialization,
)

BASE = {
    "direction": "fwd",
    "dtype": "fp16",
    "layout": "nhwgc",
    "ndim": 2,
    "gemm_pipeline": "compv1",
    "epilogue": "cshuffle",
    "scheduler": "intrawave",
    "tile": (64, 64, 64),
    "wave_grid": (2, 2, 1),
    "mma_tile": (16, 16, 16),
}

EXAMPLES = {
    "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_16x64x64_1x4x1_16x16x16": {
        "gemm_pipeline": "compv3",
        "tile": (16, 64, 64),
        "wave_grid": (1, 4, 1),
    },
    "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_128x128x32_2x2x1_32x32x16_dsb": {
        "gemm_pipeline": "compv4",
        "tile": (128, 128, 32),
        "mma_tile": (32, 32, 16),
        "double_smem_buffer": True,
    },
    "grouped_conv_bwd_data_fp16_nhwgc_2d_compv1_cshuffle_intrawave_128x64x32_2x2x1_32x32x16"
    "_vec8_8_8_filter1x1_stride1_pad0": {
        "direction": "bwd_data",
        "tile": (128, 64, 32),
        "mma_tile": (32, 32, 16),
        "vector_sizes": (8, 8, 8),
        "specialization": "filter1x1_stride1_pad0",
    },
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv1_cshuffle_intrawave_32x64x32_1x1x1_32x32x16"
    "_vec8_8_8_gm4_2stage_filter1x1_stride1_pad0_explicit_gemm": {
        "direction": "bwd_weight",
        "tile": (32, 64, 32),
        "wave_grid": (1, 1, 1),
        "mma_tile": (32, 32, 16),
        "vector_sizes": (8, 8, 8),
        "num_groups_to_merge": 4,
        "two_stage": True,
        "specialization": "filter1x1_stride1_pad0",
        "explicit_gemm": True,
    },
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_wavelet_cshuffle_intrawave_64x64x64_2x2x1_16x16x16"
    "_vec8_8_8_wg2_streamk_tree": {
        "direction": "bwd_weight",
        "gemm_pipeline": "wavelet",
        "vector_sizes": (8, 8, 8),
        "num_wave_groups": 2,
        "stream_k_strategy": "tree",
    },
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv1_cshuffle_intrawave_64x64x64_2x2x1_16x16x16"
    "_vec8_8_8_filter1x1_stride1_pad0_streamk_tree_persistent_large_tensor_pad011": {
        "direction": "bwd_weight",
        "vector_sizes": (8, 8, 8),
        "specialization": "filter1x1_stride1_pad0",
        "stream_k_strategy": "tree",
        "stream_k_persistent": True,
        "split_image": True,
        "pads": (False, True, True),
    },
    "grouped_conv_fwd_bf16_ndhwgc_3d_mem_cshuffle_interwave_64x64x64_2x2x1_16x16x16"
    "_vec4_8_4_gm16_filter3x3": {
        "dtype": "bf16",
        "layout": "NDHWGC",
        "ndim": 3,
        "gemm_pipeline": "mem",
        "scheduler": "interwave",
        "vector_sizes": (4, 8, 4),
        "num_groups_to_merge": 16,
        "specialization": "filter3x3",
    },
    "grouped_conv_fwd_fp32_nwgc_1d_basic_v1_default_intrawave_64x64x64_2x2x1_16x16x16_large_tensor_pad110": {
        "dtype": "fp32",
        "layout": "nwgc",
        "ndim": 1,
        "gemm_pipeline": "basic_v1",
        "epilogue": "default",
        "split_image": True,
        "pads": (True, True, False),
    },
}


@pytest.mark.parametrize("expected", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples(expected):
    assert gemm_kernel_name(**{**BASE, **EXAMPLES[expected]}) == expected


def test_name_of_an_instance(make_instance):
    instance = make_instance(
        dtype="fp16", pipeline="compv4", double_smem_buffer=True, vector_size_b=8, vector_size_c=8
    )
    assert name_of_instance(instance) == (
        "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_dsb"
    )
    assert name_of_instance(instance).isidentifier()


#: A different value for every field of an instance that is part of its identity.
MUTATIONS = {
    "direction": "bwd_data",
    "ndim": 3,
    "layout": find_layout("ndhwgc"),
    "dtype": DataType.FP32,
    "tile": Extent(m=64, n=128, k=32),
    "wave_grid": Extent(m=2, n=1, k=1),
    "mma_tile": Extent(m=16, n=16, k=32),
    "vector_size_a": 1,
    "vector_size_b": 2,
    "vector_size_c": 8,
    "gemm_pipeline": GemmPipeline.MEM,
    "scheduler": Scheduler.INTERWAVE,
    "epilogue": Epilogue.DEFAULT,
    "double_smem_buffer": True,
    "num_groups_to_merge": 8,
    "num_wave_groups": 2,
    "specialization": Specialization.FILTER3X3,
    "explicit_gemm": True,
    "split_image": True,
    "pad_m": False,
    "pad_n": False,
    "pad_k": False,
    "compute_type": ComputeType.TF32,
}


def test_every_field_changes_key_and_name(make_instance):
    instance = make_instance()
    fields = {field.name for field in dataclasses.fields(instance)} - {"id"}
    assert fields == set(MUTATIONS)
    mutants = [dataclasses.replace(instance, **{name: value}) for name, value in MUTATIONS.items()]
    assert len({mutant.key for mutant in (instance, *mutants)}) == len(mutants) + 1
    assert len({name_of_instance(mutant) for mutant in (instance, *mutants)}) == len(mutants) + 1
    assert set(instance.identity()) == (fields | {"pipeline"}) - {"compute_type"}
    rounded = dataclasses.replace(instance, compute_type=ComputeType.TF32)
    assert set(rounded.identity()) == fields | {"pipeline"}
    assert rounded.fields()["compute_type"] == "tf32"


def test_what_operands_are_rounded_to_is_in_the_name():
    name = gemm_kernel_name(**{**BASE, "dtype": "fp32", "split_image": True}, compute_type="tf32")
    assert name == (
        "grouped_conv_fwd_fp32_nhwgc_2d_compv1_cshuffle_intrawave_64x64x64_2x2x1_16x16x16_large_tensor_tf32"
    )


def test_id_is_no_part_of_the_identity(make_instance):
    assert make_instance(id=1).key == make_instance(id=2).key
