"""A library with four forward kernels: 1D and 2D, fp32 and bf16."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ckprof.cli.main import main

HAND = (
    *("--instance-spec", "tile=32x32x16,waves=1x1x1,mma=16x16x16,gemm_pipeline=mem,vectors=1,1,1"),
    *("--arch", "gfx942"),
)


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Keep the tests' objects out of the user's cache, but let the tests share them."""
    if "CKPROF_CACHE_DIR" not in os.environ:
        os.environ["CKPROF_CACHE_DIR"] = str(tmp_path_factory.getbasetemp().parent / "ckprof-cache")


@pytest.fixture(scope="session")
def fwd_library(tmp_path_factory, cache):
    """Return the path of the library."""
    if not (os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("no C++ compiler found")
    root = tmp_path_factory.mktemp("fwd")
    assert (
        main(["build", "fwd", *HAND, "--ndim", "1,2", "--dtype", "fp32,bf16", "--build-dir", str(root)]) == 0
    )
    return Path(root, "libckprof_conv_fwd.so")
