"""What a line means to CK Builder, worked out by hand from the line."""

from pathlib import Path

import pytest

from ckprof.errors import InputError, ListError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.strings.grammar import StringGrammar
from ckprof.model.strings.kind import default_revision, find_revision
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof_converters.builder.reader import BuilderReader
from ckprof_converters.families import FAMILIES
from ckprof_converters.old_strings import KINDS as OLD_KINDS
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions._convolution.string_kinds import KINDS as TILE_KINDS

STRINGS = StringGrammar([*OLD_KINDS, *TILE_KINDS])
READER = BuilderReader(FAMILIES)


def read(*lines, name="list.conf", revision=None, **request):
    data = "\n".join(lines).encode()
    found = ConversionRequest(path=Path(name), data=data, **request)
    return READER.read(found, STRINGS, revision or default_revision()).strings


FORWARD = (
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<2,NHWGC,GKYXC,EmptyTuple,NHWGK,bf16,bf16,fp32,bf16,EmptyTuple,"
    "bf16,PassThrough,PassThrough,PassThrough,Default,MNKPadding,1,256,128,256,32,8,8,32,32,2,4,Seq(4,64,1),"
    "Seq(1,0,2),Seq(1,0,2),2,8,8,true,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,8,8,true,1,1,Seq(1,32,1,8),8,bf16,"
    "bf16,Default,1>"
)
FORWARD_V3 = (
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<2,NHWGC,GKYXC,EmptyTuple,NHWGK,fp32,fp32,fp32,fp32,"
    "EmptyTuple,fp32,PassThrough,PassThrough,PassThrough,Filter1x1Pad0,MNKPadding,256,128,128,32,8,8,32,32,2,2,"
    "Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,4,4,false,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,4,4,false,1,1,"
    "Seq(1,32,1,8),8,Intrawave,v4,fp32,fp32,false,1>"
)
LARGE = (
    "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor<2,NHWGC,GKYXC,EmptyTuple,NHWGK,bf16,bf16,fp32,bf16,"
    "EmptyTuple,bf16,PassThrough,PassThrough,PassThrough,Default,MNKPadding,1,64,64,64,32,8,8,32,32,2,2,"
    "Seq(4,16,1),Seq(1,0,2),Seq(1,0,2),2,1,8,true,Seq(4,16,1),Seq(1,0,2),Seq(1,0,2),2,1,8,true,1,1,"
    "Seq(1,16,1,4),1,bf16,bf16,Default>"
)
WEIGHT = (
    "DeviceGroupedConvBwdWeight_Xdl_CShuffle<2,NHWGC,GKYXC,NHWGK,bf16,bf16,bf16,fp32,PassThrough,PassThrough,"
    "PassThrough,Default,64,64,64,4,8,32,32,2,2,Seq(1,4,8,2),Seq(0,3,1,2),Seq(0,2,1,3),2,2,4,true,Seq(1,4,8,2),"
    "Seq(0,3,1,2),Seq(0,2,1,3),2,2,4,true,1,1,Seq(1,16,1,4),2,bf16,bf16,1,1>"
)
WEIGHT_V3 = (
    "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3<2,NHWGC,GKYXC,NHWGK,bf16,bf16,bf16,fp32,PassThrough,PassThrough,"
    "PassThrough,Default,128,16,32,64,8,16,16,1,1,Seq(8,2,8),Seq(0,2,1),Seq(0,2,1),1,8,8,false,Seq(4,4,8),"
    "Seq(0,2,1),Seq(0,2,1),1,8,8,false,1,1,Seq(1,16,1,8),4,Intrawave,v1,bf16,bf16,1,1>"
)
TWO_STAGE = (
    "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle<2,NHWGC,GKYXC,NHWGK,fp16,fp16,fp16,fp32,PassThrough,"
    "PassThrough,PassThrough,Default,64,32,32,32,8,32,32,1,1,Seq(4,16,1),Seq(2,0,1),Seq(1,0,2),1,2,2,false,"
    "Seq(4,8,1),Seq(2,0,1),Seq(1,0,2),1,2,2,false,1,1,Seq(1,8,1,8),1,Intrawave,v5,8,fp16,fp16,1,1>"
)
EXPLICIT = (
    "DeviceGroupedConvBwdWeight_Explicit_Xdl<DeviceBatchedGemmXdlUniversal<MNKPadding, CRR> BlkSize: 256, "
    "BlkTile: 128x128x64, WaveTile: 32x32, K1: 4x8, WaveMap: 2x2, VmemReadVec: 8x8xSeq(4), "
    "BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v4, BlkGemmPipelinePrefetchStages: 3>"
)
DATA = (
    "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle<2,NHWGK,GKYXC,EmptyTuple,NHWGC,fp16,fp16,fp32,EmptyTuple,"
    "fp16,PassThrough,PassThrough,PassThrough,Default,1,1,1,64,16,64,32,8,8,16,16,1,4,Seq(4,16,1),Seq(1,0,2),"
    "Seq(1,0,2),2,8,8,true,Seq(4,8,1),Seq(0,2,1),Seq(0,2,1),1,8,8,true,1,1,Seq(1,16,1,4),4,1,Default,fp16,fp16,"
    "1,1>"
)

