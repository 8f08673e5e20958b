"""One good line of each family, and ways to change a line."""

import re

from ckprof.model.strings.grammar import split_arguments

_FORWARD_HEAD = (
    "2,NHWGC,GKYXC,EmptyTuple,NHWGK,{t},{t},fp32,{t},EmptyTuple,{t},PassThrough,PassThrough,PassThrough"
)
_BACKWARD_WEIGHT_HEAD = "2,NHWGC,GKYXC,NHWGK,{t},{t},{t},fp32,PassThrough,PassThrough,PassThrough"
_BACKWARD_DATA_HEAD = (
    "2,NHWGK,GKYXC,EmptyTuple,NHWGC,{t},{t},fp32,EmptyTuple,{t},PassThrough,PassThrough,PassThrough"
)
_NATIVE = (
    "2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,8,8,8,1,0,0,64,64,64,2,2,1,16,16,16,{t},{t},"
    "BASIC_ASYNC_V1,Intrawave,0,1,fp32,{t},EmptyTuple,PassThrough"
)

_TEMPLATES = {
    "forward": f"DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<{_FORWARD_HEAD},Default,MNKPadding,1,"
    "64,64,16,16,4,4,16,16,4,1,Seq(4,16,1),Seq(0,2,1),Seq(0,2,1),1,4,4,true,"
    "Seq(4,16,1),Seq(1,0,2),Seq(1,0,2),2,1,4,true,1,1,Seq(1,16,1,4),1,{t},{t},Default,8>",
    "forward_large_tensor": "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor<"
    f"{_FORWARD_HEAD},Default,MNKPadding,1,"
    "64,64,64,32,8,8,32,32,2,2,Seq(4,16,1),Seq(1,0,2),Seq(1,0,2),2,1,8,true,"
    "Seq(4,16,1),Seq(1,0,2),Seq(1,0,2),2,1,8,true,1,1,Seq(1,16,1,4),1,{t},{t},Default>",
    "forward_v3": f"DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<{_FORWARD_HEAD},Filter1x1Pad0,MNKPadding,"
    "256,128,128,32,8,8,32,32,2,2,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,4,4,false,"
    "Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,4,4,false,1,1,Seq(1,32,1,8),8,Intrawave,v4,{t},{t},false,1>",
    "backward_weight": f"DeviceGroupedConvBwdWeight_Xdl_CShuffle<{_BACKWARD_WEIGHT_HEAD},Default,"
    "256,128,256,4,8,32,32,2,4,Seq(1,4,16,4),Seq(0,3,1,2),Seq(0,2,1,3),2,8,2,true,"
    "Seq(1,4,32,2),Seq(0,3,1,2),Seq(0,2,1,3),2,8,4,true,1,1,Seq(1,32,1,8),8,{t},{t},1,1>",
    "backward_weight_v3": f"DeviceGroupedConvBwdWeight_Xdl_CShuffleV3<{_BACKWARD_WEIGHT_HEAD},Default,"
    "256,256,32,64,8,32,32,2,1,Seq(4,32,2),Seq(0,2,1),Seq(0,2,1),1,8,8,false,"
    "Seq(8,4,8),Seq(0,2,1),Seq(0,2,1),1,8,8,false,1,1,Seq(1,64,1,4),8,Intrawave,v1,{t},{t},1,1>",
    "backward_weight_two_stage": f"DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle<{_BACKWARD_WEIGHT_HEAD},"
    "Default,64,32,32,32,8,32,32,1,1,Seq(4,8,1),Seq(2,0,1),Seq(1,0,2),1,2,2,false,"
    "Seq(4,16,1),Seq(2,0,1),Seq(1,0,2),1,2,2,false,1,1,Seq(1,8,1,8),1,Intrawave,v1,2,{t},{t},1,1>",
    "backward_weight_explicit": "DeviceGroupedConvBwdWeight_Explicit_Xdl<"
    "DeviceBatchedGemmXdlUniversal<Default, CRR> BlkSize: 256, BlkTile: 128x128x64, WaveTile: 32x32, "
    "K1: 4x4, WaveMap: 2x2, VmemReadVec: 8x8xSeq(4), BlkGemmPipelineScheduler: Intrawave, "
    "BlkGemmPipelineVersion: v4, BlkGemmPipelinePrefetchStages: 3>",
    "backward_data": f"DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle<{_BACKWARD_DATA_HEAD},Default,1,1,1,"
    "64,16,64,32,8,8,16,16,1,4,Seq(4,16,1),Seq(1,0,2),Seq(1,0,2),2,8,8,true,"
    "Seq(4,8,1),Seq(0,2,1),Seq(0,2,1),1,8,8,true,1,1,Seq(1,16,1,4),4,1,Default,{t},{t},1,1>",
    "native_forward": f"GroupedConvolutionForwardKernel<{_NATIVE}>",
    "native_backward_data": f"GroupedConvolutionBackwardDataKernel<{_NATIVE}>",
    "native_backward_weight": f"GroupedConvolutionBackwardWeightKernel<{_NATIVE},1,2,0>",
    "short_forward": "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle"
    "<64, 64, 16, 32, Filter3x3, 16, 16, 4, 1, 4, 1, 1, 1, 1, 32>",
    "short_forward_large_tensor": "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor"
    "<256, 256, 128, 32, Default, 32, 32, 4, 2, 8, 8, 8, 1, 1>",
    "short_forward_v3": "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3"
    "<256, 128, 128, 64, Default, 32, 32, 2, 2, 8, 8, 8, 1, 1, "
    "BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v4>",
    "short_forward_v3_direct_load": "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3_DirectLoad"
    "<256, 64, 64, 64, Default, 16, 16, 2, 2, 2, 2, 4, 1, 1, "
    "BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v1>",
    "short_backward_data": "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1"
    "<64, 16, 64, 32, 8, 8, Default, 16, 16, 1, 4, 8, 1, 1, 1>",
    "depthwise": "GroupedConvolutionForwardDepthwise<32,32,3,1,1,1,1,1,4,4,8,8>",
}

#: families whose lines need --layout and --dtype
SHORT = (*(name for name in _TEMPLATES if name.startswith("short_")), "backward_weight_explicit")


def line(family, dtype="fp16"):
    """Return a good line of a family."""
    return _TEMPLATES[family].replace("{t}", dtype)


FAMILIES = tuple(_TEMPLATES)


def arguments(text):
    """Return the arguments of a line, in the usual spelling."""
    start, end, _ = _bounds(text)
    return [argument.text for argument in split_arguments(text, start, end)] if start < end else []


def with_arguments(text, new):
    """Return the line with other arguments."""
    start, end, separator = _bounds(text)
    return text[:start] + separator.join(new) + text[end:]


def change(text, position, value):
    """Return the line with another value of its ``position``-th argument, counted from one."""
    values = arguments(text)
    values[position - 1] = value
    return with_arguments(text, values)


def column(text, position):
    """Return the one-based column of an argument."""
    start, end, _ = _bounds(text)
    return split_arguments(text, start, end)[position - 1].start + 1


def as_bytes(*lines):
    return "".join(f"{text}\n" for text in lines).encode()


def _bounds(text):
    nested = re.match(r"\w+<\w+<[^>]*> ", text)
    start = nested.end() if nested else text.index("<") + 1
    end = text.rindex(">")
    return start, end, ", " if nested or re.search(r"[0-9], ", text) else ","
