"""CK Tile's pipeline that loads to LDS without registers, on the emulated gfx950: as it is, and with faults.

ckprof makes no kernels of it from the headers of November 2025: those of compv4, which has two LDS buffers as
well, are compiled from a copy in which its name is the other's. Takes minutes: only ``-m slow`` runs it. In
``$CK_BUILDER_ROOT`` it needs the tree of ``python -m ckprof_plugins.targets.hip.fetch 2025-11``.
"""

from __future__ import annotations

import os
import re
import shutil

import pytest

from plugins.emulator.tests.e2e.conftest import changed_headers, outcome_of
from tests.e2e.catalogs import PRODUCT_TILE, write_catalog

ROOT = os.environ.get("CK_BUILDER_ROOT", "")
#: clang 19 does not know gfx950
COMPILER = "clang++-22"
pytestmark = [
    pytest.mark.amd,
    pytest.mark.slow,
    pytest.mark.usefixtures("amd_toolchain"),
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not ROOT, reason="no headers of November 2025 in $CK_BUILDER_ROOT"),
    pytest.mark.skipif(
        not (shutil.which(COMPILER) and shutil.which("clang-offload-bundler-22")), reason=f"no {COMPILER}"
    ),
]

#: included by every kernel, before it names its pipeline
GEMM = "ops/gemm.hpp"
PIPELINE = "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_async.hpp"
RENAMED = "".join(
    f"#define {base}GemmPipelineAgBgCrCompV4 {base}GemmPipelineAgBgCrCompAsync\n" for base in ("", "Base")
)
ARRIVED, BARRIER = "block_sync_lds_direct_load();", "block_sync_lds();"
#: five blocks along K: one pass of the loop, three blocks after it
LOOP = "256x128x320"


@pytest.fixture
def reason(ckprof, tmp_path):
    """Run a product after a call in the pipeline has become another; return what failed."""

    def run(problem, right="", wrong="", number=0):
        changed = {GEMM: lambda text: text + RENAMED}
        if right:
            changed[PIPELINE] = lambda text: wrong.join(
                map(right.join, (text.split(right)[: number + 1], text.split(right)[number + 1 :]))
            )
        headers = changed_headers(ROOT, tmp_path / "ck", changed)
        catalog = write_catalog(
            tmp_path / "one.json", "gemm", [{"pipeline": "compv4"}], usual=PRODUCT_TILE, layout="rcr"
        )
        called = ckprof(
            *("run", "gemm", "--conf", catalog, "--target", "hip", "--arch", "gfx950", "--ck-root", headers),
            *("--device", "emulated:seed=1", "--check", "all", "--problem", problem, "--no-second-problem"),
            *("--format", "json", "--max-time", "0", "--jobs", "1"),
            env={"HIPCXX": COMPILER},
            timeout=1700,
        )
        status, why = outcome_of(called)
        assert status in ("ok", "run_error"), (status, why)
        return why

    return run


def test_a_right_loop_has_no_finding(reason):
    """Beside that it is noisy: the time is that of a CPU."""
    assert "async" not in reason(LOOP)


def test_loads_that_nobody_needs_are_still_on_their_way_when_the_epilogue_writes(reason):
    """The fault of November's headers: four blocks along K, and a fifth one is loaded."""
    found = reason("256x128x256")
    assert re.search(
        r"async: writes byte \d+ of LDS, whose load by wave \d \(buffer_load_dwordx4 .*: ds_write", found
    )


@pytest.mark.parametrize(
    ("right", "wrong", "number", "finding"),
    [
        (
            ARRIVED,
            BARRIER,
            0,
            r"reads byte .* whose load by wave \d \(buffer_load_dwordx4 .*s_waitcnt vmcnt\(",
        ),
        (ARRIVED, "", 1, r"reads byte .* whose load by .*\(buffer_load_dwordx4 .*s_waitcnt vmcnt\("),
        (
            ARRIVED,
            BARRIER,
            2,
            r"reads byte .* whose load by wave \d \(buffer_load_dwordx4 .*s_waitcnt vmcnt\(",
        ),
        (BARRIER, "", 1, r"(loads to|reads) byte .*buffer_load_dwordx4 .*ds_read"),
    ],
)
def test_faults_of_the_pipeline_are_found_with_both_places(reason, right, wrong, number, finding):
    assert re.search(f"async: {finding}", reason(LOOP, right, wrong, number))
