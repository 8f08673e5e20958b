"""An upgrade of CK Tile's headers, July to November 2025, with real compilers: registers that change.

Needs a clang for AMD GPUs, the headers of July in ``$CK_ROOT`` (``python -m
ckprof_plugins.targets.hip.fetch``)
and those of November in ``$CK_BUILDER_ROOT`` (``... fetch 2025-11``).
"""

import json
import os
from pathlib import Path

import pytest

from ckprof.errors import ExitCode

pytestmark = [pytest.mark.amd, pytest.mark.slow, pytest.mark.timeout(3000)]

#: a tile of 64x64x32, the cheapest to compile
CONF = "backward_weight/profiler/nhwgc_fp16"
INSTANCE = "47"


def has_level(root, of_november):
    kernels = Path(root, "include/ck_tile/ops/grouped_convolution")
    kernels = kernels if kernels.is_dir() else Path(root, "ck_tile/ops/grouped_convolution")
    return kernels.is_dir() and Path(root, "library").is_dir() is of_november


def test_registers_of_one_kernel_from_july_to_november(ckprof, tmp_path):
    july, november = (os.environ.get(name, "") for name in ("CK_ROOT", "CK_BUILDER_ROOT"))
    if not has_level(july, False) or not has_level(november, True):
        pytest.skip("CK_ROOT has no headers of July, or CK_BUILDER_ROOT no tree of November")
    done = ckprof(
        *("upgrade", "bwd_weight", "--old", july, "--new", november, "--conf", CONF, "--instance", INSTANCE),
        *("--target", "hip", "--arch", "gfx942", "--format", "json"),
    )
    assert done.code == ExitCode.FAILED, done.err
    found = json.loads(done.out)
    figures = {one["figure"]: (one["old"], one["new"]) for one in found["code"]}
    # what the compilers' own reports say is inspected elsewhere; here both sides have been compiled
    old, new = figures["vgprs"]
    assert 0 < new < old <= 512
    assert found["counts"]["kernels"] == 0
    assert found["judged"] == ["1 kernel built for both"]
    # July's package has CK Tile alone
    (note,) = found["notes"]
    assert "no lists" in note
    same = ckprof(
        *("upgrade", "bwd_weight", "--old", july, "--new", july, "--conf", CONF, "--instance", INSTANCE),
        *("--target", "hip", "--arch", "gfx942"),
    ).ok()
    assert "nothing is affected" in same.out
