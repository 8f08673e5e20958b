from __future__ import annotations

import json
from hashlib import sha256

import pytest

RIGHT = "import numpy as np\ndef candidate(a, b):\n    return np.matmul(a, b.swapaxes(-1, -2))\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("gemm",), 2, "no FILE given; --new FILE writes a template"),
        (("gem", "a.py"), 2, "'gem'"),
        (("gemm", "none.py"), 3, "none.py: no such file, expected a candidate"),
        (("gemm", "a.py", "--new", "b.py"), 2, "--new writes a file: name no other one"),
        (("gemm", "a.py", "--problem", "8x8"), 3, "problem: expected gemm"),
        (("gemm", "a.py", "--dtype", "fp12"), 2, "fp12"),
        (("gemm", "a.py", "--layout", "nhwgc"), 2, "--layout nhwgc: expected rcr"),
        (("gemm", "a.py", "--store", "none.db"), 3, "none.db: no such file, expected a result store"),
        (("gemm", "a.py", "--fail-on", "slow"), 2, "expected slower[=N%], incomplete or none, got 'slow'"),
        (("gemm", "a.py", "--fail-on", "incomplete=5%"), 2, "expected slower[=N%], incomplete"),
        (("gemm", "a.py", "--format", "csv"), 2, "unknown judge format 'csv'"),
        (("gemm", "a.py", "--baseline", "none"), 2, "'none'"),
        (("fwd", "a.py", "--problem", "1x1x1"), 3, "problem: expected a MIOpenDriver"),
    ],
)
def test_wrong_calls(ckprof, tmp_path, arguments, code, message):
    (tmp_path / "a.py").write_text(RIGHT)
    called = ckprof("judge", *arguments)
    assert (called.code, called.out) == (code, "")
    assert message in called.err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def other(a, b): pass\n", "it has no function candidate; it has other"),
        ("import none_such\n", "No module named 'none_such' (.*a.py:1)"),
        ("import os\nos._exit(3)\n", "its process exited with status 3"),
        ("def candidate(a, y): pass\n", "its parameter 'y' is not among a, b, e, problem, split_k"),
        ("ARRAYS = 'lists'\ndef candidate(a): pass\n", "ARRAYS is 'lists', expected 'numpy' or 'torch'"),
    ],
    ids=["function", "import", "exit", "parameter", "arrays"],
)
def test_what_cannot_be_loaded(ckprof, tmp_path, text, message):
    (tmp_path / "a.py").write_text(text)
    called = ckprof("judge", "gemm", "a.py", "--problem", "8x8x8", "-o", "json=r.json")
    assert (called.code, called.out) == (3, "")
    called.fails_with(3, "a.py: cannot be loaded: ", *message.split(".*"))
    assert not (tmp_path / "r.json").exists()


@pytest.mark.thorough
def test_what_was_loaded_once_is_loaded_again_after_the_budget(ckprof, tmp_path):
    (tmp_path / "a.py").write_text(f"import time\ntime.sleep(1.5)\n{RIGHT}")
    call = ("judge", "gemm", "a.py", "--problem", "8x8x8", "--dtype", "fp32", "--budget", "3s")
    said = json.loads(ckprof(*call, "--format", "json").ok().out)
    assert said["verdict"] == "right" and said["complete"] is False and said["times"][0]["launches"] >= 5


@pytest.mark.torch
@pytest.mark.thorough
def test_tensors_of_torch_beside_the_vendors_library(ckprof, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "a.py").write_text(
        "import torch\nARRAYS = 'torch'\ndef candidate(a, b):\n"
        "    return torch.matmul(a.float(), b.float().transpose(-1, -2)).to(a.dtype)\n"
    )
    for dtype in ("fp32", "fp16", "bf16"):
        how = ("--problem", "24x40x64", "--dtype", dtype, "--budget", "20s", "--format", "json")
        said = json.loads(ckprof("judge", "gemm", "a.py", *how, "--baseline", "torch").ok().out)
        assert said["verdict"] == "right" and said["comparisons"][0]["name"] == "baseline torch"


@pytest.mark.thorough
def test_what_a_candidate_imports_from_its_folder_is_judged_as_well(ckprof, tmp_path):
    (tmp_path / "helper.py").write_text(RIGHT)
    (tmp_path / "a.py").write_text("import helper\ncandidate = helper.candidate\n")
    call = ("judge", "gemm", "a.py", "--problem", "8x8x8", "--dtype", "fp32", "--budget", "1s")
    called = ckprof(*call, "--fail-on", "incomplete", "--format", "json")
    said = json.loads(called.out)
    assert (called.code, said["verdict"], said["shortcomings"]) == (1, "right", ["incomplete"])
    files = {tmp_path / name for name in ("a.py", "helper.py")}
    assert {tmp_path / path for path in said["candidate"]["sha256"]} == files
    assert {*said["candidate"]["sha256"].values()} == {sha256(one.read_bytes()).hexdigest() for one in files}


@pytest.mark.thorough
def test_a_verdict_in_every_format(ckprof, tmp_path):
    (tmp_path / "a.py").write_text(RIGHT.replace("return ", "return 0.5 * "))
    call = ("judge", "gemm", "a.py", "--problem", "24x40x64", "--dtype", "fp32", "--seed", "5")
    called = ckprof(*call, "-o", "json=r.json", "-o", "md=r.md")
    assert called.code == 1
    assert "a.py:candidate: wrong" in called.out
    said = json.loads((tmp_path / "r.json").read_text())
    finding = said["finding"]
    assert (said["schema"], said["verdict"], said["judge"]["seed"]) == ("ckprof.judge", "wrong", 5)
    sizes = finding["problem"]
    assert (sizes["m"], sizes["n"], sizes["k"]) == (1, 1, 1) and finding["found_on"]["problem"]["k"] == 64
    assert finding["command"] in called.out and finding["command"] in (tmp_path / "r.md").read_text()
    assert {*said["candidate"]["sha256"]} == {"a.py"}
