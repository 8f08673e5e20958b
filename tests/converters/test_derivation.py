"""Each step from arguments to fields on its own, held against numbers that were worked out by hand."""

import pytest

from ckprof.model.conversion import ListReading
from ckprof.model.types import DataType
from ckprof_converters import derivation
from ckprof_converters.conf_family import StepError
from ckprof_converters.drop_rules import DropRule


def line(dtype):
    """How a line of a list is read, by its type."""
    return ListReading(dtype=DataType(dtype))


def fields(step, *, dtype="fp16", **values):
    """Return what there is after a step, and why it drops the line."""
    dropped = step(values, line(dtype))
    return values, dropped


def refused(step, field, *, dtype="fp16", **values):
    """Return the message of a step that refuses its arguments, pointing at one of them."""
    with pytest.raises(StepError) as caught:
        step(values, line(dtype))
    assert caught.value.field == field
    return caught.value.message


def rule_of(step, *, dtype="fp16", **values):
    """Return the rule and the reason by which a step drops a line; ``None`` if it keeps it."""
    dropped = step(values, line(dtype))
    return None if dropped is None else (dropped.rule, dropped.message)


def test_only_square_mma_tiles_pass():
    assert fields(derivation.square_mma, mma_m=16, mma_n=16)[1] is None
    assert refused(derivation.square_mma, "mma_n", mma_m=16, mma_n=32).endswith("got 16x32")
    assert refused(derivation.square_mma, "mma_n", mma_m=32, mma_n=16).endswith("got 32x16")


#: block size, then tile, MMA tile and repeats along M and along N
GRID = {
    "block_size": 256,
    **{"tile_m": 128, "mma_m": 32, "repeat_m": 2},
    **{"tile_n": 64, "mma_n": 16, "repeat_n": 2},
}


def test_waves_share_the_tile_and_the_rest_of_the_block_is_along_k():
    values, dropped = fields(derivation.waves, **{**GRID, "block_size": 512})
    assert dropped is None
    # 128 / (32 * 2), 64 / (16 * 2), 512 / (64 * 2 * 2)
    assert [values[f"warp_{axis}"] for axis in "mnk"] == [2, 2, 2]
    assert [values[f"warp_tile_{axis}"] for axis in "mn"] == [32, 16]
    values, _ = fields(derivation.waves, **{**GRID, "tile_m": 256, "tile_n": 32})
    assert [values[f"warp_{axis}"] for axis in "mnk"] == [4, 1, 1]


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"tile_m": 129}, "tile_m", "tile_m 129 is not a multiple of 32 x 2"),
        ({"tile_m": 32}, "tile_m", "tile_m 32 is not a multiple of 32 x 2"),
        ({"tile_m": 0}, "tile_m", "tile_m 0 is not a multiple"),
        ({"tile_n": 65}, "tile_n", "tile_n 65 is not a multiple of 16 x 2"),
        (
            {"block_size": 257},
            "block_size",
            "block size 257 is not a multiple of 256, the lanes of 2x2 waves",
        ),
        ({"block_size": 128}, "block_size", "block size 128 is not a multiple of 256"),
        ({"block_size": 0}, "block_size", "block size 0 is not a multiple of 256"),
    ],
)
def test_waves_that_do_not_fill_tile_or_block_are_refused(changed, field, said):
    assert said in refused(derivation.waves, field, **{**GRID, **changed})


