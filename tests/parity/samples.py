"""Lines and strings that the tests of parity start from."""

import json

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

#: a list whose kernels a library is made of
STREAM_K_LIST = "backward_weight/tests/nhwgc_bf16_streamk"


def first_line(name, number=0):
    """Return a line of a list that ships with ckprof."""
    lines = (conf_root() / f"{name}.conf").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")][number]


def strings_of(ckprof, name):
    done = ckprof("list", "instances", "--conf", name, "--format", "json")
    return [row["instance string"] for row in json.loads(done.out)]


def log_of(strings):
    lines = ["IMPORTANT: Generate instances using generate_instances.py"]
    for number, text in enumerate(strings):
        timed = f"\x1b[36m[Valid] Perf:     0.0123 ms, 9.5 TFlops, 80 GB/s, {text} (instance {number})\x1b[0m"
        lines.append(timed if number % 3 else f"[Not supported] {text}")
    lines += ["Best configuration parameters:", f"\tname: {strings[1]} (instance 1)", "\tavg_time: 0.0123ms"]
    return "\r\n".join([*lines, ""])
