"""Strings of Composable Kernel's own tests and lists come back in the revisions that print them."""

from __future__ import annotations

from ckprof.model.strings.kind import find_revision
from tests.cases import Cases

from .samples import GRAMMAR

KNOWN = [
    (
        "tile_forward",
        ["2026-01", "2026-02", "2026-06", "2026-09"],
        "GroupedConvolutionForwardKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,0,0,128,128,"
        "32,4,1,1,16,16,16,bf16,bf16,COMPUTE_V3,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough>",
    ),
    (
        "tile_backward_data",
        ["2025-11", "2026-01", "2026-02", "2026-06", "2026-09"],
        "GroupedConvolutionBackwardDataKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,0,0,128,"
        "128,32,4,1,1,16,16,16,bf16,bf16,COMPUTE_V3,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough>",
    ),
    (
        "tile_forward",
        ["2026-01", "2026-02", "2026-06", "2026-09"],
        "GroupedConvolutionForwardKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,0,0,64,64,64,"
        "2,2,1,16,16,16,fp16,fp16,COMPUTE_V3,Intrawave,0,1,fp32,fp16,EmptyTuple,PassThrough>",
    ),
    (
        "tile_backward_weight",
        ["2025-11", "2026-01", "2026-02"],
        "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,0,0,"
        "128,128,32,4,1,1,16,16,16,bf16,bf16,COMPUTE_V3,Intrawave,0,1,fp32,bf16,EmptyTuple,"
        "PassThrough>",
    ),
    (
        "tile_backward_weight",
        ["2026-06", "2026-09"],
        "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,8,8,8,1,0,0,"
        "64,64,64,2,2,1,16,16,16,bf16,bf16,BASIC_ASYNC_V1,Intrawave,0,1,fp32,bf16,EmptyTuple,"
        "PassThrough,1,2,0>",
    ),
    (
        "tile_backward_weight",
        ["2026-06", "2026-09"],
        "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,2,2,1,0,0,"
        "32,16,64,2,1,1,16,16,16,bf16,bf16,BASIC_V1,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough,1,"
        "2,1>",
    ),
    (
        "tile_backward_weight",
        ["2026-06", "2026-09"],
        "GroupedConvolutionBackwardWeightKernel<2,Filter1x1Stride1Pad0,NHWGC,GKYXC,EmptyTuple,NHWGK,"
        "1,1,2,1,0,0,16,16,32,1,1,1,16,16,16,bf16,bf16,MEMORY,Intrawave,0,1,fp32,bf16,EmptyTuple,"
        "PassThrough,1,2,0>",
    ),
    (
        "tile_depthwise",
        ["2025-11", "2026-01", "2026-02", "2026-06", "2026-09"],
        "GroupedConvolutionForwardKernel<2,Default,Depthwise,2,2,2,64,8,8,3,3,1,1,8,2,2,fp16,fp16,fp32,fp16>",
    ),
    (
        "tile_depthwise",
        ["2025-11", "2026-01", "2026-02", "2026-06", "2026-09"],
        "GroupedConvolutionForwardKernel<2,Default,Depthwise,8,8,8,64,16,16,5,5,2,2,1,1,4,fp32,fp32,"
        "fp32,fp32>",
    ),
    (
        "forward",
        ["2026-01", "2026-02", "2026-06", "2026-09"],
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<2,NHWGC,GKYXC,EmptyTuple,NHWGK,bf16,bf16,fp32,"
        "bf16,EmptyTuple,bf16,PassThrough,PassThrough,PassThrough,Default,MNKPadding,1,256,128,256,"
        "32,8,8,32,32,2,4,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,8,8,true,Seq(4,64,1),Seq(1,0,2),Seq(1,"
        "0,2),2,8,8,true,1,1,Seq(1,32,1,8),8,bf16,bf16,Default,1>",
    ),
    (
        "forward",
        ["2026-01", "2026-02", "2026-06", "2026-09"],
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<2,NHWGC,GKYXC,EmptyTuple,NHWGK,bf16,bf16,fp32,"
        "bf16,EmptyTuple,bf16,PassThrough,PassThrough,PassThrough,Filter3x3,MNKPadding,1,64,64,16,16,"
        "4,4,16,16,4,1,Seq(4,16,1),Seq(0,2,1),Seq(0,2,1),1,4,4,true,Seq(4,16,1),Seq(1,0,2),Seq(1,0,"
        "2),2,1,4,true,1,1,Seq(1,16,1,4),1,bf16,bf16,Default,16>",
    ),
    (
        "forward_v3",
        ["2026-06", "2026-09"],
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<2,NHWGC,GKYXC,EmptyTuple,NHWGK,bf16,bf16,"
        "fp32,bf16,EmptyTuple,bf16,PassThrough,PassThrough,PassThrough,Default,MNKPadding,256,128,"
        "128,32,8,8,32,32,2,2,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,8,8,false,Seq(4,64,1),Seq(1,0,2),"
        "Seq(1,0,2),2,8,8,false,1,1,Seq(1,32,1,8),8,Intrawave,v4,bf16,bf16,false,1>",
    ),
    (
        "forward_v3",
        ["2025-11"],
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<2,GNHWC,GKYXC,EmptyTuple,GNHWK,fp16,fp16,"
        "fp32,fp16,EmptyTuple,fp16,PassThrough,PassThrough,PassThrough,Default,Default,256,128,128,"
        "16,8,8,32,32,4,4,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,8,8,1,Seq(4,64,1),Seq(1,0,2),Seq(1,0,"
        "2),2,8,8,1,1,1,Seq(1,32,1,8),8,Intrawave,v1,fp16,fp16,false>",
    ),
    (
        "forward_large_tensor",
        ["2025-11"],
        "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor<2,GNHWC,GKYXC,EmptyTuple,GNHWK,fp16,"
        "fp16,fp32,fp16,EmptyTuple,fp16,PassThrough,PassThrough,PassThrough,Default,Default,1,256,"
        "128,128,16,8,8,32,32,4,4,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,8,8,1,Seq(4,64,1),Seq(1,0,2),"
        "Seq(1,0,2),2,8,8,1,1,1,Seq(1,32,1,8),8,fp16,fp16,Default>",
    ),
    (
        "forward_wmma",
        ["2026-01", "2026-02", "2026-06", "2026-09"],
        "DeviceGroupedConvFwdMultipleD_Wmma_CShuffle<2,GNHWC,GKYXC,EmptyTuple,GNHWK,fp16,fp16,fp32,"
        "fp16,EmptyTuple,fp16,PassThrough,PassThrough,PassThrough,Default,MNKPadding,1,128,64,64,32,"
        "8,16,16,2,2,Seq(4,32,1),Seq(1,0,2),Seq(1,0,2),2,1,8,true,Seq(4,32,1),Seq(1,0,2),Seq(1,0,2),"
        "2,1,8,true,1,1,Seq(1,32,1,4),1,Default,v1>",
    ),
    (
        "backward_weight",
        ["2026-01", "2026-02", "2026-06", "2026-09"],
        "DeviceGroupedConvBwdWeight_Xdl_CShuffle<2,GNHWC,GKYXC,GNHWK,fp16,fp16,fp16,fp32,PassThrough,"
        "PassThrough,PassThrough,Default,256,128,128,4,8,32,32,2,2,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),"
        "2,8,8,false,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,8,8,false,1,1,Seq(1,32,1,8),8,fp16,fp16,1,1>",
    ),
    (
        "backward_weight",
        ["2026-01", "2026-02", "2026-06", "2026-09"],
        "DeviceGroupedConvBwdWeight_Xdl_CShuffle<2,NHWGC,GKYXC,NHWGK,bf16,bf16,bf16,fp32,PassThrough,"
        "PassThrough,PassThrough,Default,64,64,64,4,8,32,32,2,2,Seq(1,4,8,2),Seq(0,3,1,2),Seq(0,2,1,"
        "3),2,2,4,true,Seq(1,4,8,2),Seq(0,3,1,2),Seq(0,2,1,3),2,2,4,true,1,1,Seq(1,16,1,4),2,bf16,"
        "bf16,1,1>",
    ),
    (
        "backward_weight_v3",
        ["2026-01", "2026-02", "2026-06"],
        "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3<2,NHWGC,GKYXC,NHWGK,bf16,bf16,bf16,fp32,"
        "PassThrough,PassThrough,PassThrough,Default,128,16,32,64,8,16,16,1,1,Seq(8,2,8),Seq(0,2,1),"
        "Seq(0,2,1),1,8,8,false,Seq(4,4,8),Seq(0,2,1),Seq(0,2,1),1,8,8,false,1,1,Seq(1,16,1,8),4,"
        "Intrawave,v1,bf16,bf16,1,1>",
    ),
    (
        "backward_weight_two_stage",
        ["2026-01", "2026-02", "2026-06", "2026-09"],
        "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle<2,NHWGC,GKYXC,NHWGK,fp16,fp16,fp16,fp32,"
        "PassThrough,PassThrough,PassThrough,Default,64,32,32,32,8,32,32,1,1,Seq(4,16,1),Seq(2,0,1),"
        "Seq(1,0,2),1,2,2,false,Seq(4,8,1),Seq(2,0,1),Seq(1,0,2),1,2,2,false,1,1,Seq(1,8,1,8),1,"
        "Intrawave,v1,2,fp16,fp16,1,1>",
    ),
]


def test_known_strings_come_back() -> None:
    with Cases() as cases:
        for kind, revisions, text in KNOWN:
            with cases.case(text):
                parsed = GRAMMAR.parse(text)
                assert parsed.kind_id == kind and revisions
                for name in revisions:
                    assert GRAMMAR.parse(text, find_revision(name)) == parsed
                    assert GRAMMAR.render(parsed, find_revision(name)) == text