@pytest.mark.parametrize(
    ("dtype", "mma_m", "k1", "tile_k", "expected"),
    [
        # at least the instruction's extent, which is smaller for 32-wide tiles
        *(("fp16", 32, 8, 64, 16), ("fp16", 16, 8, 64, 32), ("bf16", 4, 8, 64, 32)),
        *(("fp32", 32, 1, 64, 2), ("fp32", 16, 1, 64, 4)),
        # of other extents than 32 as of 16
        *(("fp16", 64, 8, 64, 32), ("fp32", 64, 1, 64, 4), ("int8", 64, 64, 128, 32)),
        # more where K1 is more
        *(("fp16", 32, 24, 64, 24), ("fp16", 16, 40, 64, 40), ("fp32", 32, 8, 64, 8)),
        # at most the tile
        *(("fp16", 16, 8, 24, 24), ("fp16", 32, 64, 48, 48), ("fp32", 16, 1, 3, 3)),
        # one instruction of 8 bits, whatever K1 is
        *(("int8", 32, 64, 128, 16), ("int8", 16, 64, 128, 32), ("fp8", 32, 1, 8, 8), ("bf8", 16, 1, 31, 31)),
    ],
)
def test_extent_of_the_mma_tile_along_k(dtype, mma_m, k1, tile_k, expected):
    values, dropped = fields(derivation.mma_k, dtype=dtype, mma_m=mma_m, k1=k1, tile_k=tile_k)
    assert values["warp_tile_k"] == expected and dropped is None


@pytest.mark.parametrize(
    ("dtype", "mma_m", "has_version", "tile_k", "expected"),
    [
        *(("fp16", 32, False, 64, 16), ("fp16", 16, True, 64, 32), ("fp16", 16, True, 24, 24)),
        *(("fp32", 32, False, 64, 4), ("fp32", 32, True, 64, 8)),
        *(("fp32", 16, False, 64, 8), ("fp32", 16, True, 64, 8), ("fp32", 16, True, 5, 5)),
        *(("fp16", 64, False, 64, 32), ("fp32", 64, False, 64, 8)),
    ],
)
def test_extent_along_k_of_lines_without_k1(dtype, mma_m, has_version, tile_k, expected):
    values, _ = fields(
        derivation.short_mma_k, dtype=dtype, mma_m=mma_m, has_version=has_version, tile_k=tile_k
    )
    assert values["warp_tile_k"] == expected


@pytest.mark.parametrize(
    ("version", "direct", "pipeline", "double"),
    [
        *(("v1", False, "compv1", False), ("v2", False, "mem", False), ("v3", False, "compv3", False)),
        # the old fifth is CK Tile's sixth
        *(("v4", False, "compv4", True), ("v5", False, "compv6", False), ("v6", False, "compv6", False)),
        *(("v1", True, "basic_async_v1", False), ("v4", True, "mem", True)),
    ],
)
def test_pipeline_of_each_version(version, direct, pipeline, double):
    values, dropped = fields(derivation.pipeline_of_version, version=version, direct_load=direct)
    assert (values["pipeline"], values["double_smem_buffer"], dropped) == (pipeline, double, None)


@pytest.mark.parametrize("version", ["v2", "v3", "v5", "v6"])
def test_versions_that_do_not_load_directly_are_dropped(version):
    rule, reason = rule_of(derivation.pipeline_of_version, version=version, direct_load=True)
    assert rule == DropRule.UNSUPPORTED_DIRECT_LOAD.value
    assert reason == f"CK Tile loads directly with v1 and v4 only, not with {version}"


def test_k_and_k1_of_operands():
    assert fields(derivation.k_from_k0, k0=4, k1=8)[0]["tile_k"] == 32
    assert fields(derivation.same_k1, k1=8, k1_b=8)[0]["k1"] == 8
    assert refused(derivation.same_k1, "k1_b", k1=8, k1_b=4).endswith("got 8 and 4")
    assert refused(derivation.same_k1, "k1_b", k1=8, k1_b=4, elementwise_op="")
    # packs of the least common multiple
    assert fields(derivation.same_k1, k1=8, k1_b=12, elementwise_op="Bilinear")[0]["k1"] == 24
    assert fields(derivation.same_k1, k1=4, k1_b=8, elementwise_op="Scale")[0]["k1"] == 8


