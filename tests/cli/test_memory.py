"""A limited address space: commands say what they need, in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ckprof.store.writer import StoreWriter
from tests.store.samples import make_attempt


@pytest.mark.parametrize("kilobytes", [60_000, 100_000, 150_000])
def test_a_small_address_space_is_said(tmp_path, kilobytes):
    with StoreWriter(tmp_path / "results.db") as writer:
        writer.append(make_attempt(0, 0))
    words = [sys.executable, "-m", "ckprof", "results", "show", str(tmp_path / "results.db")]
    done = subprocess.run(
        ["bash", "-c", f'ulimit -v {kilobytes}; "$@"', "bash", *words], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith(
        f"ckprof: out of memory: the address space is limited to {kilobytes >> 10} MiB"
    )
    assert done.stderr.count("\n") == 1
