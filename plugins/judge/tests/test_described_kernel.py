"""Code objects with a description of their launch, on the emulated device; descriptions that are wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("product.hip")
SIZES = ("M", "N", "K", "stride_a", "stride_b", "stride_e")
LAUNCH = {
    "code_object": "product.co",
    "kernel": "product",
    "arguments": [
        *({"pointer": name} for name in "abe"),
        *({"scalar": "i32", "value": size} for size in SIZES),
    ],
    "grid": ["ceil_div(M * N, 64)"],
    "block": [64],
}
DEVICE = ("--device", "emulated")
#: workgroups of 64 elements leave 24 over
PROBLEM = ("--problem", "24x41x32")


def write(folder, **changed):
    path = folder / "product.json"
    path.write_text(json.dumps({**LAUNCH, **changed}))
    return path


@pytest.mark.parametrize(
    ("changed", "content", "options", "code", "said"),
    [
        ({}, b"", DEVICE, 3, "product.co: this is not a code object for an AMD GPU"),
        ({}, None, DEVICE, 3, "product.co: cannot be read (No such file or directory)"),
        ({}, b"", (), 2, "a code object needs --device"),
        ({"grid": 3}, b"", DEVICE, 3, "product.json: not a description of a launch: Expected `array`"),
        ({"grids": []}, b"", DEVICE, 3, "contains unknown field `grids`"),
        (
            {"arguments": [{"pointer": "a", "scalar": "i32"}]},
            b"amdgcn-amd-amdhsa--gfx942",
            DEVICE,
            3,
            "product.json: an argument is one of pointer, scalar and struct",
        ),
        (
            {"arguments": [{"struct": 8, "members": {"0": {"struct": 8}}}]},
            b"amdgcn-amd-amdhsa--gfx942",
            DEVICE,
            3,
            "a member of a structure is a pointer or a scalar",
        ),
    ],
)
def test_what_is_wrong_is_said(ckprof, tmp_path, changed, content, options, code, said):
    path = write(tmp_path, **changed)
    if content is not None:
        (tmp_path / "product.co").write_bytes(content)
    called = ckprof("judge", "gemm", str(path), *PROBLEM, *options)
    assert called.code == code and said in called.err, called.err


@pytest.fixture(scope="module")
def code_objects(tmp_path_factory):
    """Code objects by macro."""
    named = os.environ.get("CKPROF_CLANG") or os.environ.get("HIPCXX")
    compiler = shutil.which(named or "clang++") or pytest.skip("no clang compiles kernels")
    made, folder = {}, tmp_path_factory.mktemp("code_objects")
    for macro in ("RIGHT", "RACE"):
        made[macro] = folder / f"{macro}.co"
        words = ("-x", "hip", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942", "-O2", "-std=c++20")
        alone = ("--offload-device-only", "--no-gpu-bundle-output", f"-D{macro}", "-c", str(SOURCE))
        subprocess.run([compiler, *words, *alone, "-o", str(made[macro])], check=True)
    return made


@pytest.mark.amd
@pytest.mark.usefixtures("amd_toolchain")
@pytest.mark.timeout(1500)
def test_verdicts_are_those_of_other_candidates(ckprof, tmp_path, code_objects):
    def judged(macro, *options, **changed):
        shutil.copy(code_objects[macro], tmp_path / "product.co")
        path = write(tmp_path, **changed)
        what = ("judge", "gemm", str(path), *PROBLEM, *DEVICE, "--budget", "6s", "--format", "json")
        called = ckprof(*what, *options)
        return called.code, json.loads(called.out)

    code, said = judged("RIGHT", "--check", "all")
    assert (code, said["verdict"]) == (0, "right")
    assert {Path(path).name for path in said["candidate"]["sha256"]} >= {"product.json", "product.co"}
    # the last workgroup is not launched where it is not full
    code, said = judged("RIGHT", grid=["M * N // 64"])
    problem = said["finding"]["problem"]
    assert (code, said["verdict"]) == (1, "wrong") and problem["m"] * problem["n"] % 64
    assert "--device=emulated" in said["finding"]["command"]
    code, said = judged("RACE", "--check", "all", block=[128], dynamic_lds=512)
    assert (code, said["verdict"]) == (1, "wrong") and "races: " in said["finding"]["evidence"]
    # conditions are what is not supported
    only = [{"id": "few", "holds": "M < 24", "text": "M is less than 24"}]
    code, said = judged("RIGHT", conditions=only)
    assert (code, said["verdict"]) == (1, "refused")
    assert "M is less than 24: M = 24" in said["finding"]["evidence"]


#: the same product as a HIP source; GRID is how many workgroups there are
ENTRY = """
#include <cstdio>
#include <hip/hip_runtime.h>
#include "ckprof_candidate.h"
__global__ void product(const _Float16* a, const _Float16* b, _Float16* e, long M, long N, long K)
{
    const long at = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if(at >= M * N) return;
    float sum = 0;
    for(long k = 0; k < K; ++k)
        sum += static_cast<float>(a[at / N * K + k]) * static_cast<float>(b[at % N * K + k]);
    e[at] = static_cast<_Float16>(sum);
}
extern "C" ckprof_status
ckprof_candidate(const ckprof_problem* p, const ckprof_buffers* t, char* reason, size_t size)
{
    const long M = p->values[0], N = p->values[1], K = p->values[2];
    if(M % 8 || p->values[3] != K || p->values[4] != K || p->values[5] != N)
        return snprintf(reason, size, "M %ld is no multiple of 8", M), CKPROF_REJECTED;
    const auto *a = (const _Float16*)ckprof_tensor(t, 0), *b = (const _Float16*)ckprof_tensor(t, 1);
    product<<<GRID, 64>>>(a, b, (_Float16*)ckprof_tensor(t, 2), M, N, K);
    return hipDeviceSynchronize() == hipSuccess ? CKPROF_OK : CKPROF_FAILED;
}
"""


@pytest.mark.amd
@pytest.mark.usefixtures("amd_toolchain")
@pytest.mark.timeout(1500)
def test_a_hip_source_is_judged_on_the_device(ckprof, tmp_path):
    path = tmp_path / "product.hip"
    what = ("judge", "gemm", str(path), *DEVICE, "--arch", "gfx942", "--budget", "6s", "--format", "json")

    def judged(grid, problem=PROBLEM):
        path.write_text(ENTRY.replace("GRID", grid))
        called = ckprof(*what, *problem)
        return called.code, json.loads(called.out or "{}"), called.err

    code, said, _ = judged("(M * N + 63) / 64")
    assert (code, said["verdict"]) == (0, "right") and said["refused"]
    assert {Path(one).name for one in said["candidate"]["sha256"]} >= {"product.hip"}
    code, said, _ = judged("(M * N + 63) / 64", ("--problem", "9x8x8"))
    assert (code, said["verdict"]) == (1, "refused")
    assert "M 9 is no multiple of 8" in said["finding"]["evidence"]
    code, said, _ = judged("M * N / 64")
    assert (code, said["verdict"]) == (1, "wrong")
    assert f"{path} " in said["finding"]["command"] and "--arch=gfx942" in said["finding"]["command"]
    code, said, error = judged("M * unknown")
    assert code == 3 and "product.hip:" in error and "unknown" in error