#: line -> what CK Builder prints, from the tables of the formats: 128x256 = 2x2 waves of 2x4 times 32x32, ...
EXPECTED = {
    FORWARD: "GroupedConvolutionForwardKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,8,8,8,1,0,0,128,"
    "256,32,2,2,1,"
    "32,32,16,bf16,bf16,BASIC_V1,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough>",
    FORWARD_V3: "GroupedConvolutionForwardKernel<2,Filter1x1Pad0,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,8,1,0,0,"
    "128,128,"
    "32,2,2,1,32,32,8,fp32,fp32,COMPUTE_V4,Intrawave,1,1,fp32,fp32,EmptyTuple,PassThrough>",
    LARGE: "GroupedConvolutionForwardKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,1,1,1,1,1,0,64,64,"
    "32,1,1,1,32,"
    "32,16,bf16,bf16,BASIC_V1,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough>",
    WEIGHT: "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,2,2,2,1,0,0,"
    "64,64,32,1,"
    "1,1,32,32,16,bf16,bf16,BASIC_V1,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough,0>",
    WEIGHT_V3: "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,8,8,4,1,0,0,"
    "16,32,64,"
    "1,2,1,16,16,32,bf16,bf16,BASIC_ASYNC_V1,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough,0>",
    TWO_STAGE: "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,2,2,1,8,0,0,"
    "32,32,32,"
    "1,1,1,32,32,16,fp16,fp16,COMPUTE_V6,Intrawave,0,1,fp32,fp32,EmptyTuple,PassThrough,0>",
    EXPLICIT: "GroupedConvolutionBackwardWeightKernel<2,Filter1x1Stride1Pad0,NHWGC,GKYXC,EmptyTuple,"
    "NHWGK,8,8,4,1,"
    "0,1,128,128,64,2,2,1,32,32,16,fp16,fp16,COMPUTE_V4,Intrawave,1,1,fp32,fp16,EmptyTuple,PassThrough,0>",
    DATA: "GroupedConvolutionBackwardDataKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,8,8,4,1,0,0,"
    "16,64,32,1,1,1,"
    "16,16,32,fp16,fp16,BASIC_V1,Intrawave,0,1,fp32,fp16,EmptyTuple,PassThrough>",
}


@pytest.mark.parametrize("line", EXPECTED)
def test_what_builder_prints_for_a_line(line):
    (found,) = read(line, name="nhwgc_fp16.conf" if line == EXPLICIT else "list.conf")
    assert found.text == found.expected == EXPECTED[line]
    assert found.skipped is None
    assert not found.losses


