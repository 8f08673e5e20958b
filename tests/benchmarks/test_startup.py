"""How long ``ckprof --help`` and ``--version`` take. Goal: under 150 ms."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_startup(benchmark: Any, option: str) -> None:
    def call() -> None:
        subprocess.run([sys.executable, "-m", "ckprof", option], check=True, stdout=subprocess.DEVNULL)

    benchmark.pedantic(call, rounds=10, warmup_rounds=1)
