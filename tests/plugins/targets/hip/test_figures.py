"""Instruction counts, occupancy and estimates, against numbers worked out by hand."""

import pytest

from ckprof.model.architecture import find_architecture
from ckprof.model.device import DeviceKernel, Occupancy
from ckprof.model.gemm_work import GemmWork
from ckprof_plugins.targets.hip.code_object import occupancy
from ckprof_plugins.targets.hip.estimate import estimate
from ckprof_plugins.targets.hip.instructions import matrix_cycles, matrix_operations, read_disassembly

INSTRUCTIONS = """
s_mov_b32 s0, 0
buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen
buffer_load_ushort v0, v4, s[0:3], 0 offen
buffer_load_dword v4, s[0:3], 0 offen lds
global_load_b128 v[0:3], v[4:5], off
ds_write_b128 v1, v[0:3]
ds_read2_b64 v[0:3], v9 offset1:1
ds_read_u16_d16 v1, v2
v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
s_barrier
buffer_store_short v0, v4, s[0:3], 0 offen
buffer_atomic_pk_add_f16 v0, v4, s[0:3], 0 offen
s_endpgm
""".split("\n")[1:-1]


def disassembly(*functions):
    """What llvm-objdump prints: instructions of four bytes, with addresses and code behind them."""
    text = "\na.co:\tfile format elf64-amdgpu\n\nDisassembly of section .text:\n"
    for name, start, lines in functions:
        text += f"\n{start:016x} <{name}>:\n"
        for index, line in enumerate(lines):
            text += f"\t{line:<58} // {start + 4 * index:012X}: BF800000\n" if line != "..." else "\t\t...\n"
    return text


def test_instructions_are_counted_per_function():
    padding = ["s_nop 0"] * 3
    text = disassembly(
        ("first", 0x1900, [*INSTRUCTIONS, *padding]),
        ("second", 0x1A00, ["s_endpgm", "..."]),
        ("third", 0x1B00, [".long 0xffffffff", "s_cbranch_vccnz 18", "<unknown>"]),
    )
    functions = read_disassembly(text, {"first": 14 * 4, "second": 4, "third": 12})
    first = functions["first"]
    assert set(functions) == {"first", "second", "third"}
    assert first.total == 14
    assert dict(first.loads) == {128: 2, 16: 1, 32: 1}
    assert dict(first.stores) == {16: 1}
    assert dict(first.atomics) == {32: 1}
    assert dict(first.lds_reads) == {128: 1, 16: 1}
    assert dict(first.lds_writes) == {128: 1}
    assert dict(first.matrix) == {"v_mfma_f32_32x32x8_f16": 2}
    assert first.barriers == 1
    assert first.direct_loads == 1
    # neither padding nor zeros, nor what is no instruction
    assert (functions["second"].total, functions["third"].total) == (1, 1)


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("v_mfma_f32_32x32x8_f16", 2 * 32 * 32 * 8),
        ("v_mfma_f32_16x16x16_f16", 2 * 16 * 16 * 16),
        ("v_mfma_f32_32x32x8f16", 2 * 32 * 32 * 8),
        ("v_mfma_f32_4x4x4f16", 2 * 4 * 4 * 4 * 16),
        ("v_mfma_f32_4x4x4_16b_f16", 2 * 4 * 4 * 4 * 16),
        ("v_mfma_f32_32x32x8bf16_1k", 2 * 32 * 32 * 8),
        ("v_mfma_f32_16x16x32_f16", 2 * 16 * 16 * 32),
        ("v_mfma_f32_32x32x2f32", 2 * 32 * 32 * 2),
        ("v_add_f32", 0),
    ],
)
def test_operations_of_matrix_instructions(name, operations):
    assert matrix_operations(name) == operations


@pytest.mark.parametrize(
    ("name", "arch", "cycles"),
    [
        ("v_mfma_f32_32x32x8f16", "gfx90a", 64),
        ("v_mfma_f32_16x16x16f16", "gfx90a", 32),
        ("v_mfma_f32_32x32x8_f16", "gfx942", 32),
        ("v_mfma_f32_16x16x16_f16", "gfx942", 16),
        ("v_mfma_f32_32x32x8_bf16", "gfx942", 32),
        ("v_mfma_f32_32x32x16_f16", "gfx950", 32),
        ("v_mfma_f32_32x32x8_f16", "gfx950", 32),
        ("v_mfma_f32_32x32x8_f16", "gfx1201", 0),
    ],
)
def test_cycles_of_matrix_instructions(name, arch, cycles):
    assert matrix_cycles(name, arch) == cycles


