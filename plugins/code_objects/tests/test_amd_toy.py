"""Whole commands with kernels that come as code objects: right, wrong, broken and hanging ones."""

import json
import sqlite3
from pathlib import Path

import pytest

from plugins.code_objects.tests.toy_family import BROKEN, HANGING, LARGE, WRONG

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

PLUGIN = Path(__file__).with_name("toy_family.py")
TARGET = ("--plugin", PLUGIN, "--target", "hip", "--arch", "gfx942")
#: strides, two groups, sizes that are no round numbers; and channels that the kernels do not take
PROBLEM = "conv -n 2 -c 16 -H 9 -W 7 -k 12 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2 -F 1"
ODD = "conv -n 1 -c 15 -H 5 -W 5 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1"
BLOCKS = (64, 256, BROKEN, WRONG, HANGING, LARGE)


@pytest.fixture(scope="module")
def conf(tmp_path_factory):
    path = tmp_path_factory.mktemp("toy") / "toy_nhwgc.conf"
    path.write_text("".join(f"ToyForward<fp16,{block}>\n" for block in BLOCKS))
    return path


def run(ckprof, *words):
    return ckprof("run", "fwd", *TARGET, "--max-time", "0", "--format", "json", *words, timeout=1200)


def test_each_kernel_is_judged_by_itself(ckprof, conf, tmp_path):
    device = ("--device", "emulated:budget=3000000")
    called = run(
        ckprof, "--conf", conf, *device, "--problem", PROBLEM, "--problem", ODD, "--store", tmp_path / "s.db"
    )
    assert called.code == 1
    first, second = json.loads(called.out)["problems"]
    outcomes = {BLOCKS[one["instance"]]: one for one in first["outcomes"]}
    statuses = {block: one["status"] for block, one in outcomes.items()}
    assert statuses == {
        64: "ok",
        256: "ok",
        BROKEN: "compile_error",
        WRONG: "wrong_result",
        HANGING: "run_error",
        LARGE: "run_error",
    }
    refused = (
        "LDS cannot be had: invalid argument: 98304 bytes of dynamic LDS; convolution can have up to 65536"
    )
    assert refused in outcomes[LARGE]["reason"]
    assert "this kernel does not compile" in outcomes[BROKEN]["reason"]
    assert "no end after 3145728 instructions of a wave" in outcomes[HANGING]["reason"]
    # the last column alone is wrong
    assert "[n=0,h=0,w=3,g=0,k=0]" in outcomes[WRONG]["reason"]
    refused = {BLOCKS[one["instance"]]: one for one in second["outcomes"]}
    assert refused[64]["status"] == "unsupported"
    assert "C is a multiple of 2: C = 15" in refused[64]["reason"]
    with sqlite3.connect(tmp_path / "s.db") as database:
        assert "ToyForward<fp16,256>" in "\n".join(database.iterdump())
    # nothing is compiled again
    called = run(ckprof, "--conf", conf, "--instance", "0,1", *device, "--problem", PROBLEM).ok()
    assert "0 compiled, 2 from the cache" in called.err


@pytest.mark.slow  # what a launch with so much does is in the emulator's tests, what asks for it above
def test_more_than_64_kib_of_lds_where_the_device_has_it(ckprof, conf):
    newer = ("--plugin", PLUGIN, "--target", "hip", "--arch", "gfx950", "--device", "emulated")
    called = ckprof(
        *("run", "fwd", "--conf", conf, "--instance", BLOCKS.index(LARGE), *newer, "--problem", PROBLEM),
        *("--max-time", "0", "--format", "json"),
        timeout=1200,
    ).ok()
    (outcome,) = json.loads(called.out)["problems"][0]["outcomes"]
    assert outcome["status"] == "ok"


def test_machine_code_is_inspected_and_timed_without_running(ckprof, conf):
    kernels = ("fwd", "--conf", conf, "--instance", "0", *TARGET)
    seen = json.loads(ckprof("inspect", *kernels, "--format", "json", timeout=1200).ok().out)
    (kernel,) = seen["inspection"]["kernels"]
    (function,) = kernel["variants"]
    assert function["symbol"] == "convolution"
    assert function["workgroup_lanes"] == 1024
    assert function["loads"] == {"16": 2, "32": 1}
    assert function["argument_bytes"] == 144
    predicted = ckprof("predict", *kernels, "--problem", PROBLEM, "--format", "json", timeout=1200).ok()
    assert "predicted for toy_fwd_fp16_64" in predicted.err


def test_a_description_that_does_not_fit_is_an_error_of_input(ckprof, conf, tmp_path):
    plugin = tmp_path / "changed.py"
    text = PLUGIN.read_text().replace(
        'Path(__file__).with_name("toy_kernels.hip")', f"Path({str(PLUGIN.with_name('toy_kernels.hip'))!r})"
    )
    assert text.count('Scalar("u8", 1)') == 1
    plugin.write_text(text.replace('Scalar("u8", 1)', 'Scalar("i32", 1)'))
    ckprof(
        "run",
        "fwd",
        "--conf",
        conf,
        "--instance",
        "0",
        "--plugin",
        plugin,
        *TARGET[2:],
        "--device",
        "emulated",
    ).fails_with(3, "argument 4 of convolution has 4 bytes in its description, and 1 in its code")
    ckprof("run", "fwd", "--conf", conf, "--instance", "0", "--plugin", PLUGIN).fails_with(
        2, "kernels of toy are code objects for AMD GPUs: they need --target hip, not cpu"
    )


def test_the_family_keeps_its_contract_where_it_can_run(ckprof, tmp_path):
    """On the CPU its kernels cannot be tried; the user says which architecture they are rendered for."""
    path = tmp_path / "toy.conf"
    path.write_text(f"ToyForward<fp16,64>\nToyForward<fp16,{BROKEN}>\n")
    words = ("--plugin", PLUGIN, "plugins", "--check", PLUGIN, "--conf", path, "--format", "json")
    on_cpu = ckprof(*words)
    assert on_cpu.code == 1 and "--device emulated tries them without a GPU" in on_cpu.out
    emulated = ckprof(*words, *TARGET[2:], "--device", "emulated", timeout=1200)
    assert emulated.code == 0 and {one["result"] for one in json.loads(emulated.out)} == {"passed"}
