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
PROBLEM = ("--problem", "24x40x32")


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
        ({"grid": 3}, b"", DEVICE, 3, "product.json: no description of a launch: Expected `array`"),
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
        what = ("judge", "gemm", str(path), *PROBLEM, *DEVICE, "--budget", "20s", "--format", "json")
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
