"""Shared by all benchmarks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def bench_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that starts empty and is shared by the benchmarks of a session."""
    return tmp_path_factory.mktemp("cache")


def ckprof_json(cache: Path, *arguments: str) -> dict[str, Any]:
    """Run ``ckprof run`` with these arguments and return its JSON report."""
    done = subprocess.run(
        [sys.executable, "-m", "ckprof", "run", *arguments, "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CKPROF_CACHE_DIR": str(cache)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