def test_joined_numbers_of_an_explicit_line():
    values, _ = fields(
        derivation.explicit_shapes,
        tile=(128, 64, 32),
        mma=(16, 8),
        repeat=(4, 2),
        k1_pair=(8, 4),
        vectors=(3, 5, 7),
    )
    assert [values[f"tile_{axis}"] for axis in "mnk"] == [128, 64, 32]
    assert [values[f"mma_{axis}"] for axis in "mn"] == [16, 8]
    assert [values[f"repeat_{axis}"] for axis in "mn"] == [4, 2]
    assert [values[f"vector_size_{operand}"] for operand in "abc"] == [3, 5, 7]
    assert values["k1"] == 4  # the smaller one of a pair that is not equal


@pytest.mark.parametrize(
    ("dtype", "vector", "expected"),
    [("fp16", 1, True), ("fp16", 2, False), ("bf16", 3, True), ("fp32", 1, False), ("fp32", 2, False)],
)
def test_explicit_lines_of_half_types_store_pairs_or_in_two_stages(dtype, vector, expected):
    values, _ = fields(derivation.explicit_two_stage, dtype=dtype, vector_size_c=vector)
    assert values["two_stage"] is expected


@pytest.mark.parametrize("operand", "abc")
def test_a_vector_is_of_one_element_or_of_an_even_number(operand):
    even = {"vector_size_a": 8, "vector_size_b": 4, "vector_size_c": 2}
    for width in (1, 2, 4, 16):
        assert rule_of(derivation.regular_vectors, **{**even, f"vector_size_{operand}": width}) is None
    for width in (3, 5, 15):
        assert rule_of(derivation.regular_vectors, **{**even, f"vector_size_{operand}": width}) == (
            DropRule.IRREGULAR_VECTOR.value,
            f"vector_size_{operand} is {width}, neither 1 nor even",
        )


@pytest.mark.parametrize(
    ("step", "first"), [(derivation.coverage_of_mn, "tile_m"), (derivation.coverage_of_kn, "tile_k")]
)
def test_one_wave_loads_a_side_of_the_tile_at_once(step, first):
    # 64 lanes: 256 elements of vectors of 4, 128 of vectors of 2
    just = {"tile_m": 9999, "tile_k": 9999, first: 256, "tile_n": 128, "vector_size_a": 4, "vector_size_b": 2}
    for fewer in ({}, {first: 255}, {"tile_n": 127}):
        assert rule_of(step, **{**just, **fewer}) is None
    rule, reason = rule_of(step, **{**just, first: 257})
    assert rule == DropRule.ONE_WAVE_COVERAGE.value
    assert reason == f"{first} 257 exceeds 256, what one wave loads with vector_size_a 4"
    _, reason = rule_of(step, **{**just, "tile_n": 129})
    assert reason == "tile_n 129 exceeds 128, what one wave loads with vector_size_b 2"


def test_a_vector_is_no_wider_than_the_share_of_a_thread():
    # 64 * 2 * 3 * 5 threads: 1920 x 16 / 1920 = 16 elements of A each, 480 x 16 / 1920 = 4 of B
    just = {
        **{"warp_m": 2, "warp_n": 3, "warp_k": 5, "tile_m": 1920, "tile_n": 480, "tile_k": 16},
        **{"vector_size_a": 16, "vector_size_b": 4},
    }
    for narrower in (just, {**just, "vector_size_a": 2}, {**just, "vector_size_b": 1}):
        assert rule_of(derivation.thread_share, **narrower) is None
    rule, reason = rule_of(derivation.thread_share, **{**just, "vector_size_a": 17})
    assert rule == DropRule.THREAD_SHARE.value
    assert reason == (
        "vector_size_a 17 exceeds 16, the share of one of 1920 threads in tile_m 1920 x tile_k 16"
    )
    _, reason = rule_of(derivation.thread_share, **{**just, "vector_size_b": 5})
    assert reason == "vector_size_b 5 exceeds 4, the share of one of 1920 threads in tile_n 480 x tile_k 16"
    # each wave takes its part
    for wave in ("warp_m", "warp_n", "warp_k"):
        assert rule_of(derivation.thread_share, **{**just, wave: 2 * just[wave]}) is not None