@pytest.mark.parametrize(("arch", "tflops"), [("gfx90a", 191.5), ("gfx942", 1307.4), ("gfx950", 2516.6)])
def test_peak_rates_are_the_vendor_s(arch, tflops):
    record = find_architecture(arch)
    per_cycle = record.machine.flops_per_cycle["f16"] * record.simds_per_cu * record.compute_units
    peak = per_cycle * record.machine.clock_mhz * 1e6
    assert peak / 1e12 == pytest.approx(tflops, rel=0.001)


#: waves per SIMD by registers on gfx90a and later: 512 registers in grains of 8
@pytest.mark.parametrize(
    ("vgprs", "waves"),
    [
        (0, 8),
        (64, 8),
        (65, 7),
        (72, 7),
        (73, 6),
        (96, 5),
        (128, 4),
        (168, 3),
        (169, 2),
        (256, 2),
        (264, 1),
        (512, 1),
    ],
)
def test_registers_limit_waves(vgprs, waves):
    found = occupancy("gfx942", vgprs=vgprs, agprs=0, sgprs=80, lds_bytes=0, workgroup_lanes=256)
    assert found.waves_per_simd == waves
    assert found.workgroups_per_cu == waves
    assert found.limited_by == ("vgpr" if waves < 8 else "waves") or vgprs <= 64


@pytest.mark.parametrize(
    ("lds", "workgroups", "limit"),
    [(32768, 2, "lds"), (32769, 1, "lds"), (65536, 1, "lds"), (16384, 4, "lds"), (1024, 8, "vgpr")],
)
def test_lds_limits_workgroups(lds, workgroups, limit):
    found = occupancy("gfx942", vgprs=64, agprs=0, sgprs=80, lds_bytes=lds, workgroup_lanes=256)
    assert (found.workgroups_per_cu, found.limited_by) == (workgroups, limit)


def test_small_and_large_workgroups():
    small = occupancy("gfx942", vgprs=128, agprs=0, sgprs=80, lds_bytes=0, workgroup_lanes=64)
    assert (small.waves_per_simd, small.workgroups_per_cu) == (4, 16)
    large = occupancy("gfx942", vgprs=128, agprs=0, sgprs=80, lds_bytes=0, workgroup_lanes=1024)
    assert (large.waves_per_simd, large.workgroups_per_cu) == (4, 1)
    assert (
        occupancy("gfx1201", vgprs=1, agprs=0, sgprs=1, lds_bytes=0, workgroup_lanes=64).limited_by
        == "unknown"
    )


def kernel(**changes):
    values = {
        **{"symbol": "k", "arch": "gfx942", "vgprs": 128, "agprs": 0, "sgprs": 80, "vgpr_spills": 0},
        **{
            "sgpr_spills": 0,
            "lds_bytes": 32768,
            "scratch_bytes": 0,
            "wave_lanes": 64,
            "workgroup_lanes": 256,
        },
        **{"argument_bytes": 424, "code_bytes": 1000},
        "occupancy": Occupancy(waves_per_simd=2, workgroups_per_cu=2, limited_by="lds"),
        "matrix_instructions": {"v_mfma_f32_32x32x8_f16": 64},
    }
    return DeviceKernel(**{**values, **changes})


def work(**changes):
    values = {
        **{"m": 128 * 608, "n": 128, "k": 640, "batch": 1, "tile_m": 128, "tile_n": 128, "tile_k": 64},
        **{"waves": 4, "splits": 1, "tensor_bytes": 10**6, "element_bytes": 2},
    }
    return GemmWork(**{**values, **changes})


def test_a_problem_that_fills_the_device_exactly():
    found = estimate(kernel(), work())
    assert found.workgroups == 608
    assert found.tile_efficiency == found.wave_efficiency == 1.0
    # 10 blocks along K, 64 steps of 32x32x8 per block and wave, at 32 cycles
    assert found.matrix_cycles == 10 * 32 * 32
    # two workgroups for each compute unit at 2.1 GHz
    assert found.matrix_us == pytest.approx(2 * 10240 / 2100)
    assert found.memory_us == pytest.approx(1e6 / 5300e9 * 1e6)
    assert found.bound_us == found.matrix_us
    assert found.efficiency_bound == pytest.approx(1.0)
    assert found.tile_bytes == 608 * (256 * 64 * 10 + 128 * 128) * 2


def test_quantisation_and_memory():
    found = estimate(kernel(), work(m=128 * 608 + 1))
    assert found.workgroups == 609
    assert found.wave_efficiency == pytest.approx(609 / 1216)
    assert found.tile_efficiency == pytest.approx((128 * 608 + 1) / (128 * 609))
    assert estimate(kernel(), work(tensor_bytes=10**9)).bound_us == pytest.approx(1e9 / 5300e9 * 1e6)
    assert estimate(kernel(matrix_instructions={}), work()) is None
    assert estimate(kernel(arch="gfx1201"), work()) is None
