"""What the lines of each family become."""

import msgspec
import pytest

from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout
from tests.cases import Cases, each

from .samples import FAMILIES, SHORT, change, line

NHWGC = find_layout("nhwgc")


def convert_one(convert, text, dtype="fp16", **request):
    """Return the one record of a line and its catalog's variant."""
    conversion = convert(text, layout=NHWGC, dtype=DataType(dtype), **request)
    catalog = conversion.catalogs[0]
    (record,) = catalog.records
    return catalog.variant, record


def summary(record):
    """Return the fields in the order of the file, without id and constants."""
    values = msgspec.structs.asdict(record)
    shapes = [
        ",".join(str(values[key.format(axis)]) for axis in axes)
        for key, axes in (
            ("tile_{}", "mnk"),
            ("warp_{}", "mnk"),
            ("warp_tile_{}", "mnk"),
            ("vector_size_{}", "abc"),
        )
    ]
    flags = ("double_smem_buffer", "two_stage", "explicit_gemm", "split_image", "streamk_enabled")
    words = [values["pipeline"], values["scheduler"], values["specialization"]]
    words += [name for name in flags if values[name]]
    return " ".join((*shapes, *words, f"groups={values['num_groups_to_merge']}"))


#: family, data type and what a line of them becomes
RECORDS = """
forward fp32 64,16,16 1,1,1 16,16,4 4,1,1 compv1 intrawave default groups=8
forward_large_tensor bf16 64,64,32 1,1,1 32,32,16 1,1,1 compv1 intrawave default split_image groups=1
forward_v3 fp32 128,128,32 2,2,1 32,32,8 4,4,8 compv4 intrawave filter1x1_pad0 double_smem_buffer groups=1
backward_weight bf16 128,256,32 2,2,1 32,32,16 8,8,8 compv1 intrawave default groups=1
backward_weight_v3 bf16 256,32,64 4,1,1 32,32,16 8,8,8 basic_async_v1 intrawave default groups=1
backward_weight_two_stage bf16 32,32,32 1,1,1 32,32,16 2,2,1 compv1 intrawave default two_stage groups=2
backward_weight_explicit bf16 128,128,64 2,2,1 32,32,16 8,8,4 compv4 intrawave filter1x1_stride1_pad0 \
double_smem_buffer explicit_gemm groups=1
backward_data fp16 16,64,32 1,1,1 16,16,32 8,8,4 compv1 intrawave default groups=1
native_backward_weight bf16 64,64,64 2,2,1 16,16,16 8,8,8 basic_async_v1 intrawave default \
streamk_enabled groups=1
native_forward fp16 64,64,64 2,2,1 16,16,16 8,8,8 basic_async_v1 intrawave default groups=1
short_forward fp16 64,16,32 1,1,1 16,16,32 4,1,1 compv1 intrawave filter3x3 groups=32
short_forward_large_tensor fp16 256,128,32 2,2,1 32,32,16 8,8,8 compv1 intrawave default split_image groups=1
short_forward_v3 fp16 128,128,64 2,2,1 32,32,16 8,8,8 compv4 intrawave default double_smem_buffer groups=1
short_forward_v3_direct_load fp16 64,64,64 2,2,1 16,16,32 2,2,4 basic_async_v1 intrawave default groups=1
"""
#: too narrow for one stage
NARROW = (
    line("backward_weight_explicit")
    .replace("256, BlkTile: 128x128x64, WaveTile: 32x32", "128, BlkTile: 32x16x64, WaveTile: 16x16")
    .replace("WaveMap: 2x2, VmemReadVec: 8x8xSeq(4)", "WaveMap: 1x1, VmemReadVec: 4x1xSeq(1)")
    .replace("v4", "v1")
)


def test_gemm_records(convert):
    with Cases() as cases:
        for family, dtype, expected in (row.split(" ", 2) for row in RECORDS.strip().splitlines()):
            with cases.case(family):
                _, record = convert_one(convert, line(family, dtype), dtype)
                assert summary(record) == expected
                assert (record.id, record.epilogue, record.num_wave_groups) == (0, "cshuffle", 1)
    _, record = convert_one(convert, NARROW, "bf16")
    assert summary(record) == (
        "32,16,64 2,1,1 16,16,32 4,1,1 compv1 intrawave filter1x1_stride1_pad0 two_stage "
        "explicit_gemm groups=1"
    )


