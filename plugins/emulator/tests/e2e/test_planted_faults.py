"""Faults planted in copies of CK Tile's headers are found on the emulated device, at the right instruction.

Beside ``test_emulated_faults.py``, which leaves instructions out of a compiled kernel: here the source is
wrong, and what the compiler makes of it is run. Takes a quarter of an hour: only ``-m slow`` runs it. In
``$CK_BUILDER_ROOT`` it needs the tree of ``python -m ckprof_plugins.targets.hip.fetch 2025-11``.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest

from plugins.emulator.tests.e2e.conftest import changed_headers, outcome_of
from tests.e2e.catalogs import write_catalog

ROOT = os.environ.get("CK_BUILDER_ROOT", "")
pytestmark = [
    pytest.mark.amd,
    pytest.mark.slow,
    pytest.mark.usefixtures("amd_toolchain"),
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not ROOT, reason="no headers of November 2025 in $CK_BUILDER_ROOT"),
]

PIPELINES = "ops/gemm/pipeline/gemm_pipeline"
V1 = f"{PIPELINES}_agmem_bgmem_creg_v1.hpp"
V3 = f"{PIPELINES}_ag_bg_cr_comp_v3.hpp"
V4 = f"{PIPELINES}_ag_bg_cr_comp_v4.hpp"
MEM = f"{PIPELINES}_ag_bg_cr_mem.hpp"
BASE = f"{PIPELINES}_ag_bg_cr_base.hpp"
EPILOGUE = "ops/epilogue/cshuffle_epilogue.hpp"
FORWARD = "ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp"
TO_GEMM = "ops/grouped_convolution/utils/transform_conv_fwd_to_gemm.hpp"
ARCHITECTURE = "core/arch/arch.hpp"

BARRIER = "block_sync_lds();"
CLEARED = "tile_elementwise_inout([](auto& c) { c = 0; }, c_block_tile);"
#: registers that nothing has written, whatever the compiler thinks of it
NOT_CLEARED = 'tile_elementwise_inout([](auto& c) { asm volatile("" : "=v"(c)); }, c_block_tile);'
START_OF_B = "static_cast<char*>(p_smem) + a_lds_block_space_size_aligned"
TAILS_OF_C = """            const auto& c_tensor_view = views.at(I3);
            return pad_tensor_view(c_tensor_view,
                                   make_tuple(number<TilePartitioner::MPerBlock>{},
                                              number<TilePartitioner::NPerBlock>{}),
                                   sequence<true, true>{});"""
COMPV1 = {"pipeline": "compv1"}
COMPV3 = {"pipeline": "compv3"}
COMPV4 = {"pipeline": "compv4", "double_smem_buffer": True}
MEMORY = {"pipeline": "mem"}

#: three steps of the main loop at least, tails in all dimensions, two groups
PROBLEM = "convfp16 -n 2 -c 80 -H 9 -W 7 -k 144 -y 3 -x 3 -p 1 -q 1 -g 2 -F 1"
#: two steps, for the other end of compv3's loop
TWO = "convfp16 -n 2 -c 64 -H 9 -W 7 -k 72 -y 1 -x 1 -F 1"


class Fault(NamedTuple):
    """A change of a header, and what has to be said of it."""

    kernel: dict[str, object]
    header: str
    right: str
    wrong: str
    #: which of the places where ``right`` stands, from 0; ``None`` for all
    place: int | None
    #: check that finds it; empty where only the result can show it
    check: str
    #: beginning of the instruction that has to be named
    instruction: str = ""
    problem: str = PROBLEM


def barrier(kernel, header, place, instruction, problem=PROBLEM):
    return Fault(kernel, header, BARRIER, "", place, "races", instruction, problem)


FAULTS = {
    "compv1-before-product": barrier(COMPV1, V1, 0, "ds_read"),
    "compv1-after-product": barrier(COMPV1, V1, 1, "ds_"),
    "compv1-last-product": barrier(COMPV1, V1, 2, "ds_read"),
    "compv3-first-read": barrier(COMPV3, V3, 0, "ds_read"),
    "compv3-before-write": barrier(COMPV3, V3, 1, "ds_"),
    "compv3-after-write": barrier(COMPV3, V3, 2, "ds_read"),
    "compv3-tail-before-write": barrier(COMPV3, V3, 3, "ds_", TWO),
    "compv3-tail-after-write": barrier(COMPV3, V3, 4, "ds_read", TWO),
    "mem-before-read": barrier(MEMORY, MEM, 0, "ds_read"),
    "mem-before-write": barrier(MEMORY, MEM, 1, "ds_"),
    "compv4-first-read": barrier(COMPV4, V4, 0, "ds_"),
    "compv4-ping": barrier(COMPV4, V4, 1, "ds_"),
    "epilogue-before-write": barrier(COMPV3, EPILOGUE, 0, "ds_"),
    "epilogue-after-write": barrier(COMPV3, EPILOGUE, 1, "ds_"),
    "wait-before-barriers": Fault(
        COMPV3, ARCHITECTURE, "s_waitcnt<vmcnt, expcnt, lgkmcnt>();", "", 0, "races", "ds_"
    ),
    "lds-of-b-begins-too-early": Fault(COMPV3, BASE, START_OF_B, f"{START_OF_B} - 16", 0, "races", "ds_"),
    "lds-too-small": Fault(
        COMPV1, FORWARD, "smem_ptr_0[GetSmemSize()]", "smem_ptr_0[GetSmemSize() - 64]", 0, "bounds", "ds_"
    ),
    "compv3-not-cleared": Fault(COMPV3, V3, CLEARED, NOT_CLEARED, 0, "uninitialised", "v_mfma"),
    # what its registers held before has been written, so that no check can tell it from a result
    "compv1-not-cleared": Fault(COMPV1, V1, CLEARED, NOT_CLEARED, 0, ""),
    "tails-of-result": Fault(
        COMPV3,
        FORWARD,
        TAILS_OF_C,
        TAILS_OF_C.replace("true, true", "false, false"),
        0,
        "races",
        "buffer_store",
    ),
    "left-pad": Fault(
        COMPV3,
        TO_GEMM,
        "make_pad_transform(Wi_, InLeftPadW_, InRightPadW_)",
        "make_pad_transform(Wi_, InLeftPadW_ - 1, InRightPadW_ + 1)",
        None,
        "",
    ),
}


def replaced(text, fault):
    """Return a header with the fault in it."""
    if fault.place is None:
        assert fault.right in text
        return text.replace(fault.right, fault.wrong)
    before = text.split(fault.right)
    assert len(before) > fault.place + 1, f"{fault.header} is not what this test knows"
    return fault.wrong.join(
        (fault.right.join(before[: fault.place + 1]), fault.right.join(before[fault.place + 1 :]))
    )


@pytest.fixture
def outcome(ckprof, tmp_path):
    """Run a kernel from headers with a fault, and return its status and reason."""

    def run(fault):
        changes = {fault.header: lambda text: replaced(text, fault)}
        headers = changed_headers(ROOT, tmp_path / "ck", changes)
        catalog = write_catalog(tmp_path / "one.json", "forward", [fault.kernel])
        called = ckprof(
            *("run", "fwd", "--conf", catalog, "--target", "hip", "--arch", "gfx942", "--ck-root", headers),
            *("--device", "emulated:seed=1", "--check", "all", "--problem", fault.problem),
            *("--format", "json", "--max-time", "0", "--jobs", "1"),
            timeout=1700,
        )
        return outcome_of(called)

    return run


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_source_is_found(outcome, name):
    fault = FAULTS[name]
    status, reason = outcome(fault)
    if fault.check:
        assert status == "run_error", reason
        assert f"{fault.check}: " in reason
        assert fault.instruction in reason
    else:
        assert status == "wrong_result", reason