def test_stream_k_has_a_strategy_and_nothing_else_has():
    step = derivation.stream_k_fields
    for enabled, strategy in ((True, "Linear"), (False, None)):
        fields(step, streamk_enabled=enabled, streamk_reduction_strategy=strategy)
    said = refused(step, "streamk_enabled", streamk_enabled=True, streamk_reduction_strategy=None)
    assert "(34 arguments)" in said
    said = refused(step, "streamk_enabled", streamk_enabled=False, streamk_reduction_strategy="Linear")
    assert "(32 arguments)" in said


@pytest.mark.parametrize("pipeline", ["BASIC_ASYNC_V1", "COMPUTE_ASYNC", "COMPUTE_V3"])
@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
@pytest.mark.parametrize("enabled", [True, False])
def test_stream_k_of_the_32_bit_type_does_not_load_asynchronously(pipeline, dtype, enabled):
    found = rule_of(derivation.stream_k_float, dtype=dtype, pipeline_name=pipeline, streamk_enabled=enabled)
    if enabled and dtype == "fp32" and pipeline != "COMPUTE_V3":
        said = f"stream-K with {pipeline} does not exist for the 32-bit type"
        assert found == (DropRule.STREAM_K_ASYNC_FLOAT.value, said)
    else:
        assert found is None


def test_waves_fill_tiles():
    whole = {
        **{"tile_m": 128, "warp_m": 2, "warp_tile_m": 32},
        **{"tile_n": 48, "warp_n": 3, "warp_tile_n": 16},
    }
    fields(derivation.whole_tiles, **whole)
    assert "tile_m 96 is not a multiple of 2 x 32" in refused(
        derivation.whole_tiles, "tile_m", **{**whole, "tile_m": 96}
    )
    assert "tile_n 49 is not a multiple of 3 x 16" in refused(
        derivation.whole_tiles, "tile_n", **{**whole, "tile_n": 49}
    )


def test_names_of_pipelines_of_ck_tile():
    expected = {"BASIC_V1": "compv1", "COMPUTE_V3": "compv3", "COMPUTE_ASYNC": "mem", "WAVELET": "wavelet"}
    for name, pipeline in expected.items():
        assert fields(derivation.native_pipeline, pipeline_name=name)[0]["pipeline"] == pipeline
    for name in ("BASIC_V2", "basic_v1", ""):
        assert f"got {name!r}" in refused(derivation.native_pipeline, "pipeline_name", pipeline_name=name)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, False),
        ({"vector_size_c": 1}, True),
        ({"operation_result": "Scale", "type_result": "fp32"}, True),
        ({"operation_result": "Scale"}, False),
        ({"type_result": "fp32"}, False),
        ({"vector_size_c": 1, "streamk_enabled": True}, False),
        ({"vector_size_c": 1, "dtype": "fp32"}, False),
    ],
)
def test_native_lines_of_half_types_with_single_elements_have_two_stages(changed, expected):
    usual = {
        **{"operation_result": "PassThrough", "type_result": "fp16", "type_b": "fp16"},
        **{"streamk_enabled": False, "vector_size_c": 4},
    }
    values, _ = fields(derivation.native_two_stage, **{**usual, **changed})
    assert values["two_stage"] is expected


def test_what_is_not_printed_drops_every_line():
    rule, reason = rule_of(derivation.missing("k1"))
    assert rule == DropRule.MISSING_INFORMATION.value
    assert reason.startswith("k1 is not printed in this form, and follows from nothing")
    _, reason = rule_of(derivation.missing("k1", "tile_k"))
    assert reason.startswith("k1, tile_k are not printed in this form, and follow from nothing")


def test_steps_have_the_names_that_families_use():
    assert derivation.STEPS["mma-k"] is derivation.mma_k
    assert {name for name in derivation.STEPS if "_" in name} == set()


def lost(names, dtype, *, two_stage=False, **values):
    """Return rule, field and what the kernel has instead, of each field that a record cannot hold."""
    # names that are equal to those of the module, not the same objects
    found = derivation.lost_fields(
        f" {names}".split(), values, dtype and DataType(dtype), two_stage=two_stage
    )
    return [(rule, field, kept) for field, (rule, _, kept) in found.items()]


