"""From records to instances, instance strings and rules."""

import dataclasses

import pytest

from ckprof.errors import InputError
from ckprof.model.architecture import API_LEVELS
from ckprof_plugins.pipelines.family import built_in_operations
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, Scheduler, Specialization

PIPELINE = ImplicitGemmPipeline()
LEVEL = "2026-06"


def broken(instance, *, api_level=LEVEL):
    return [rejection.rule for rejection in PIPELINE.unmet_requirements(instance, "gfx942", api_level)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pipeline", "compv7"),
        ("pipeline", "COMPV3"),
        ("scheduler", "default"),
        ("epilogue", "direct"),
        ("specialization", "filter5x5"),
        ("specialization", "Default"),
        ("tile_m", 0),
        ("warp_k", -1),
        ("warp_tile_n", 0),
        ("vector_size_c", 0),
        ("num_groups_to_merge", 0),
        ("num_wave_groups", -2),
        ("streamk_reduction_strategy", "TREE"),
        ("streamk_persistent", True),
    ],
)
def test_values_without_meaning_are_errors(field, value, make_instance):
    with pytest.raises(InputError) as error:
        make_instance(**{field: value})
    assert field in error.value.message
    assert repr(value) in error.value.message or str(value) in error.value.message


@pytest.mark.parametrize(("alias", "name"), [("basic_v1", "compv1"), ("basic_v2", "compv2")])
def test_aliases_are_the_same_instance(alias, name, make_instance):
    assert make_instance(pipeline=alias) == make_instance(pipeline=name)


INSTANCE_STRING = (
    "GroupedConvolutionForwardKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,0,0,128,128,32,4,1,1,"
    "16,16,16,bf16,bf16,COMPUTE_V3,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough>"
)


def test_instance_string(make_instance):
    assert PIPELINE.instance_string(make_instance()) == INSTANCE_STRING


def test_instance_string_shows_every_field_in_its_place(make_instance):
    instance = make_instance(
        layout="ndhwgc",
        dtype="fp16",
        **{"vector_size_a": 1, "vector_size_b": 2, "vector_size_c": 8},
        **{"tile_m": 2, "tile_n": 3, "tile_k": 5, "warp_m": 7, "warp_n": 11, "warp_k": 13},
        **{"warp_tile_m": 17, "warp_tile_n": 19, "warp_tile_k": 23},
        **{"num_groups_to_merge": 29, "num_wave_groups": 31, "split_image": True, "explicit_gemm": True},
        **{"pipeline": "mem", "scheduler": "interwave", "double_smem_buffer": True},
        specialization="filter1x1_pad0",
    )
    text = PIPELINE.instance_string(instance)
    assert text == (
        "GroupedConvolutionForwardKernel<3,Filter1x1Pad0,NDHWGC,GKZYXC,EmptyTuple,NDHWGK,1,2,8,29,1,1,2,3,5,"
        "7,11,13,17,19,23,fp16,fp16,MEMORY,Interwave,1,31,fp32,fp16,EmptyTuple,PassThrough>"
    )
    assert text.count(",") == 30


@pytest.mark.parametrize(
    ("pipeline", "spelling"),
    {
        "compv1": "BASIC_V1",
        "basic_v1": "BASIC_V1",
        "mem": "MEMORY",
        "compv3": "COMPUTE_V3",
        "compv4": "COMPUTE_V4",
        "compv5": "COMPUTE_V5",
        "compv6": "COMPUTE_V6",
        "comp_async": "COMPUTE_ASYNC",
        "comp_tdm": "COMPUTE_TDM_V1",
        "tdm_v2": "COMPUTE_TDM_V2",
        "basic_async_v1": "BASIC_ASYNC_V1",
        "wavelet": "WAVELET",
    }.items(),
)
def test_pipeline_names_in_instance_strings(pipeline, spelling, make_instance):
    assert PIPELINE.instance_string(make_instance(pipeline=pipeline)).split(",")[23] == spelling


def test_no_instance_string_for_an_unknown_direction(make_instance):
    with pytest.raises(InputError, match="'sideways'"):
        PIPELINE.instance_string(make_instance(direction="sideways"))


def test_tables_are_complete():
    for kind in (GemmPipeline, Scheduler, Specialization):
        for member in kind:
            assert member.properties if kind is GemmPipeline else member.enumerator
    assert PIPELINE.directions == set(built_in_operations())


@pytest.mark.parametrize(
    ("pipeline", "doubled", "blocks"),
    [
        *((name, True, 1) for name in ("compv4", "comp_async", "comp_tdm")),
        *((name, False, 2) for name in ("compv1", "compv2", "basic_async_v1", "wavelet")),
        *((name, False, 2) for name in ("mem", "compv3", "compv5", "compv6")),
        *((name, True, 1) for name in ("mem", "compv3", "compv5", "compv6")),
    ],
)
def test_blocks_per_compute_unit(pipeline, doubled, blocks, make_instance):
    assert make_instance(pipeline=pipeline, double_smem_buffer=doubled).block_per_cu == blocks


