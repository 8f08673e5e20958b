"""Faults planted in a few instructions are found, with the right one named; without them nothing is found."""

import numpy as np
import pytest

from plugins.emulator.tests.device.wave import State, execute_group

pytestmark = [pytest.mark.amd]

#: what registers hold that nothing has set
UNDEFINED = 0xFBA5E11D


def group(waves, lds_bytes=1024):
    """Return waves of which v0 is the number of the work-item; everything else is undefined."""
    states = []
    for wave in range(waves):
        state = State()
        state.vector[:] = UNDEFINED
        state.vector[0] = np.arange(64) + 64 * wave
        state.scalar[:104] = UNDEFINED
        states.append(state)
    states[0].lds = np.zeros(lds_bytes, np.uint8)
    return states


def found(text, checks, waves=2, **options):
    return execute_group(text, group(waves), checks=checks, **options)


EXCHANGE = """
v_lshlrev_b32 v1, 2, v0
v_mov_b32 v2, v0
ds_write_b32 v1, v2
{wait}
{barrier}
v_xor_b32 v3, 0x100, v1
ds_read_b32 v4, v3
s_waitcnt lgkmcnt(0)
v_add_u32 v5, v4, v4
"""
ALL = "races,uninitialised,waits,bounds,barriers"


def test_exchange_through_lds_is_clean():
    assert found(EXCHANGE.format(wait="s_waitcnt lgkmcnt(0)", barrier="s_barrier"), ALL) == []


def test_missing_barrier_is_a_race():
    findings = found(EXCHANGE.format(wait="s_waitcnt lgkmcnt(0)", barrier="s_nop 0"), "races")
    assert any("ds_read_b32" in line and "wave 1" in line for line in findings)


def test_barrier_without_a_wait_orders_nothing():
    findings = found(EXCHANGE.format(wait="s_nop 0", barrier="s_barrier"), "races")
    assert findings
    assert all(line.startswith("races: ") for line in findings)


def test_register_is_used_before_its_load_arrives():
    text = EXCHANGE.format(wait="s_waitcnt lgkmcnt(0)", barrier="s_barrier")
    findings = found(text.replace("lgkmcnt(0)\nv_add", "lgkmcnt(1)\nv_add"), "waits")
    assert len(findings) == 1
    assert "v4 is read before s_waitcnt covers its load (ds_read_b32" in findings[0]
    assert "v_add_u32 v5, v4, v4" in findings[0]


def test_load_into_a_register_that_is_overwritten():
    findings = found(
        "v_mov_b32 v1, 0\nds_read_b32 v4, v1\nv_mov_b32 v4, 1\ns_waitcnt lgkmcnt(0)", "waits", waves=1
    )
    assert len(findings) == 1
    assert "v4 is overwritten" in findings[0]


@pytest.mark.parametrize(
    ("text", "instruction"),
    [
        ("v_add_u32 v2, v1, v0\nv_cmp_eq_u32 vcc, v2, v0\ns_cbranch_vccz 0", "s_cbranch_vccz"),
        ("s_cmp_eq_u32 s5, 0\ns_cbranch_scc1 0", "s_cbranch_scc1"),
        (
            "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\nv_mfma_f32_4x4x4_16b_f16 v[4:7], v[2:3], v[2:3], v[8:11]",
            "v_mfma",
        ),
        ("v_mov_b32 v2, 0\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\nds_read_b32 v4, v3", "ds_read_b32 v4"),
        ("v_cmp_eq_u32 vcc, v7, v0\ns_and_saveexec_b64 s[0:1], vcc", "s_and_saveexec"),
    ],
)
def test_undefined_values_are_found_where_they_decide(text, instruction):
    findings = found(text, "uninitialised", waves=1)
    assert findings
    assert all(instruction in line for line in findings)


@pytest.mark.parametrize(
    "text",
    [
        # the undefined half is shifted or masked away, or never chosen
        "v_lshl_or_b32 v2, v1, 16, v0\nv_lshlrev_b32 v2, 16, v0\nv_and_b32 v3, 0, v1\nds_read_b32 v4, v3",
        "s_mov_b64 vcc, 0\nv_cndmask_b32 v3, 0, v1, vcc\nds_read_b32 v4, v3",
        "s_mov_b32 s0, 0x0c0c0c00\nv_perm_b32 v3, v1, v0, s0\nv_lshlrev_b32 v3, 2, v3\nds_read_b32 v4, v3",
        "v_and_b32 v3, 0xff, v0\nv_lshl_or_b32 v3, v1, 16, v3\nv_and_b32 v3, 0xfc, v3\nds_read_b32 v4, v3",
        "v_mov_b32 v2, 4\nv_mad_u64_u32 v[4:5], s[0:1], v2, v0, v[2:3]\nds_read_b32 v6, v4",
        "s_mov_b32 s0, 4\nv_mad_u64_u32 v[4:5], s[0:1], v0, s0, v[0:1]\nds_read_b32 v6, v4",
        "v_lshl_or_b32 v2, v1, 16, 4\nv_add_u32 v2, v2, v2\nv_and_b32 v2, 0xff, v2\nds_read_b32 v6, v2",
        "v_cvt_f32_ubyte0 v2, v0\nv_cmp_gt_f32 vcc, v2, v2\ns_cbranch_vccz 0",
    ],
)
def test_undefined_bits_that_do_not_count_are_no_finding(text):
    assert found(text, "uninitialised", waves=1) == []


def test_out_of_lds_by_the_byte():
    findings = found("v_mov_b32 v1, 1021\nv_mov_b32 v2, 0\nds_write_b32 v1, v2", "bounds", waves=1)
    assert len(findings) == 1
    assert "writes 4 bytes at 1021 of LDS, which has 1024" in findings[0]


def test_past_the_end_of_an_allocation_by_the_byte():
    # what is read past the end is there, but no part of the allocation
    memory = np.zeros(128, np.uint32)[:64]
    states = group(1)
    states[0].set_scalar64(0, memory.ctypes.data)
    text = "v_lshlrev_b32 v1, 2, v0\nglobal_load_dword v2, v1, s[0:1] offset:2\ns_waitcnt vmcnt(0)"
    findings = execute_group(text, states, memory=[memory], checks="bounds")
    assert len(findings) == 1
    assert "lane 63 reads 4 bytes" in findings[0]
    assert "past the end of an allocation" in findings[0]


def test_waves_that_store_to_the_same_bytes_race():
    memory = np.zeros(256, np.uint32)
    states = group(2)
    for state in states:
        state.set_scalar64(0, memory.ctypes.data)
    text = "v_and_b32 v1, 63, v0\nv_lshlrev_b32 v1, 2, v1\n{address}\nglobal_store_dword v1, v0, s[0:1]"
    apart = text.format(address="v_lshlrev_b32 v1, 2, v0")
    assert execute_group(apart, states, memory=[memory], checks="races") == []
    findings = execute_group(text.format(address="s_nop 0"), states, memory=[memory], checks="races")
    assert len(findings) == 1
    assert "written by wave 0" in findings[0]


def test_different_barriers():
    text = (
        "v_readfirstlane_b32 s0, v0\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 2\ns_barrier\ns_branch 1\ns_barrier"
    )
    findings = found(text, "barriers")
    assert len(findings) == 1
    assert "different barriers" in findings[0]