def test_which_fields_say_what_records_may_not_hold():
    names = ("tile_m", "compute_type_a", "type_result", "type_accumulator", "compute_type_b", "type_b")
    assert derivation.fields_apart(names) == (
        *("compute_type_a", "type_result", "type_accumulator", "compute_type_b"),
    )


def test_a_compute_type_is_kept_where_both_operands_are_rounded_to_it():
    of = derivation.compute_type_of
    assert of("tf32", "tf32", DataType.FP32) == "tf32"
    assert of("tf32", "fp32", DataType.FP32) is of("fp32", "tf32", DataType.FP32) is None
    assert of("tf32", "tf32", DataType.FP16) is of("tf32", "tf32", None) is of("bf16", "bf16", None) is None
    both = {"compute_type_a": "tf32", "compute_type_b": "tf32"}
    assert fields(derivation.compute_type, dtype="fp32", **both)[0]["compute_type"] == "tf32"
    assert "compute_type" not in fields(derivation.compute_type, dtype="fp16", **both)[0]
    assert lost("compute_type_a compute_type_b", "fp32", **both) == []
    one = {**both, "compute_type_b": "fp32"}
    assert lost("compute_type_a compute_type_b", "fp32", **one) == [
        ("compute-type", "compute_type_a", "fp32"),
    ]


def test_compute_types_of_other_operands_are_lost():
    said = {"compute_type_a": "bf16", "compute_type_b": "fp16"}
    assert lost("compute_type_a compute_type_b", "fp16", **said) == [
        ("compute-type", "compute_type_a", "fp16")
    ]
    assert lost("compute_type_b", "fp16", **said) == []
    # a type of its own for B is what products of 8 bits have
    eight = {"compute_type_a": "fp8", "compute_type_b": "bf8", "type_b": "bf8"}
    assert lost("compute_type_a compute_type_b", "fp8", **eight) == []
    assert lost("compute_type_b", "fp8", **{**eight, "type_b": "fp8"}) == [
        ("compute-type", "compute_type_b", "fp8")
    ]
    assert lost("compute_type_b", "fp16", **{**eight, "compute_type_b": "bf16", "type_b": "bf16"}) == [
        ("compute-type", "compute_type_b", "fp16")
    ]


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_accumulators_and_results_of_shared_types(dtype):
    assert lost("type_accumulator type_result", dtype, type_accumulator="fp32", type_result=dtype) == []
    for other in {"fp64", dtype} - {"fp32"}:
        assert lost("type_accumulator", dtype, type_accumulator=other) == [
            ("accumulator", "type_accumulator", "fp32")
        ]
    assert lost("type_result", dtype, type_result="s8") == [("result-type", "type_result", dtype)]
    # the first of two stages stores fp32, and lines may say that or what the second one stores
    for said in ("fp32", dtype):
        assert lost("type_result", dtype, two_stage=True, type_result=said) == []
    assert lost("type_result", dtype, two_stage=True, type_result="s8") == [
        ("result-type", "type_result", "fp32")
    ]


def test_what_is_lost_of_types():
    assert lost("type_accumulator", "int8", type_accumulator="s32") == []
    assert lost("type_accumulator", "int8", type_accumulator="fp32") == [
        ("accumulator", "type_accumulator", "s32")
    ]
    assert lost("type_accumulator", "fp8", type_accumulator="fp32") == []
    assert lost("type_result", "int8", type_result="fp32") == []  # catalogs have it as dtype_result
    assert lost("type_accumulator compute_type_a", "fp16", type_result="s8") == []
    assert lost("type_accumulator type_result", "fp16", type_result="s8") == [
        ("result-type", "type_result", "fp16")
    ]
    assert lost("type_result", None, type_result="s8") == []
    values = {"type_result": "fp32"}
    found = derivation.lost_fields(["type_result"], values, DataType.FP16, two_stage=False)
    assert found == {"type_result": ("result-type", "type_result fp32 of fp16 operands", "fp16")}
