"""What kernels find when they begin: arguments, ids, packets, LDS, scratch, variables, undefined values."""

import ctypes
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

from plugins.emulator.tests.device.hip import Hip, HipError, code_object

pytestmark = [pytest.mark.amd]
ARCHS = ("gfx90a", "gfx942", "gfx950")
UNDEFINED = 0xFBA5E11D

IDS = """
KERNEL k(u32* out, u32 w, u32 h, u32 gw, u32 gh) {
  u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(),
      z = __builtin_amdgcn_workitem_id_z();
  u32 gx = __builtin_amdgcn_workgroup_id_x(), gy = __builtin_amdgcn_workgroup_id_y(),
      gz = __builtin_amdgcn_workgroup_id_z();
  u32 group = gx + gw * (gy + gh * gz), item = x + w * (y + h * z);
  out[group * __builtin_amdgcn_workgroup_size_x() * __builtin_amdgcn_workgroup_size_y()
      * __builtin_amdgcn_workgroup_size_z() + item] = x | y << 5 | z << 10 | gx << 15 | gy << 20 | gz << 25;
}
"""


@pytest.fixture
def hip():
    return Hip()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("block", [(5, 3, 2), (16, 4, 4)])
def test_ids_and_sizes(hip, arch, version, block):
    grid, (w, h, d) = (3, 2, 2), block
    threads = w * h * d
    sizes = [ctypes.c_uint32(n) for n in (w, h, grid[0], grid[1])]
    flags = (f"-mcode-object-version={version}",)
    out = hip.run(IDS, 12 * threads, *sizes, arch=arch, flags=flags, grid=grid, block=block)
    expected = [
        x | y << 5 | z << 10 | gx << 15 | gy << 20 | gz << 25
        for gz in range(2)
        for gy in range(2)
        for gx in range(3)
        for z in range(d)
        for y in range(h)
        for x in range(w)
    ]
    assert out.tolist() == expected


def test_hidden_arguments_of_version_5(hip):
    source = """
    KERNEL k(u32* out) {
      const u32* hidden = (const u32*)__builtin_amdgcn_implicitarg_ptr();
      // one wave: others must not store to the same place at the same time
      const bool last = GROUP == 6 && __builtin_amdgcn_workgroup_id_y() == 2;
      if (last && LANE < 32 && __builtin_amdgcn_workitem_id_y() == 1) out[LANE] = hidden[LANE];
    }"""
    flags = ("-mcode-object-version=5",)
    out = hip.run(source, 32, flags=flags, grid=(7, 3), block=(64, 2)).tobytes()
    assert struct.unpack_from("<3I", out) == (7, 3, 1)
    # of workgroups in work-items; what remains at the edges of the grid
    assert struct.unpack_from("<6H", out, 12) == (64, 2, 1, 0, 0, 0)
    assert struct.unpack_from("<3Q", out, 40) == (0, 0, 0)
    assert struct.unpack_from("<H", out, 64) == (2,)


def test_the_dispatch_packet(hip):
    source = """
    KERNEL k(u32* out) {
      const u32* packet = (const u32*)__builtin_amdgcn_dispatch_ptr();
      if (LANE < 16) out[LANE] = packet[LANE];
    }"""
    packet = hip.run(source, 16, grid=(2, 3), block=(64,)).tobytes()
    header, setup, *sizes = struct.unpack_from("<6H3I", packet)
    assert (header & 0xFF, setup, sizes) == (2, 2, [64, 1, 1, 0, 128, 3, 1])
    private, group, kernel, arguments = struct.unpack_from("<IIQQ", packet, 24)
    assert (private, group) == (0, 0)
    assert kernel % 64 == 0
    assert kernel and arguments


