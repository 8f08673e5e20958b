"""How long commands take that do next to nothing. Goals: help under 150 ms, short commands under 300 ms."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "command", ["--help", "--version", "list directions", "convert forward/tests/nhwgc_fp16 -o catalog.json"]
)
def test_startup(benchmark, command, tmp_path):
    def call():
        subprocess.run(
            [sys.executable, "-m", "ckprof", *command.split()],
            check=True,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    benchmark.pedantic(call, rounds=10, warmup_rounds=1)
