"""Shared by all benchmarks."""

import json
import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def bench_cache(tmp_path_factory):
    """A cache that starts empty and is shared by the benchmarks of a session."""
    return tmp_path_factory.mktemp("cache")


def ckprof_json(cache, *arguments):
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