def test_depthwise_lines_give_one_kernel_per_type():
    found = read("GroupedConvolutionForwardDepthwise<8,8,3,1,1,1,1,8,2,2,2,2>")
    text = "GroupedConvolutionForwardKernel<2,Default,Depthwise,2,2,2,64,8,8,3,3,1,1,8,2,2,{0},{0},fp32,{0}>"
    assert [string.text for string in found] == [text.format(dtype.value) for dtype in SHARED_TYPES]
    (one,) = read("16,16,5,2,2,2,2,1,1,4,8,8", dtype=DataType.FP32)
    assert one.text == (
        "GroupedConvolutionForwardKernel<2,Default,Depthwise,8,8,8,64,16,16,5,5,2,2,1,1,4,fp32,fp32,fp32,fp32>"
    )


def test_what_catalogs_lack_is_lost_or_changed():
    (found,) = read(FORWARD.replace(",Default,MNK", ",OddC,MNK"))
    assert found.text == EXPECTED[FORWARD]
    assert found.origin["specialization"] == "OddC"
    (found,) = read(FORWARD_V3.replace("false,1>", "true,1>"))
    assert found.text == EXPECTED[FORWARD_V3].replace("COMPUTE_V4", "COMPUTE_ASYNC")
    assert found.expected == EXPECTED[FORWARD_V3].replace("COMPUTE_V4", "MEMORY")
    assert [loss.rule for loss in found.losses] == ["async-v4"]


def test_native_lines_are_their_own_string():
    native = EXPECTED[WEIGHT]
    (found,) = read(native)
    assert (found.text, found.expected, found.origin) == (native, native, None)
    single = native.replace("2,2,2,1,0,0", "2,2,1,1,0,0")
    (found,) = read(single)
    assert found.expected == single.replace("fp32,bf16", "fp32,fp32")
    assert [loss.rule for loss in found.losses] == ["two-stage"]
    (found,) = read(EXPECTED[FORWARD].replace("BASIC_V1", "COMPUTE_ASYNC"))
    assert [loss.rule for loss in found.losses] == ["async-v4"]


def test_a_stream_k_list_whose_name_says_another_depth_follows_its_name():
    line = EXPECTED[WEIGHT].replace("PassThrough,0>", "PassThrough,1,2,0>")
    (found,) = read(line, name="ndhwgc_bf16_streamk.conf")
    assert found.text == line
    assert "Kernel<3,Default,NDHWGC,GKZYXC,EmptyTuple,NDHWGK," in found.expected
    assert [loss.rule for loss in found.losses] == ["layout-of-name"]
    assert not read(line, name="nhwgc_bf16_streamk.conf")[0].losses


def test_wrong_lines_can_be_left_out():
    found = READER.read(
        ConversionRequest(path=Path("x.conf"), data=f"{FORWARD[:-1]}\n{FORWARD}".encode(), lenient=True),
        STRINGS,
        default_revision(),
    )
    assert [string.line for string in found.strings] == [2]
    assert len(found.notes) == 1
    assert found.notes[0].startswith("1:")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (WEIGHT.replace("4),2,bf16", "4),3,bf16"), "irregular-vector"),
        (
            WEIGHT.replace("64,64,64,4,8", "64,64,256,4,8").replace("2,2,Seq(1", "2,8,Seq(1", 1),
            "one-wave-coverage",
        ),
        (DATA.replace("2,8,8,true", "2,16,8,true"), "thread-share"),
        (
            EXPECTED[WEIGHT]
            .replace("bf16", "fp32")
            .replace("BASIC_V1", "BASIC_ASYNC_V1")
            .replace("PassThrough,0>", "PassThrough,1,2,0>"),
            "streamk-async-float",
        ),
    ],
)
def test_what_the_generator_leaves_out(line, rule):
    (found,) = read(line)
    assert found.skipped.rule == rule


def test_the_mma_table_and_the_revision_are_parameters():
    (found,) = read(FORWARD.replace(",32,8,8,", ",32,4,4,"), mma_k_table=(8, 16))
    assert "32,32,8,bf16" in found.text
    (old,) = read(WEIGHT, revision=find_revision("2026-01"))
    assert old.text == EXPECTED[WEIGHT].replace(",0>", ">")


