"""Whole commands on the emulated device, with a kernel from real CK Tile headers."""

import json
import sys

import pytest

from plugins.emulator.tests.e2e.conftest import PROBLEM, TARGET

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]


def test_a_run_a_call_and_a_launcher(ckprof, catalog, tmp_path):
    run = ("run", "fwd", "--conf", catalog, *TARGET, "--problem", PROBLEM, "--max-time", "0")
    called = ckprof(*run, "--device", "emulated:seed=5", "--format", "json", timeout=1200).ok()
    assert "times are those that this machine takes for emulated gfx942" in called.err
    (outcome,) = json.loads(called.out)["problems"][0]["outcomes"]
    assert outcome["status"] == "ok"
    built = ckprof("build", "fwd", "--conf", catalog, *TARGET, "--device", "emulated", timeout=1200).ok()
    library = built.out.strip()
    tool = tmp_path / "tool.py"
    tool.write_text("import subprocess, sys\nprint('a tool')\nsys.exit(subprocess.call(sys.argv[1:]))\n")
    launcher = ("--launcher", f"{sys.executable} {tool}")
    for more in ((), ("--device", "emulated", "--check", "bounds"), launcher):
        called = ckprof("call", "fwd", library, "--problem", PROBLEM, *more, timeout=1200).ok()
        answer = json.loads(called.out)
        assert answer["verified"] and answer["device"].startswith("emulated gfx942 (gfx942")
    ckprof(*run, "--device", "emulated", *launcher, "--store", tmp_path / "s.db", timeout=1200).fails_with(
        2, "what runs under another tool is not stored"
    )