@pytest.mark.parametrize("flags", [(), ("-mllvm", "-amdgpu-kernarg-preload-count=8")])
def test_arguments_by_value_and_preloaded(hip, flags):
    source = """
    struct S { unsigned char a; u64 b; u32 c[3]; };
    KERNEL k(u32* out, unsigned short first, S s, double last) {
      if (LANE == 0) { out[0] = first; out[1] = s.a; out[2] = s.b >> 32; out[3] = s.c[2]; out[4] = last; }
    }"""

    class S(ctypes.Structure):
        _fields_ = (("a", ctypes.c_uint8), ("b", ctypes.c_uint64), ("c", ctypes.c_uint32 * 3))

    value = S(200, 5 << 32, (ctypes.c_uint32 * 3)(1, 2, 77))
    out = hip.run(source, 5, ctypes.c_uint16(65000), value, ctypes.c_double(9.0), flags=flags)
    assert out.tolist() == [65000, 200, 5, 77, 9]
    preloads = struct.unpack_from("<H", _descriptor(code_object(source, flags=flags)), 58)[0] & 0x7F
    assert (preloads > 0) == bool(flags)


def _descriptor(code):
    """Return the descriptor of the kernel ``k``: the one piece of 64 bytes of the read-only data."""
    (sections,) = struct.unpack_from("<Q", code, 40)
    count, names = struct.unpack_from("<HH", code, 60)
    rows = [struct.unpack_from("<IIQQQQ", code, sections + 64 * n) for n in range(count)]
    text = rows[names][4]
    found = next(row for row in rows if code[text + row[0] :].startswith(b".rodata\0"))
    return code[found[4] : found[4] + 64]


@pytest.mark.parametrize("arch", ARCHS)
def test_lds_is_static_and_dynamic_and_begins_undefined(hip, arch):
    source = """
    SHARED u32 fixed[64];
    extern SHARED u32 more[];
    KERNEL k(u32* out) {
      volatile u32* dynamic = more;
      out[LANE] = ((volatile u32*)fixed)[LANE];
      out[128 + LANE] = dynamic[LANE];
      __builtin_amdgcn_s_barrier();
      fixed[LANE % 64] = LANE;
      dynamic[LANE] = 1000 + LANE;
      __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
      __builtin_amdgcn_s_barrier();
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
      if (LANE < 64) out[256 + LANE] = dynamic[127 - LANE];
    }"""
    out = hip.run(source, 320, arch=arch, block=(128,), lds=512)
    assert set(out[:64].tolist()) == {UNDEFINED}
    assert set(out[128:256].tolist()) == {UNDEFINED}
    assert out[256:].tolist() == [1127 - lane for lane in range(64)]


def test_how_many_workgroups_a_compute_unit_holds(hip):
    source = """
    SHARED u32 fixed[4096];
    KERNEL k(u32* out) {
      fixed[LANE] = out[LANE];
      __builtin_amdgcn_s_barrier();
      out[LANE] = fixed[LANE ^ 1];
    }"""
    kernel, found = hip.kernel(hip.load(source), "k"), ctypes.c_int()

    def resident(threads, lds):
        name = "hipOccupancyMaxActiveBlocksPerMultiprocessor"
        hip.call(name, ctypes.byref(found), kernel, ctypes.c_int(threads), ctypes.c_size_t(lds))
        return found.value

    # 16 KiB of 64 of LDS each; 16 of 32 waves of four SIMDs
    assert [resident(256, 0), resident(256, 16384), resident(1024, 0)] == [4, 2, 2]
    with pytest.raises(HipError):
        resident(0, 0)


@pytest.mark.parametrize("arch", ARCHS)
def test_scratch_belongs_to_a_lane(hip, arch):
    source = """
    KERNEL k(u32* out, u32 n) {
      volatile u32 own[40];
      for (u32 i = 0; i < 40; ++i) own[i] = i * 1000 + LANE;
      volatile unsigned char* bytes = (volatile unsigned char*)own;
      bytes[4 * n + 3] = LANE;
      out[GROUP * 128 + LANE] = own[(n + LANE) % 40];
    }"""
    out = hip.run(source, 256, ctypes.c_uint32(7), arch=arch, grid=(2,), block=(128,))
    lanes = np.arange(256) % 128
    expected = (7 + lanes) % 40 * 1000 + lanes
    changed = (7 + lanes) % 40 == 7
    assert out.tolist() == np.where(changed, expected | lanes << 24, expected).tolist()