@each(family=FAMILIES)
def test_every_family_is_converted_for_its_direction(converter, convert, family):
    compiled, _ = converter.grammar.split(line(family))
    assert compiled.family.id == family
    request = {"layout": NHWGC} if family in SHORT else {}
    conversion = convert(line(family), direction=compiled.family.direction, dtype=DataType.FP16, **request)
    assert [catalog.variant for catalog in conversion.catalogs] == [compiled.family.variant]
    assert conversion.catalogs[0].dtype is DataType.FP16


@each(family=FAMILIES)
def test_the_usual_spelling_takes_the_fast_way_and_both_ways_agree(converter, family):
    text = line(family)
    compiled, arguments = converter.grammar.split(text)
    start = text.index("<") + 1
    assert compiled.read_fast(text, start) == compiled.read_slowly(arguments)
    assert compiled.read_fast(text[:-1] + " >", start) is None


@pytest.mark.parametrize("family", FAMILIES)
def test_blanks_around_arguments_mean_nothing(convert, family):
    text = line(family)
    head, bracket, rest = text.partition("<")
    spaced = f"  {head} {bracket}{rest.replace(',', ' ,  ')} \t"
    assert convert_one_any(convert, spaced) == convert_one_any(convert, text)


def convert_one_any(convert, text):
    request = {} if "Depthwise" in text else {"layout": NHWGC}
    return convert(text, dtype=DataType.FP16, **request).catalogs


@pytest.mark.parametrize(
    ("version", "direct", "pipeline", "double"),
    [
        ("v1", "false", "compv1", False),
        ("v2", "false", "mem", False),
        ("v3", "false", "compv3", False),
        ("v4", "false", "compv4", True),
        ("v5", "false", "compv6", False),
        ("v1", "true", "basic_async_v1", False),
        ("v4", "true", "mem", True),
        ("v1", "1", "basic_async_v1", False),
        ("v1", "0", "compv1", False),
    ],
)
def test_pipelines_of_forward_v3(convert, version, direct, pipeline, double):
    text = change(change(line("forward_v3"), 46, version), 49, direct)
    _, record = convert_one(convert, text)
    assert (record.pipeline, record.double_smem_buffer) == (pipeline, double)


@pytest.mark.parametrize(
    ("name", "pipeline"),
    [
        *(("BASIC_V1", "compv1"), ("MEMORY", "mem"), ("COMPUTE_V3", "compv3"), ("COMPUTE_V4", "compv4")),
        *(("COMPUTE_V5", "compv5"), ("COMPUTE_V6", "compv6"), ("BASIC_ASYNC_V1", "basic_async_v1")),
        *(("COMPUTE_ASYNC", "mem"), ("WAVELET", "wavelet")),
    ],
)
def test_pipelines_of_native_lines(convert, name, pipeline):
    _, record = convert_one(convert, change(line("native_forward"), 24, name))
    assert record.pipeline == pipeline


@pytest.mark.parametrize(("number", "strategy"), [("0", "0"), ("1", "LINEAR"), ("2", "TREE")])
def test_reduction_strategies(convert, number, strategy):
    _, record = convert_one(convert, change(line("native_backward_weight"), 33, number))
    assert record.streamk_reduction_strategy == strategy


@pytest.mark.parametrize("tail", ["", ",0"])
def test_native_backward_weight_of_either_age(convert, tail):
    text = line("native_backward_weight").replace(",1,2,0>", f"{tail}>")
    _, record = convert_one(convert, text)
    assert (record.streamk_enabled, record.streamk_reduction_strategy, record.streamk_persistent) == (
        *(False, None),
        False,
    )


