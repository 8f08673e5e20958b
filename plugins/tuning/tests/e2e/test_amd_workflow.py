"""The workflow for a kernel library, step by step, where a commit makes a kernel slower."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from ckprof_plugins.targets.hip.headers import find_headers
from tests.e2e.conftest import ROOT

pytest.importorskip("ckprof_plugins.emulator")
yaml = pytest.importorskip("yaml")

pytestmark = [
    pytest.mark.amd,
    pytest.mark.slow,
    pytest.mark.usefixtures("amd_toolchain"),
    pytest.mark.timeout(1500),
]

PIPELINE = "include/ck_tile/ops/gemm/pipeline/gemm_pipeline_agmem_bgmem_creg_v1.hpp"


@pytest.fixture
def repository(tmp_path):
    """Return a function that runs a command in a repository with a list and headers of two states."""
    tools = tmp_path / ".tools"
    tools.mkdir()
    launcher = tools / "ckprof"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ckprof "$@"\n')
    launcher.chmod(0o755)

    def shell(command, **environment):
        variables = {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": "summary.md",
            **environment,
        }
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", **variables},
        )

    def commit(text):
        identity = "-c user.name=a -c user.email=a@b"
        assert shell(f"git add include *.conf *.txt && git {identity} commit -qm '{text}'").returncode == 0

    shutil.copytree(find_headers().root / "ck_tile", tmp_path / "include" / "ck_tile")
    lists = (ROOT / "conf" / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()
    # of the pipeline whose header is changed
    (tmp_path / "kernels.conf").write_text(lists[24] + "\n")
    (tmp_path / "problems.txt").write_text("convfp16 -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1\n")
    assert shell("git init -q").returncode == 0
    commit("as it was")
    path = tmp_path / PIPELINE
    wait = 'asm volatile("s_waitcnt vmcnt(0)" ::: "memory");'
    path.write_text(path.read_text().replace("block_sync_lds();", f"{wait} block_sync_lds();"))
    commit("loads are waited for where they are issued")
    assert shell("ckprof parity fwd --conf kernels.conf --write parity.lock").returncode == 0
    return shell


def test_the_workflow_names_the_kernel_that_became_slower(repository, tmp_path):
    text = (ROOT / "docs" / "ci" / "kernel-library.yml").read_text()
    workflow = yaml.safe_load(text)
    environment = {name: value for name, value in workflow["env"].items() if "${{" not in value}
    environment["BASE"] = "HEAD~1"
    steps = {step["name"]: step["run"] for step in workflow["jobs"]["kernels"]["steps"] if "name" in step}
    # every value of the top is used
    assert all(re.search(rf"\${name}\b", text) or name in ("CKPROF_CACHE_DIR",) for name in workflow["env"])
    done = {name: repository(command, **environment) for name, command in steps.items()}
    codes = {name: step.returncode for name, step in done.items()}
    said = "\n".join(step.stdout + step.stderr for step in done.values())
    assert codes == {"parity": 0, "support": 0, "predicted times": 1, "summary of predicted times": 0}, said
    assert "::error file=kernels.conf,line=1,title=slower" in done["predicted times"].stdout
    summary = (tmp_path / "summary.md").read_text()
    assert "loads from global memory are waited for earlier" in summary
    assert 'failures="1"' in (tmp_path / "predict.xml").read_text()
