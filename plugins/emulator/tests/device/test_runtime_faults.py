"""What the emulated HIP runtime refuses, planted faults that are found, and the order of workgroups."""

import ctypes

import numpy as np
import pytest

from plugins.emulator.tests.device import hip as runtime
from plugins.emulator.tests.device.hip import Hip, HipError, bundle, code_object
from plugins.emulator.tests.device.wave import DeviceFault, State, execute_group

pytestmark = [pytest.mark.amd]
COPY = "KERNEL k(u32* out) { out[GROUP * 64 + LANE] = GROUP * 64 + LANE; }"


@pytest.fixture
def hip():
    return Hip()


def failure(hip, source, *arguments, results=64, **shape):
    with pytest.raises(HipError) as caught:
        hip.run(source, results, *arguments, **shape)
    return caught.value


def test_a_memory_fault_names_kernel_and_instruction_and_ends_the_device(hip, capfd):
    error = failure(hip, "KERNEL k(u32* out, u64 far) { out[far + LANE] = 1; }", ctypes.c_uint64(1 << 30))
    assert error.code == runtime.ILLEGAL_ADDRESS
    for part in (
        "memory access fault: write of 4 bytes at 0x",
        "global_store_dword",
        "of kernel k",
        "wave 0",
    ):
        assert part in str(error)
    assert "emulated device: memory access fault" in capfd.readouterr().err
    with pytest.raises(HipError, match="memory access fault") as later:
        hip.malloc(4)
    assert later.value.code == runtime.ILLEGAL_ADDRESS


def test_hangs_and_aborts_fail_the_launch(monkeypatch, hip):
    monkeypatch.setenv("CKPROF_EMULATED_BUDGET", "3000000")
    error = failure(Hip(), "KERNEL k(volatile u32* out) { while (out[LANE] == 0) {} }")
    assert error.code == runtime.TIMED_OUT
    assert "no end after" in str(error)
    error = failure(hip, "KERNEL k(u32* out) { if (out[LANE] == 0) __builtin_trap(); }")
    assert error.code == runtime.LAUNCH_FAILURE
    assert "aborted" in str(error)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"block": (1025,)}, "1025 work-items; the kernel takes up to 1024"),
        ({"grid": (0,)}, "0 workgroups"),
        ({"lds": 65537}, "65537 bytes of LDS; gfx942 has 65536"),
    ],
)
def test_launches_that_no_device_takes_change_nothing(hip, shape, message):
    error = failure(hip, COPY, **shape)
    assert error.code == runtime.INVALID_CONFIGURATION
    assert message in str(error)
    assert hip.run(COPY, 64).tolist() == list(range(64))


def test_unreadable_device_code_is_met_by_the_launch(hip):
    good = bundle(code_object(COPY), "gfx942")
    for data, message in (
        (b"CCOB" + bytes(60), "compressed"),
        (b"__CLANG_OFFLOAD_BUNDLX__" + bytes(8), "no offload bundle"),
        (bundle(code_object(COPY), "gfx1100"), "no code for an architecture that is emulated"),
        (good.replace(b"\x7fELF\x02", b"\x7fELG\x02"), "no code object of an AMD GPU"),
        (bundle(code_object(COPY)[:3000], "gfx942"), "ends too early"),
    ):
        kernel = hip.kernel(hip.load_bytes(data), "k")
        with pytest.raises(HipError, match=message) as caught:
            hip.launch(kernel, (1,), (64,), 0)
        assert caught.value.code == runtime.NO_BINARY
    assert hip.run(COPY, 64).tolist() == list(range(64))