@pytest.mark.parametrize(
    ("dtype", "width", "tail", "two_stage"),
    [
        ("fp16", "1", ",0", True),
        ("fp16", "2", ",0", False),
        ("fp32", "1", ",0", False),
        ("fp16", "1", ",1,2,0", False),
    ],
)
def test_second_stage_of_native_lines(convert, dtype, width, tail, two_stage):
    text = change(line("native_backward_weight", dtype), 9, width).replace("BASIC_ASYNC_V1", "BASIC_V1")
    _, record = convert_one(convert, text.replace(",1,2,0>", f"{tail}>"), dtype)
    assert record.two_stage is two_stage


def test_a_newer_backward_weight_line_says_whether_tensors_are_large(convert):
    older = line("backward_weight_v3")
    for word, split_image in (("true", True), ("false", False)):
        _, record = convert_one(convert, older.replace(">", f",{word}>"))
        assert record.split_image is split_image


def test_spellings_of_backward_data(convert):
    text = line("backward_data")
    renamed = text.replace("CShuffle<", "CShuffle_v1<")
    assert convert_one(convert, renamed) == convert_one(convert, text)
    _, record = convert_one(convert, change(line("backward_data"), 47, "Interwave"))
    assert (record.scheduler, record.pipeline) == ("interwave", "compv1")


def test_the_mma_tile_of_short_lines_without_version(convert):
    for dtype, wide, extent in (
        ("fp32", True, 4),
        ("fp32", False, 8),
        ("fp16", True, 16),
        ("fp16", False, 32),
    ):
        family = "short_forward_large_tensor" if wide else "short_forward"
        _, record = convert_one(convert, line(family), dtype)
        assert record.warp_tile_k == extent
    _, record = convert_one(convert, line("short_forward_v3"), "fp32")
    assert record.warp_tile_k == 8


def test_an_assumption_is_told(convert):
    conversion = convert(line("short_forward"), layout=NHWGC, dtype=DataType.FP16)
    assert conversion.notes == (
        "short forward lines do not print K1: warp_tile_k follows from data type and MMA tile alone",
    )


MISSING = {
    "DeviceGroupedConvBwdWeight_Explicit_Xdl<DeviceBatchedGemmXdlUniversal<Default, CRR> BlkSize: 256, "
    "BlkTile: 256x256x32, WaveTile: 32x32, WaveMap: 4x4, VmemReadVec: 8x8, "
    "BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v4, BlkGemmPipelinePrefetchStages: 3>": (
        "k1, vector_size_c are not printed"
    ),
    line("short_backward_data"): "vector_size_c is not printed",
    line("short_backward_data").replace("_v1<", "V3<"): "vector_size_c, pipeline are not printed",
    line("short_backward_data").replace("_v1<", "V3_DirectLoad_Large_Tensor<"): "vector_size_c, pipeline are",
    "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1<64, 16, 64, 32, 8, 8, Default>": (
        "mma_m, mma_n, repeat_m"
    ),
    "DeviceGroupedConvBwdWeight_Xdl_CShuffle<64, 64, 64, 4, Default, 8, 2, 2, 2, 4, 2, 4, 1, 1, 2>": (
        "mma_m, mma_n are not printed"
    ),
    "DeviceGroupedConvBwdWeight_Xdl_CShuffle<64, 64, 64, 4, Default, 8, 2, 2, 2, 4, 2, 4, 1, 1, 2, "
    "TransposeTransferSrcScalarPerVectorAligned: 1, TransposeTransferDstScalarPerVectorAligned: 2>": (
        "mma_m, mma_n are not printed"
    ),
    "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3_DirectLoad<64, 16, 16, 32, Default, 8, 1, 1, 1, 4, 1, 4, 1, "
    "1, 2>": ("mma_m, mma_n, scheduler, version are not printed"),
    "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle<64, 16, 16, 32, Default, 8, 1, 1, 1, 4, 1, 4, 1, 1, 1, "
    "BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v5, 1>": "mma_m, mma_n are not printed",
    "GroupedConvolutionForwardKernel<2,Default,Depthwise,2,2,2,64,8,8,3,3,1,1,8,2,2,fp16,fp16,fp32,fp16>": (
        "pad_h and pad_w are not printed"
    ),
}


