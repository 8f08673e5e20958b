"""A direction of a plugin file is computed by a built-in family, which asks it for its C++ names."""

import json

import pytest

PLUGIN = '''
"""Forward convolution under another name, with names of its own in the C++ text."""

from dataclasses import replace

from ckprof import hookimpl
from ckprof_plugins.directions.fwd import Forward


class Inference(Forward):
    id = "inference"
    label = "forward, for a test"
    aliases = ("infer",)
    miopen_flag = 64
    dispatcher_form = None
    positional_form = replace(Forward.positional_form, operations=("my_inference",))
    operation = replace(
        Forward.operation,
        variant="inference",
        name_constant="MY_INFERENCE_NAME",
        selected_launcher="SelectedInferenceLauncher",
    )


@hookimpl
def ckprof_register(registry):
    registry.add(Inference())
'''
KERNEL = ("--instance-spec", "tile=64x64x32,waves=2x2x1,mma=16x16x16,gemm_pipeline=compv3,vectors=4,4,4")
PROBLEM = "conv -n 1 -c 8 -H 6 -W 6 -k 8 -y 3 -x 3 -p 1 -q 1"


@pytest.fixture
def call(ckprof_within, tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "ckprof.toml").write_text('plugins = ["mine.py"]\n')
    return ckprof_within


def test_families_of_its_kernel_serve_it(call):
    code, out, _ = call("list", "pipelines")
    assert code == 0
    directions = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    for family in ("implicit_gemm", "depthwise"):
        assert "inference" in directions[family]
    for family in ("two_stage", "stream_k"):
        assert "inference" not in directions[family]


def test_rules_are_those_of_its_kernel(call):
    code, out, _ = call(
        "list", "instances", "--direction", "inference", *KERNEL, "--instance-spec", "two_stage=true", "--why"
    )
    assert code == 0
    assert "no kernel can be written for direction inference, only for bwd_weight" in out
    code, out, _ = call(
        "list", "instances", "--direction", "inference", *KERNEL, "--instance-spec", "tile=64x24x32", "--why"
    )
    assert code == 0 and "a inference kernel needs a multiple of 16" in out


@pytest.mark.compiler
def test_a_kernel_is_built_verified_and_timed(call, tmp_path):
    code, out, err = call(
        *("run", "inference", *KERNEL, "--problem", PROBLEM, "--json", "results.json", "--min-samples", "1"),
        *("--build-dir", "build"),
    )
    assert code == 0, out + err
    results = json.loads((tmp_path / "results.json").read_text())
    assert [row["status"] for row in results["problems"][0]["outcomes"]] == ["ok"]
    (instance,) = results["instances"]
    assert instance["name"].startswith("grouped_conv_inference_fp16")
    (header,) = tmp_path.glob("build/**/kernels/*.hpp")
    assert "MY_INFERENCE_NAME" in header.read_text() and "CONV_FWD_KERNEL_NAME" not in header.read_text()
