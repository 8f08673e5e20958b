"""The chapter on locks and the pre-commit hook, followed word by word."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.e2e.conftest import LISTS, ROOT

pytestmark = pytest.mark.thorough


@pytest.fixture
def repository(tmp_path, ckprof):
    """A folder that has a list and a profiler log, and nothing else."""
    shutil.copyfile(LISTS / "forward" / "tests" / "nhwgc_fp16.conf", tmp_path / "nhwgc_fp16.conf")
    listed = ckprof("list", "instances", "--conf", "nhwgc_fp16.conf", "--format", "json").out
    strings = re.findall(r'"instance string": "(.*)"', listed)
    assert len(strings) > 40
    lines = [
        f"[Valid] Perf: 0.1 ms, 1 TFlops, 2 GB/s, {text} (instance {number})"
        for number, text in enumerate(strings)
    ]
    (tmp_path / "profiler.log").write_text("\n".join(lines))
    return tmp_path


def shell(command, folder):
    """Run a line of a shell, in which ``ckprof`` is the one that is tested."""
    tools = folder / ".tools"
    if not tools.exists():
        tools.mkdir()
        launcher = tools / "ckprof"
        launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ckprof "$@"\n')
        launcher.chmod(0o755)
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        text=True,
        capture_output=True,
        env={
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        },
    )


def commands_of_chapter():
    chapter = (ROOT / "docs" / "parity.md").read_text().partition("\n### In CI\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", chapter, re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert commands[0].startswith("pip install")
    return commands[1:]


def test_the_chapter_can_be_followed(repository):
    commands = commands_of_chapter()
    assert len(commands) == 3
    for command in commands:
        done = shell(command, repository)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert (repository / "parity.lock").is_file()


def test_the_pre_commit_hook_runs(repository):
    hook = dict(
        re.findall(r"^[- ] (\w+): (.*)$", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    )
    assert hook["id"] == "ckprof-parity"
    assert shell(commands_of_chapter()[0], repository).returncode == 0
    assert shell(hook["entry"], repository).returncode == 0
    for name in ("lists/nhwgc_fp16.conf", "parity.lock", "ci/parity.lock", "catalog.json"):
        assert re.search(hook["files"], name)
    assert not re.search(hook["files"], "main.cpp")
