"""Lines and strings that the tests of parity start from."""

from __future__ import annotations

from ckprof.paths import conf_root

#: prints the same for all of them: one instance per kind of kernel that ckprof generates
FORWARD = (
    "GroupedConvolutionForwardKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,0,0,128,128,32,4,1,1,16,16,"
    "16,bf16,bf16,COMPUTE_V3,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough>"
)
BACKWARD_DATA = FORWARD.replace("Forward", "BackwardData")
BACKWARD_WEIGHT = FORWARD.replace("Forward", "BackwardWeight")[:-1] + ",0>"
STREAM_K = BACKWARD_WEIGHT[:-3] + ",1,2,0>"
DEPTHWISE = (
    "GroupedConvolutionForwardKernel<2,Default,Depthwise,2,2,2,64,8,8,3,3,1,1,8,2,2,fp16,fp16,fp32,fp16>"
)


def first_line(name: str, number: int = 0) -> str:
    """Return a line of a list that ships with ckprof."""
    lines = (conf_root() / f"{name}.conf").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")][number]
