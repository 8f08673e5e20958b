"""Kernel names: every example and every part of the grammar."""

import dataclasses

import pytest

from ckprof.model.types import ComputeType, DataType
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmInstance
from ckprof_plugins.pipelines.gemm_instance import Extent
from ckprof_plugins.pipelines.kernel_name import gemm_name_parts, joined
from ckprof_plugins.pipelines.vocabulary import (
    ChannelPadding,
    Epilogue,
    GemmPipeline,
    Scheduler,
    Specialization,
)


def gemm_kernel_name(instance, **marks):
    return joined(gemm_name_parts(instance, **marks))


BASE = ImplicitGemmInstance(
    id=0,
    direction="fwd",
    ndim=2,
    layout=find_layout("nhwgc"),
    dtype=DataType.FP16,
    tile=Extent(m=64, n=64, k=64),
    wave_grid=Extent(m=2, n=2, k=1),
    mma_tile=Extent(m=16, n=16, k=16),
    vector_size_a=4,
    vector_size_b=8,
    vector_size_c=8,
    gemm_pipeline=GemmPipeline.COMPV1,
    scheduler=Scheduler.INTRAWAVE,
    epilogue=Epilogue.CSHUFFLE,
    double_smem_buffer=False,
    num_groups_to_merge=1,
    num_wave_groups=1,
    specialization=Specialization.DEFAULT,
    explicit_gemm=False,
    split_image=False,
)

VECTORS_OF_8 = {f"vector_size_{operand}": 8 for operand in "abc"}
EXAMPLES = {
    "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_16x64x64_1x4x1_16x16x16": {
        "gemm_pipeline": GemmPipeline("compv3"),
        "tile": Extent(m=16, n=64, k=64),
        "wave_grid": Extent(m=1, n=4, k=1),
    },
    "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_128x128x32_2x2x1_32x32x16_dsb": {
        "gemm_pipeline": GemmPipeline("compv4"),
        "tile": Extent(m=128, n=128, k=32),
        "mma_tile": Extent(m=32, n=32, k=16),
        "double_smem_buffer": True,
    },
    "grouped_conv_bwd_data_fp16_nhwgc_2d_compv1_cshuffle_intrawave_128x64x32_2x2x1_32x32x16"
    "_vec8_8_8_filter1x1_stride1_pad0": {
        "direction": "bwd_data",
        "tile": Extent(m=128, n=64, k=32),
        "mma_tile": Extent(m=32, n=32, k=16),
        **VECTORS_OF_8,
        "specialization": Specialization("filter1x1_stride1_pad0"),
    },
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv1_cshuffle_intrawave_32x64x32_1x1x1_32x32x16"
    "_vec8_8_8_gm4_2stage_filter1x1_stride1_pad0_explicit_gemm": {
        "direction": "bwd_weight",
        "tile": Extent(m=32, n=64, k=32),
        "wave_grid": Extent(m=1, n=1, k=1),
        "mma_tile": Extent(m=32, n=32, k=16),
        **VECTORS_OF_8,
        "num_groups_to_merge": 4,
        "two_stage": True,
        "specialization": Specialization("filter1x1_stride1_pad0"),
        "explicit_gemm": True,
    },
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_wavelet_cshuffle_intrawave_64x64x64_2x2x1_16x16x16"
    "_vec8_8_8_wg2_streamk_tree": {
        "direction": "bwd_weight",
        "gemm_pipeline": GemmPipeline("wavelet"),
        **VECTORS_OF_8,
        "num_wave_groups": 2,
        "stream_k": "tree",
    },
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv1_cshuffle_intrawave_64x64x64_2x2x1_16x16x16"
    "_vec8_8_8_filter1x1_stride1_pad0_streamk_tree_persistent_large_tensor_pad011": {
        "direction": "bwd_weight",
        **VECTORS_OF_8,
        "specialization": Specialization("filter1x1_stride1_pad0"),
        "stream_k": "tree_persistent",
        "split_image": True,
        "pad_m": False,
        "pad_n": True,
        "pad_k": True,
    },
    "grouped_conv_fwd_bf16_ndhwgc_3d_mem_cshuffle_interwave_64x64x64_2x2x1_16x16x16"
    "_vec4_8_4_gm16_filter3x3": {
        "dtype": DataType("bf16"),
        "layout": find_layout("ndhwgc"),
        "ndim": 3,
        "gemm_pipeline": GemmPipeline("mem"),
        "scheduler": Scheduler("interwave"),
        "vector_size_a": 4,
        "vector_size_b": 8,
        "vector_size_c": 4,
        "num_groups_to_merge": 16,
        "specialization": Specialization("filter3x3"),
    },
    "grouped_conv_fwd_fp32_nwgc_1d_basic_async_v1_default_intrawave_64x64x64_2x2x1_16x16x16_large_tensor"
    "_pad110": {
        "dtype": DataType("fp32"),
        "layout": find_layout("nwgc"),
        "ndim": 1,
        "gemm_pipeline": GemmPipeline("basic_async_v1"),
        "epilogue": Epilogue("default"),
        "split_image": True,
        "pad_m": True,
        "pad_n": True,
        "pad_k": False,
    },
}