def test_variables_constants_and_pointers_between_them(hip):
    source = """
    DEVICE u32 counter = 5;
    DEVICE u32 table[4] = {10, 20, 30, 40};
    DEVICE u32* where[3] = {&counter, &table[1], &table[3]};
    KERNEL k(u32* out) {
      if (LANE < 3) out[LANE] = *where[LANE];
      if (LANE == 0) { out[3] = counter; counter = 99; }
    }"""
    module = hip.load(source)
    kernel, counter = hip.kernel(module, "k"), hip.variable(module, "counter")
    value = ctypes.c_uint32(6)
    hip.call("hipMemcpyToSymbol", counter, ctypes.byref(value), ctypes.c_size_t(4), ctypes.c_size_t(0), 1)
    address = hip.upload(np.zeros(4, np.uint32))
    hip.launch(kernel, (1,), (64,), address)
    assert hip.download(address, 4).tolist() == [6, 20, 40, 6]
    hip.call("hipMemcpyFromSymbol", ctypes.byref(value), counter, ctypes.c_size_t(4), ctypes.c_size_t(0), 2)
    assert value.value == 99


def test_registers_that_nothing_sets_are_undefined(hip):
    source = """
    KERNEL k(u32* out) {
      u32 v, s, a;
      asm volatile("v_mov_b32 %0, v100" : "=v"(v) :: "v100");
      asm volatile("s_mov_b32 %0, s90" : "=s"(s) :: "s90");
      asm volatile("v_accvgpr_read_b32 %0, a9" : "=v"(a) :: "a9");
      out[LANE] = v; out[64 + LANE] = s; out[128 + LANE] = a;
    }"""
    assert set(hip.run(source, 192).tolist()) == {UNDEFINED}


def test_more_registers_than_accumulation_registers_have_numbers():
    """252 plain registers of 512 leave 260: those beyond 256 are no memory of the wave."""
    source = """
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void k(u32* out) {
      u32 sum = LANE;
      asm volatile("v_accvgpr_write_b32 a255, %0\\n v_mov_b32 v251, 1" : : "v"(sum) : "a255", "v251");
      asm volatile("v_accvgpr_read_b32 %0, a255\\n v_add_u32 %0, %0, v251" : "=v"(sum) : : "v251");
      out[LANE] = sum;
    }"""
    program = (
        "from plugins.emulator.tests.device.hip import Hip\n"
        f"for _ in range(50):\n    print(Hip().run({source!r}, 64, block=(64,)).tolist())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        # the allocator looks at what lies behind each block
        env={**os.environ, "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "85"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert set(ran.stdout.splitlines()) == {str(list(range(1, 65)))}


def test_another_seed_has_other_undefined_values(monkeypatch):
    source = """
    KERNEL k(u32* out) {
      u32 v;
      asm volatile("v_mov_b32 %0, v100" : "=v"(v) :: "v100");
      out[LANE] = v;
    }"""
    found = []
    for seed in ("1", "2"):
        monkeypatch.setenv("CKPROF_EMULATED_SEED", seed)
        (value,) = set(Hip().run(source, 64).tolist())
        found.append(value)
    assert len({*found, UNDEFINED, 0}) == 4
    assert np.isnan(np.array(found, np.uint32).view(np.float32)).all()
    assert np.isnan(np.array(found, np.uint32).view(np.float16)).all()


@pytest.mark.parametrize("flush", [False, True])
def test_the_mode_is_what_the_kernel_asks_for(hip, flush):
    source = """
    KERNEL k(u32* out, float x) { volatile float y = x; ((float*)out)[LANE] = y * 1.5f; }"""
    flags = ("-fgpu-flush-denormals-to-zero",) if flush else ()
    tiny = np.float32(2e-39)
    out = hip.run(source, 64, ctypes.c_float(float(tiny)), flags=flags).view(np.float32)
    assert set(out.tolist()) == {0.0 if flush else float(np.float32(tiny * np.float32(1.5)))}
