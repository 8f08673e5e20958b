"""How long commands take that do next to nothing. Goals: help under 150 ms, short commands under 300 ms."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    "command", ["--help", "--version", "list directions", "convert forward/tests/nhwgc_fp16 -o catalog.json"]
)
def test_startup(benchmark: Any, command: str, tmp_path: Path) -> None:
    def call() -> None:
        subprocess.run(
            [sys.executable, "-m", "ckprof", *command.split()],
            check=True,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    benchmark.pedantic(call, rounds=10, warmup_rounds=1)