@pytest.mark.parametrize("expected", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples(expected):
    values = dict(EXAMPLES[expected])
    marks = {name: values.pop(name) for name in ("two_stage", "stream_k") if name in values}
    assert gemm_kernel_name(dataclasses.replace(BASE, **values), **marks) == expected


def test_name_of_an_instance(make_instance):
    instance = make_instance(
        dtype="fp16", pipeline="compv4", double_smem_buffer=True, vector_size_b=8, vector_size_c=8
    )
    assert gemm_kernel_name(instance) == (
        "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_dsb"
    )
    assert gemm_kernel_name(instance).isidentifier()


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
#: fields that say nothing where they are not set, and go together
ELEMENTWISE = (
    {"elementwise_op": ElementwiseOp.parse("Clamp")},
    {"elementwise_op": ElementwiseOp.parse("AddClamp"), "d_layouts": "NHWGK"},
    {"elementwise_op": ElementwiseOp.parse("AddClamp"), "d_layouts": "G_K"},
)
#: types beside that of the first operand, which the usual ones are not
TYPES = (
    {"dtype": DataType.FP8},
    {"dtype": DataType.FP8, "dtype_b": DataType.BF8},
    {"dtype": DataType.FP8, "dtype_result": DataType.FP32},
    {"dtype": DataType.FP8, "d_dtypes": "fp32", **ELEMENTWISE[1]},
)
FLAGS = (
    {"fold_stride": True},
    {"store_immediate": True},
    *({"channel_padding": padding} for padding in ChannelPadding),
)
OPTIONAL = {
    *("compute_type", "elementwise_op", "d_layouts", "dtype_b", "dtype_result", "d_dtypes", "fold_stride"),
    *("store_immediate", "channel_padding"),
}


def test_every_field_changes_key_and_name(make_instance):
    instance = make_instance()
    fields = {field.name for field in dataclasses.fields(instance) if field.init} - {"id"}
    assert fields == {*MUTATIONS, *OPTIONAL}
    changes = [*({name: value} for name, value in MUTATIONS.items()), *ELEMENTWISE, *TYPES, *FLAGS]
    mutants = [dataclasses.replace(instance, **change) for change in changes]
    assert len({mutant.key for mutant in (instance, *mutants)}) == len(mutants) + 1
    assert len({gemm_kernel_name(mutant) for mutant in (instance, *mutants)}) == len(mutants) + 1
    assert set(instance.identity()) == (fields | {"pipeline"}) - OPTIONAL
    rounded = dataclasses.replace(instance, compute_type=ComputeType.TF32, **ELEMENTWISE[1])
    unsaid = {"dtype_b", "dtype_result", "d_dtypes", "fold_stride", "store_immediate", "channel_padding"}
    assert set(rounded.identity()) == (fields | {"pipeline"}) - unsaid
    assert rounded.fields()["compute_type"] == "tf32"


def test_what_operands_are_rounded_to_is_in_the_name():
    rounded = {"dtype": DataType.FP32, "split_image": True, "compute_type": ComputeType.TF32}
    name = gemm_kernel_name(dataclasses.replace(BASE, **rounded))
    assert name == (
        "grouped_conv_fwd_fp32_nhwgc_2d_compv1_cshuffle_intrawave_64x64x64_2x2x1_16x16x16_large_tensor_tf32"
    )


def test_id_is_no_part_of_the_identity(make_instance):
    assert make_instance(id=1).key == make_instance(id=2).key