@pytest.mark.parametrize(("dword", "inside"), [(5, True), (7, True), (8, False)])
def test_arguments_are_read_up_to_the_end_of_their_segment(monkeypatch, dword, inside):
    """24 bytes of them are a segment of 32."""
    monkeypatch.setenv("CKPROF_EMULATED_CHECKS", "bounds")
    source = """
    KERNEL k(u32* out, u64 one, u32 two, u32 last) {
      typedef const u32 __attribute__((address_space(4))) place;
      out[LANE] = ((place*)__builtin_amdgcn_kernarg_segment_ptr())[DWORD];
    }""".replace("DWORD", str(dword))
    arguments = ctypes.c_uint64(1), ctypes.c_uint32(2), ctypes.c_uint32(77)
    if inside:
        assert set(Hip().run(source, 64, *arguments).tolist()) == {77 if dword == 5 else 0}
        return
    with pytest.raises(HipError, match=r"bounds: .* reads 4 bytes"):
        Hip().run(source, 64, *arguments)


def test_a_missing_kernel_is_named(hip):
    kernel = hip.kernel(hip.load(COPY), "other")
    with pytest.raises(HipError, match="no kernel other"):
        hip.launch(kernel, (1,), (64,), 0)


def test_memory_is_bounded_and_copies_stay_within_it(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_MEMORY", "10000")
    hip = Hip()
    address = hip.malloc(8000)
    with pytest.raises(HipError) as caught:
        hip.malloc(2001)
    assert caught.value.code == runtime.OUT_OF_MEMORY
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    hip.call("hipMemGetInfo", ctypes.byref(free), ctypes.byref(total))
    assert (free.value, total.value) == (2000, 10000)
    data = np.zeros(8001, np.uint8)
    here, there = ctypes.c_void_p(data.ctypes.data), ctypes.c_void_p(address)
    for to, source, count, kind in (
        (there, here, 8001, runtime.TO_DEVICE),
        (here, there, 8001, runtime.TO_HOST),
        (there, here, 8, runtime.TO_HOST),
        (here, here, 8, runtime.TO_DEVICE),
    ):
        with pytest.raises(HipError) as caught:
            hip.call("hipMemcpy", to, source, ctypes.c_size_t(count), kind)
        assert caught.value.code == runtime.INVALID_VALUE
    hip.call("hipMemset2D", there, ctypes.c_size_t(100), 7, ctypes.c_size_t(50), ctypes.c_size_t(80))
    rows = hip.download(address, 8000, np.uint8).reshape(80, 100)
    assert (rows[:, :50] == 7).all()
    assert not (rows[:, 50:] == 7).any()
    with pytest.raises(HipError):
        hip.call("hipMemset2D", there, ctypes.c_size_t(100), 7, ctypes.c_size_t(50), ctypes.c_size_t(81))
    hip.call("hipFree", there)
    with pytest.raises(HipError):
        hip.call("hipFree", there)


def test_errors_are_injected_where_a_test_wants_them(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_FAIL", "hipMalloc:2:2")
    hip = Hip()
    hip.malloc(4)
    with pytest.raises(HipError) as caught:
        hip.malloc(4)
    assert caught.value.code == runtime.OUT_OF_MEMORY
    hip.malloc(4)
    assert hip.library.hipGetLastError() == runtime.OUT_OF_MEMORY
    assert hip.library.hipGetLastError() == runtime.SUCCESS


def test_wrong_settings_are_said_by_the_first_call(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_SEED", "many")
    with pytest.raises(HipError, match="CKPROF_EMULATED_SEED: many is no number"):
        Hip().malloc(4)


WAITS = """
KERNEL k(u32* out, u32* flags, u32 count) {
  // each workgroup waits for the one behind it
  if (LANE == 0 && GROUP + 1 < count)
    while (__atomic_load_n(&flags[GROUP + 1], __ATOMIC_ACQUIRE) == 0) __builtin_amdgcn_s_sleep(1);
  out[GROUP * 64 + LANE] = GROUP;
  __builtin_amdgcn_s_barrier();
  if (LANE == 0) __atomic_store_n(&flags[GROUP], 1u, __ATOMIC_RELEASE);
}"""


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("seed", ["0", "1", "12345"])
def test_workgroups_that_wait_for_later_ones_get_to_their_end(monkeypatch, threads, seed):
    monkeypatch.setenv("CKPROF_EMULATED_THREADS", threads)
    monkeypatch.setenv("CKPROF_EMULATED_SEED", seed)
    monkeypatch.setenv("CKPROF_EMULATED_BUDGET", "10000000")
    hip = Hip()
    flags = hip.upload(np.zeros(40, np.uint32))
    out = hip.run(WAITS, 40 * 64, flags, ctypes.c_uint32(40), grid=(40,))
    assert out.tolist() == [group for group in range(40) for _ in range(64)]


def test_a_seed_draws_the_order(monkeypatch):
    source = """
    KERNEL k(u32* out, u32* next) {
      if (LANE == 0) out[__atomic_fetch_add(next, 1u, __ATOMIC_RELAXED)] = GROUP;
    }"""
    monkeypatch.setenv("CKPROF_EMULATED_THREADS", "1")
    orders = []
    for seed in ("0", "1", "1", "2"):
        monkeypatch.setenv("CKPROF_EMULATED_SEED", seed)
        hip = Hip()
        orders.append(hip.run(source, 50, hip.upload(np.zeros(1, np.uint32)), grid=(50,)).tolist())
    assert orders[0] == list(range(50))
    assert orders[1] == orders[2] != orders[3]
    assert all(sorted(order) == orders[0] for order in orders)


def test_an_order_of_workgroups_and_waves_that_is_asked_for(monkeypatch):
    source = """
    KERNEL k(u32* out, u32* next) {
      if (LANE % 64 == 0) out[__atomic_fetch_add(next, 1u, __ATOMIC_RELAXED)] = GROUP * 4 + LANE / 64;
    }"""
    monkeypatch.setenv("CKPROF_EMULATED_THREADS", "1")
    monkeypatch.setenv("CKPROF_EMULATED_SEED", "7")
    orders = {}
    for order in ("forward", "reverse"):
        monkeypatch.setenv("CKPROF_EMULATED_ORDER", order)
        hip = Hip()
        count = hip.upload(np.zeros(1, np.uint32))
        orders[order] = hip.run(source, 40, count, grid=(10,), block=(256,)).tolist()
    assert orders == {"forward": list(range(40)), "reverse": list(range(40))[::-1]}
    monkeypatch.setenv("CKPROF_EMULATED_ORDER", "random")
    with pytest.raises(HipError, match="CKPROF_EMULATED_ORDER is random, expected forward or reverse"):
        Hip().malloc(4)


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


def test_what_orders_an_exchange_through_lds():
    assert found(EXCHANGE.format(wait="s_waitcnt lgkmcnt(0)", barrier="s_barrier"), ALL) == []
    findings = found(EXCHANGE.format(wait="s_waitcnt lgkmcnt(0)", barrier="s_nop 0"), "races")
    assert any("ds_read_b32" in line and "wave 1" in line for line in findings)
    findings = found(EXCHANGE.format(wait="s_nop 0", barrier="s_barrier"), "races")
    assert findings
    assert all(line.startswith("races: ") for line in findings)


def test_registers_between_a_load_and_its_wait():
    text = EXCHANGE.format(wait="s_waitcnt lgkmcnt(0)", barrier="s_barrier")
    findings = found(text.replace("lgkmcnt(0)\nv_add", "lgkmcnt(1)\nv_add"), "waits")
    assert len(findings) == 1
    assert "v4 is read before s_waitcnt covers its load (ds_read_b32" in findings[0]
    assert "v_add_u32 v5, v4, v4" in findings[0]
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


def test_waves_at_different_barriers_meet():
    text = (
        "v_readfirstlane_b32 s0, v0\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 2\ns_barrier\ns_branch 1\ns_barrier"
    )
    assert found(text, "barriers") == []


def test_who_waits_for_a_wave_that_hangs_is_said():
    spin = "v_readfirstlane_b32 s0, v0\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 1\ns_branch 65535\ns_barrier"
    with pytest.raises(DeviceFault, match=r"for which wave 0 waits at a barrier \(s_barrier at 0x10\)"):
        found(spin, "barriers")