@pytest.mark.parametrize("text", MISSING, ids=lambda text: text.split("<")[0])
def test_what_a_line_does_not_say_is_named(convert, text):
    conversion = convert(text, layout=NHWGC, dtype=DataType.FP16)
    assert [why.rule for why in conversion.dropped.values()] == ["missing-information"]
    assert MISSING[text] in next(iter(conversion.dropped.values())).message
    assert conversion.notes == (f"missing-information: {next(iter(conversion.dropped.values())).message}",)
    assert not any(catalog.records for catalog in conversion.catalogs)


def test_the_oldest_short_lines_lack_the_merged_groups(convert, errors_of):
    newer = line("short_forward")
    older = newer.replace(", 32>", ">")
    _, record = convert_one(convert, older)
    assert record.num_groups_to_merge == 1
    (message,) = errors_of(newer, older, layout=NHWGC, dtype=DataType.FP16)
    assert message == (
        "list.conf:2:1: short forward XDL of the oldest kind with 14 arguments, line 1 has another number"
    )


@pytest.mark.parametrize(
    ("family", "changes", "rule"),
    [
        ("backward_weight", {33: "3"}, "irregular-vector"),
        ("backward_weight_v3", {41: "v3"}, "unsupported-direct-load"),
        ("forward_v3", {46: "v2", 49: "true"}, "unsupported-direct-load"),
        ("backward_weight", {33: "2"}, "one-wave-coverage"),
        ("backward_weight", {26: "1"}, "one-wave-coverage"),
        ("backward_data", {21: "128", 32: "1"}, "one-wave-coverage"),
        ("backward_data", {32: "16"}, "thread-share"),
    ],
)
def test_rules_that_drop_lines(convert, family, changes, rule):
    text = line(family)
    for position, value in changes.items():
        text = change(text, position, value)
    conversion = convert(line(family), text)
    assert [(line, why.rule) for line, why in conversion.dropped.items()] == [(2, rule)]


def test_stream_k_with_asynchronous_loads_does_not_exist_for_fp32(convert):
    text = line("native_backward_weight", "fp32")
    conversion = convert(text, text.replace("BASIC_ASYNC_V1", "BASIC_V1"))
    assert [(line, why.rule) for line, why in conversion.dropped.items()] == [(1, "streamk-async-float")]
    assert [record.id for record in conversion.catalogs[0].records] == [1]


def test_a_list_whose_lines_are_all_dropped_gives_an_empty_catalog(convert):
    conversion = convert(change(line("backward_weight"), 33, "3"))
    assert [catalog.records for catalog in conversion.catalogs] == [()]


REJECTED = [
    "DeviceGroupedConvFwdMultipleD_Wmma_CShuffle<2,NHWGC> AEnableLds: 1",
    "DeviceGroupedConvBwdWeight_Wmma_CShuffleV3<1,NGCW>",
    "DeviceGroupedConvFwdDlMultipleD_NHWC_KYXC_NHWK<2>",
    "DeviceGroupedConvBwdWeight_Dl<2>",
]


@pytest.mark.parametrize("text", REJECTED, ids=lambda text: text.split("<")[0])
def test_known_families_that_are_rejected_give_their_reason(convert, text):
    conversion = convert(line("forward"), text, text)
    assert [why.rule for why in conversion.dropped.values()] == ["unsupported-family"] * 2
    title, _, sentence = next(iter(conversion.dropped.values())).message.partition(": ")
    assert title
    assert len(sentence) > 20
    assert conversion.dropped_by_rule["unsupported-family"] == 2


def test_lists_of_rejected_lines_only(convert):
    conversion = convert(REJECTED[0], REJECTED[1])
    assert conversion.catalogs == ()
    assert conversion.dropped_by_rule == {"unsupported-family": 2}
    (catalog,) = convert(REJECTED[0], direction="fwd", name="nhwgc_fp16.conf").catalogs
    assert (catalog.variant, catalog.layout, catalog.dtype) == ("forward", NHWGC, DataType.FP16)
    assert catalog.records == ()
