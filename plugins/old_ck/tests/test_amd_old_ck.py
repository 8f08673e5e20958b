"""Kernels of the old library on the emulated device, with all checks, against the references.

Needs the tree of November 2025 in ``$CK_BUILDER_ROOT``.
"""

import json
import os

import pytest

pytestmark = [
    pytest.mark.amd,
    pytest.mark.compiler,
    pytest.mark.timeout(1800),
    pytest.mark.usefixtures("amd_toolchain"),
]

#: sizes that fill no tile; with stride 2 and groups; of one channel per group, for kernels that merge groups
PROBLEMS = (
    "conv -n 2 -c 48 -H 14 -W 14 -k 80 -y 3 -x 3 -p 1 -q 1",
    "conv -n 2 -c 96 -H 9 -W 8 -k 160 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2",
    "conv -n 2 -c 16 -H 10 -W 12 -k 16 -y 3 -x 3 -p 1 -q 1 -g 16",
)
#: direction, list, place of its line, splits
KERNELS = {
    "backward data": ("bwd_data", "backward_data/tests/nhwgc_fp16", (0,), 1),
    "forward V3": ("fwd", "forward/tests/nhwgc_fp16", (3,), 1),
    "backward weight, three classes": ("bwd_weight", "backward_weight/tests/nhwgc_fp16", (2, 8, 13), 2),
}
#: what is run by default: the others' compiles take minutes
QUICK = ("backward data",)
MORE = {
    "bias and clamp": ("fwd", "forward/bias_clamp/tests/nhwgc_fp16", (25,), 1),
    "int8, whose sums keep their low bits": ("fwd", "forward/tests/nhwgc_int8", (21,), 1),
    "an operation that is combined of others": ("fwd", "forward/convscale/tests/ndhwgc_fp8_fp32", (2,), 1),
    "two tensors for each operand": ("fwd", "forward/scaleadd_ab/tests/ndhwgc_fp16", (1,), 1),
    "weights with a D tensor": ("bwd_weight", "backward_weight/bilinear/tests/ndhwgc_fp16", (1,), 1),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in (*KERNELS, *MORE)],
)
def test_kernels_are_right(ckprof, name):
    root = os.environ.get("CK_BUILDER_ROOT")
    if not root:
        pytest.skip("CK_BUILDER_ROOT names no tree of November 2025")
    direction, conf, instances, splits = (KERNELS | MORE)[name]
    kernels = ("--conf", conf, "--family", "old-ck", "--instance", ",".join(map(str, instances)))
    called = ckprof(
        *("run", direction, *kernels),
        # operations bring problems of their own
        *(word for line in PROBLEMS if name in KERNELS for word in ("--problem", line)),
        *("--target", "hip", "--arch", "gfx942", "--device", "emulated", "--check", "all", "--ck-root", root),
        *("--split-k", ",".join(map(str, range(1, splits + 1))), "--max-time", "0", "--format", "json"),
    )
    outcomes = [one for problem in json.loads(called.out)["problems"] for one in problem["outcomes"]]
    assert {one["status"] for one in outcomes} <= {"ok", "unsupported"}, called.err
    ran = {(one["instance"], one["split_k"]) for one in outcomes if one["status"] == "ok"}
    assert ran == {(number, split) for number in instances for split in range(1, splits + 1)}