def test_a_good_instance_breaks_no_rule(make_instance):
    assert broken(make_instance()) == []
    explicit = make_instance(explicit_gemm=True, specialization="filter1x1_stride1_pad0")
    assert broken(explicit) == []


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("direction", {"direction": "sideways"}),
        ("wave-divides-tile", {"warp_k": 3}),
        ("smem-buffering", {"pipeline": "comp_async"}),
        *(
            ("smem-buffering", {"pipeline": name, "double_smem_buffer": True})
            for name in ("compv1", "basic_v1", "compv2", "basic_async_v1", "wavelet")
        ),
        *(
            ("scheduler", {"pipeline": name, "scheduler": "interwave", "double_smem_buffer": doubled})
            for name, doubled in (
                *(("compv3", False), ("compv4", True), ("compv5", False), ("compv6", False)),
                *(("comp_async", True), ("basic_async_v1", False)),
            )
        ),
        ("explicit-gemm", {"explicit_gemm": True}),
        (
            "explicit-gemm",
            {"explicit_gemm": True, "specialization": "filter1x1_stride1_pad0", "pipeline": "wavelet"},
        ),
    ],
)
def test_rules(rule, changes, make_instance):
    instance = make_instance(**changes)
    # those of the architecture come last and may be broken as well
    assert broken(instance)[0] == rule


#: an instance whose tiles the tensor data mover copies
MOVED = {
    **{"pipeline": "comp_tdm_v2", "epilogue": "tdm", "double_smem_buffer": True},
    **{"tile_m": 64, "tile_n": 64, "tile_k": 64, "warp_m": 2, "warp_n": 2, "warp_tile_k": 32},
}


@pytest.mark.parametrize(
    ("changes", "arch", "message"),
    [
        ({}, "gfx1250", ""),
        ({"warp_n": 1, "pipeline": "tdm_v1"}, "gfx1250", ""),
        ({"warp_n": 1}, "gfx1250", "comp_tdm_v2 has 4 waves, not 2"),
        ({"warp_m": 4}, "gfx1250", "comp_tdm_v2 has 4 waves, not 8"),
        ({}, "gfx950", "comp_tdm_v2 needs a tensor data mover, gfx950 has none (gfx1250 has)"),
        ({"epilogue": "cshuffle"}, "gfx1250", "comp_tdm_v2 does not go with epilogue cshuffle"),
        ({"pipeline": "mem"}, "gfx1250", "mem does not go with epilogue tdm"),
        ({"elementwise_op": "Clamp"}, "gfx1250", "epilogue tdm stores results as they are"),
    ],
)
def test_pipelines_of_the_tensor_data_mover(changes, arch, message, make_instance):
    instance = make_instance(**{"dtype": "fp16", **MOVED, **changes})
    unmet = PIPELINE.unmet_requirements(instance, arch, LEVEL)
    assert [(one.rule, one.message) for one in unmet if one.rule == "tensor-data-mover"] == (
        [("tensor-data-mover", message)] if message else []
    )
    assert message or not unmet
    (level,) = PIPELINE.unmet_requirements(instance, arch, "2025-11")[:1]
    assert level.message.startswith("API level 2025-11 has no") and level.rule == "api-level-feature"


@pytest.mark.parametrize("pipeline", ["compv1", "compv2", "mem", "wavelet"])
def test_interwave_is_open_to_the_others(pipeline, make_instance):
    assert broken(make_instance(pipeline=pipeline, scheduler="interwave")) == []


@pytest.mark.parametrize("pad", ["pad_m", "pad_n", "pad_k"])
def test_pads_cannot_be_switched_off(pad, make_instance):
    assert broken(dataclasses.replace(make_instance(), **{pad: False})) == ["pads"]


def test_levels_and_messages_of_rules(make_instance):
    assert LEVEL in API_LEVELS
    assert broken(make_instance(), api_level="2024-01") == ["api-level"]
    (rejection,) = PIPELINE.unmet_requirements(make_instance(tile_m=96), "gfx942", LEVEL)
    assert rejection.message.endswith("(m: 96 is not a multiple of 4 x 16)")
    odd = make_instance(tile_m=96, warp_m=2, warp_n=2, vector_size_a=8)
    (rejection,) = PIPELINE.unmet_requirements(odd, "gfx942", LEVEL)
    assert rejection.message.endswith("vector_size_a is 8, which does not divide the 12 elements of a lane")