SHORT = (
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<64, 64, 16, 32, Filter3x3, 16, 16, 4, 1, 4, 1, 1, 1, 1, 32>"
)
SHORT_DATA = (
    "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1"
    "<64, 64, 64, 32, 8, 8, Default, 32, 32, 2, 2, 1, 1, 1, 1>"
)


def test_short_lines_take_layout_and_type_from_elsewhere():
    (found,) = read(SHORT, name="ndhwgc_bf16.conf")
    assert found.text == (
        "GroupedConvolutionForwardKernel<3,Filter3x3,NDHWGC,GKZYXC,EmptyTuple,NDHWGK,4,1,1,32,0,0,64,16,32,1,1,1,"
        "16,16,32,bf16,bf16,BASIC_V1,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough>"
    )
    assert found.abridged
    assert read(SHORT, layout=find_layout("nhwgc"), dtype=DataType.FP16)[0].text.count("fp16") == 3
    with pytest.raises(ListError, match="neither the line nor the file name say the layout"):
        read(SHORT)
    # lines that say them speak for the others
    assert [string.line for string in read(EXPLICIT, WEIGHT)] == [1, 2]


@pytest.mark.parametrize(
    ("line", "rule", "words"),
    [
        (SHORT_DATA, "missing-information", "does not print vector_size_c"),
        ("DeviceGroupedConvFwdMultipleD_Wmma_CShuffle<1>", "unsupported-family", "RDNA"),
    ],
)
def test_lines_without_a_known_string_are_left_out_with_the_reason(line, rule, words):
    (found,) = read(line)
    assert (found.text, found.expected, found.skipped.rule) == (line, "", rule)
    assert words in found.skipped.message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            FORWARD.replace(",256,128,", ",257,128,", 1),
            r"list.conf:1:\d+: block size 257 does not fit 2x2 waves",
        ),
        (FORWARD.replace(",2,4,Seq", ",3,4,Seq", 1), r"128 is not a multiple of 32 x 3"),
        (FORWARD.replace(",2,4,Seq", ",2,3,Seq", 1), r"256 is not a multiple of 32 x 3"),
        (FORWARD.replace("32,32,2,4", "32,16,2,4"), "the MMA tile must be square, got 32x16"),
        (DATA.replace(",8,8,16,16", ",8,4,16,16"), "AK1 and BK1 must agree, got 8 and 4"),
        (
            WEIGHT_V3.replace("v1,bf16,bf16,1,1", "v3,bf16,bf16,1,1"),
            "direct load exists for v1 and v4, got v3",
        ),
        (FORWARD.replace("MNKPadding", "Padded"), r"expected a padding .* for gemm_padding \(argument 16\)"),
        (FORWARD[:-1], "ends without '>'"),
        (FORWARD.replace("ABD_Xdl", "ABC_Xdl"), "unknown kernel name"),
        (EXPECTED[WEIGHT].replace(",0>", ",0,1>"), "has 32 or 34 fields in revision 2026-06, got 33"),
    ],
)
def test_wrong_lines_are_rejected_with_their_place(line, message):
    with pytest.raises(ListError, match=message):
        read(line)


def test_lines_of_another_direction_are_rejected_once_for_each_family():
    with pytest.raises(ListError) as caught:
        read(FORWARD, WEIGHT, EXPECTED[WEIGHT], WEIGHT, direction="fwd")
    first, second = caught.value.diagnostics
    assert (first.line, second.line) == (2, 3)
    assert first.message == "backward-weight XDL is of direction bwd_weight, expected fwd (and 1 more line)"
    assert second.message == "backward-weight kernel is of direction bwd_weight, expected fwd"


def test_what_is_no_text_is_rejected():
    with pytest.raises(InputError, match="NUL byte"):
        READER.read(ConversionRequest(path=Path("x"), data=b"Device\0<"), STRINGS, default_revision())
