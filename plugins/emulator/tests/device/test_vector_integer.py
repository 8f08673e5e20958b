"""Integers of 64 lanes against integers of Python."""

import numpy as np
import pytest

from plugins.emulator.tests.device.tables import M16, M32, clamped, signed, wrong_rows
from plugins.emulator.tests.device.wave import State, execute

pytestmark = [pytest.mark.amd]


def i32(value):
    return signed(value, 32)


def i24(value):
    return signed(value, 24)


def i16(value):
    return signed(value, 16)


def u24(value):
    return value & 0xFFFFFF


def octets(value):
    return [value >> 8 * n & 0xFF for n in range(4)]


def sad(a, b, *, masked=False):
    return sum(abs(x - y) for x, y in zip(octets(a), octets(b), strict=True) if y or not masked)


def windows(x, *, masked):
    sums = [sad(x.a >> 8 * n & M32, x.b, masked=masked) + (x.c >> 16 * n & M16) for n in range(4)]
    return sum((value & M16) << 16 * n for n, value in enumerate(sums))


def permuted(x):
    source = [*octets(x.b), *octets(x.a)]

    def byte(selector):
        if selector >= 13:
            return 0xFF
        if selector == 12:
            return 0
        return source[selector] if selector < 8 else 0xFF * (source[2 * (selector - 8) + 1] >> 7)

    return sum(byte(selector) << 8 * n for n, selector in enumerate(octets(x.c)))


def leading(value):
    return 32 - value.bit_length() if value else -1


def signed_field(value, first, count):
    return signed(i32(value) >> first, count) if count else 0


def kept(value, x):
    """Return 16 bits beside the upper half that the destination had."""
    return (value & M16) | (x.d & ~M16)


def bitop3(table, a, b, c, bits):
    return sum((table >> ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n for n in range(bits))


def saturating(names, low, high):
    """Return the instructions without and with the clamp modifier."""
    exact = {}
    for text, value in names.items():
        # results of fewer bits than the register's are zero-extended there
        exact[text] = lambda x, value=value: value(x) & (M16 if high <= M16 else M32)
        exact[text.replace("_e32", "_e64") + " clamp"] = lambda x, value=value: (
            clamped(value(x), low, high) & (M16 if high <= M16 else M32)
        )
    return exact


BITS = {
    "v_mov_b32_e32 D, A": lambda x: x.a,
    "v_mov_b32_e32 D, 0x12345678": lambda x: 0x12345678,
    "v_mov_b32_e32 D, -16": lambda x: -16,
    "v_mov_b64_e32 DD, AA": lambda x: x.a,
    "v_mov_b64_e32 DD, 1.0": lambda x: 0x3FF0000000000000,
    "v_not_b32_e32 D, A": lambda x: ~x.a,
    "v_bfrev_b32_e32 D, A": lambda x: int(f"{x.a:032b}"[::-1], 2),
    "v_ffbh_u32_e32 D, A": lambda x: leading(x.a),
    "v_ffbh_i32_e32 D, A": lambda x: leading(x.a if i32(x.a) >= 0 else ~x.a & M32),
    "v_ffbl_b32_e32 D, A": lambda x: (x.a & -x.a).bit_length() - 1,
    "v_bcnt_u32_b32 D, A, B": lambda x: x.a.bit_count() + x.b,
    "v_bfm_b32 D, A, B": lambda x: ((1 << (x.a & 31)) - 1) << (x.b & 31),
    "v_bfe_u32 D, A, B, C": lambda x: x.a >> (x.b & 31) & ((1 << (x.c & 31)) - 1),
    "v_bfe_i32 D, A, B, C": lambda x: signed_field(x.a, x.b & 31, x.c & 31),
    "v_bfi_b32 D, A, B, C": lambda x: (x.a & x.b) | (~x.a & x.c),
    "v_perm_b32 D, A, B, C": permuted,
    "v_alignbit_b32 D, A, B, C": lambda x: (x.a << 32 | x.b) >> (x.c & 31),
    "v_alignbyte_b32 D, A, B, C": lambda x: (x.a << 32 | x.b) >> 8 * (x.c & 3),
    "v_and_b32_e32 D, A, B": lambda x: x.a & x.b,
    "v_or_b32_e32 D, 0x80000001, B": lambda x: 0x80000001 | x.b,
    "v_xor_b32_e32 D, A, B": lambda x: x.a ^ x.b,
    "v_xnor_b32_e32 D, A, B": lambda x: ~(x.a ^ x.b),
    "v_and_or_b32 D, A, B, C": lambda x: x.a & x.b | x.c,
    "v_or3_b32 D, A, B, C": lambda x: x.a | x.b | x.c,
    "v_xad_u32 D, A, B, C": lambda x: (x.a ^ x.b) + x.c,
    "v_lshlrev_b32_e32 D, A, B": lambda x: x.b << (x.a & 31),
    "v_lshrrev_b32_e32 D, A, B": lambda x: x.b >> (x.a & 31),
    "v_ashrrev_i32_e32 D, A, B": lambda x: i32(x.b) >> (x.a & 31),
    "v_lshlrev_b64 DD, A, BB": lambda x: x.b << (x.a & 63),
    "v_lshrrev_b64 DD, A, BB": lambda x: x.b >> (x.a & 63),
    "v_ashrrev_i64 DD, A, BB": lambda x: signed(x.b, 64) >> (x.a & 63),
    "v_lshlrev_b16_e32 D, A, B": lambda x: (x.b << (x.a & 15)) & M16,
    "v_lshrrev_b16_e32 D, A, B": lambda x: (x.b & M16) >> (x.a & 15),
    "v_ashrrev_i16_e32 D, A, B": lambda x: i16(x.b) >> (x.a & 15) & M16,
    "v_lshl_add_u32 D, A, B, C": lambda x: (x.a << (x.b & 31)) + x.c,
    "v_add_lshl_u32 D, A, B, C": lambda x: (x.a + x.b) << (x.c & 31),
    "v_lshl_or_b32 D, A, B, C": lambda x: x.a << (x.b & 31) | x.c,
    "v_lshl_add_u64 DD, AA, B, CC": lambda x: (x.a << (x.b & 7)) + x.c,
    "v_add3_u32 D, A, B, C": lambda x: x.a + x.b + x.c,
    "v_sat_pk_u8_i16_e32 D, A": lambda x: clamped(i16(x.a), 0, 255) | clamped(i16(x.a >> 16), 0, 255) << 8,
    "v_lerp_u8 D, A, B, C": lambda x: sum(
        (p + q + (r & 1) >> 1) << 8 * n
        for n, (p, q, r) in enumerate(zip(octets(x.a), octets(x.b), octets(x.c), strict=True))
    ),
}

PRODUCTS = {
    "v_mul_lo_u32 D, A, B": lambda x: x.a * x.b,
    "v_mul_hi_u32 D, A, B": lambda x: x.a * x.b >> 32,
    "v_mul_hi_i32 D, A, B": lambda x: i32(x.a) * i32(x.b) >> 32,
    "v_mul_lo_u16_e32 D, A, B": lambda x: x.a * x.b & M16,
    "v_mul_u32_u24_e32 D, A, B": lambda x: u24(x.a) * u24(x.b),
    "v_mul_hi_u32_u24_e32 D, A, B": lambda x: u24(x.a) * u24(x.b) >> 32,
    "v_mul_i32_i24_e32 D, A, B": lambda x: i24(x.a) * i24(x.b),
    "v_mul_hi_i32_i24_e32 D, A, B": lambda x: i24(x.a) * i24(x.b) >> 32,
    **saturating(
        {
            "v_mad_u32_u24 D, A, B, C": lambda x: u24(x.a) * u24(x.b) + x.c,
            "v_mad_u32_u16 D, A, B, C": lambda x: (x.a & M16) * (x.b & M16) + x.c,
            "v_sad_u8 D, A, B, C": lambda x: sad(x.a, x.b) + x.c,
            "v_sad_hi_u8 D, A, B, C": lambda x: (sad(x.a, x.b) << 16) + x.c,
            "v_msad_u8 D, A, B, C": lambda x: sad(x.a, x.b, masked=True) + x.c,
            "v_sad_u16 D, A, B, C": lambda x: (
                abs((x.a & M16) - (x.b & M16)) + abs((x.a >> 16) - (x.b >> 16)) + x.c
            ),
            "v_sad_u32 D, A, B, C": lambda x: abs(x.a - x.b) + x.c,
            "v_add_u32_e32 D, A, B": lambda x: x.a + x.b,
            "v_sub_u32_e32 D, A, B": lambda x: x.a - x.b,
            "v_subrev_u32_e32 D, A, B": lambda x: x.b - x.a,
        },
        0,
        M32,
    ),
    **saturating(
        {
            "v_add_i32 D, A, B": lambda x: i32(x.a) + i32(x.b),
            "v_sub_i32 D, A, B": lambda x: i32(x.a) - i32(x.b),
            "v_mad_i32_i24 D, A, B, C": lambda x: i24(x.a) * i24(x.b) + i32(x.c),
            "v_mad_i32_i16 D, A, B, C": lambda x: i16(x.a) * i16(x.b) + i32(x.c),
        },
        -(1 << 31),
        (1 << 31) - 1,
    ),
    **saturating(
        {
            "v_add_u16_e32 D, A, B": lambda x: (x.a & M16) + (x.b & M16),
            "v_sub_u16_e32 D, A, B": lambda x: (x.a & M16) - (x.b & M16),
            "v_subrev_u16_e32 D, A, B": lambda x: (x.b & M16) - (x.a & M16),
            "v_mad_legacy_u16 D, A, B, C": lambda x: (x.a & M16) * (x.b & M16) + (x.c & M16),
        },
        0,
        M16,
    ),
    **saturating(
        {"v_mad_legacy_i16 D, A, B, C": lambda x: i16(x.a) * i16(x.b) + i16(x.c)}, -(1 << 15), (1 << 15) - 1
    ),
    "v_qsad_pk_u16_u8 DD, AA, B, CC": lambda x: windows(x, masked=False),
    "v_mqsad_pk_u16_u8 DD, AA, B, CC": lambda x: windows(x, masked=True),
}

#: instructions that leave the other half of their destination, also with halves that op_sel chooses
HALVES = {
    "v_mad_u16 D, A, B, C": lambda x: kept(x.a * x.b + x.c, x),
    "v_mad_i16 D, A, B, C": lambda x: kept(x.a * x.b + x.c, x),
    "v_add_i16 D, A, B": lambda x: kept(x.a + x.b, x),
    "v_sub_i16 D, A, B": lambda x: kept(x.a - x.b, x),
    "v_add_i16 D, A, B clamp": lambda x: kept(clamped(i16(x.a) + i16(x.b), -32768, 32767), x),
    "v_min3_u16 D, A, B, C": lambda x: kept(min(x.a & M16, x.b & M16, x.c & M16), x),
    "v_max3_u16 D, A, B, C": lambda x: kept(max(x.a & M16, x.b & M16, x.c & M16), x),
    "v_med3_u16 D, A, B, C": lambda x: kept(sorted((x.a & M16, x.b & M16, x.c & M16))[1], x),
    "v_min3_i16 D, A, B, C": lambda x: kept(min(i16(x.a), i16(x.b), i16(x.c)), x),
    "v_max3_i16 D, A, B, C": lambda x: kept(max(i16(x.a), i16(x.b), i16(x.c)), x),
    "v_med3_i16 D, A, B, C": lambda x: kept(sorted((i16(x.a), i16(x.b), i16(x.c)))[1], x),
    "v_mad_u16 D, A, B, C op_sel:[1,0,1,0]": lambda x: kept((x.a >> 16) * x.b + (x.c >> 16), x),
    "v_mad_i16 D, A, B, C op_sel:[0,1,0,1]": lambda x: ((x.a * (x.b >> 16) + x.c) & M16) << 16 | (x.d & M16),
    "v_add_i16 D, A, B op_sel:[1,1,1]": lambda x: (((x.a >> 16) + (x.b >> 16)) & M16) << 16 | (x.d & M16),
    "v_mad_u32_u16 D, A, B, C op_sel:[1,1,0,0]": lambda x: (x.a >> 16) * (x.b >> 16) + x.c,
}

EXTREMES = {
    "v_min_u32_e32 D, A, B": lambda x: min(x.a, x.b),
    "v_max_u32_e32 D, A, B": lambda x: max(x.a, x.b),
    "v_min_i32_e32 D, A, B": lambda x: min(i32(x.a), i32(x.b)),
    "v_max_i32_e32 D, A, B": lambda x: max(i32(x.a), i32(x.b)),
    "v_min_u16_e32 D, A, B": lambda x: min(x.a & M16, x.b & M16),
    "v_max_u16_e32 D, A, B": lambda x: max(x.a & M16, x.b & M16),
    "v_min_i16_e32 D, A, B": lambda x: min(i16(x.a), i16(x.b)) & M16,
    "v_max_i16_e32 D, A, B": lambda x: max(i16(x.a), i16(x.b)) & M16,
    "v_min3_u32 D, A, B, C": lambda x: min(x.a, x.b, x.c),
    "v_max3_u32 D, A, B, C": lambda x: max(x.a, x.b, x.c),
    "v_med3_u32 D, A, B, C": lambda x: sorted((x.a, x.b, x.c))[1],
    "v_min3_i32 D, A, B, C": lambda x: min(i32(x.a), i32(x.b), i32(x.c)),
    "v_max3_i32 D, A, B, C": lambda x: max(i32(x.a), i32(x.b), i32(x.c)),
    "v_med3_i32 D, A, B, C": lambda x: sorted((i32(x.a), i32(x.b), i32(x.c)))[1],
}

#: results and carries
CARRIES = {
    "v_add_co_u32 D, M, A, B": lambda x: (x.a + x.b, x.a + x.b > M32),
    "v_sub_co_u32 D, M, A, B": lambda x: (x.a - x.b, x.a < x.b),
    "v_subrev_co_u32 D, M, A, B": lambda x: (x.b - x.a, x.b < x.a),
    "v_addc_co_u32 D, M, A, B, S": lambda x: (x.a + x.b + x.s, x.a + x.b + x.s > M32),
    "v_subb_co_u32 D, M, A, B, S": lambda x: (x.a - x.b - x.s, x.a < x.b + x.s),
    "v_subbrev_co_u32 D, M, A, B, S": lambda x: (x.b - x.a - x.s, x.b < x.a + x.s),
    "v_add_co_u32 D, M, A, B clamp": lambda x: (min(x.a + x.b, M32), x.a + x.b > M32),
    "v_sub_co_u32 D, M, A, B clamp": lambda x: (max(x.a - x.b, 0), x.a < x.b),
    "v_mad_u64_u32 DD, M, A, B, CC": lambda x: (x.a * x.b + x.c, x.a * x.b + x.c >> 64 & 1),
    "v_mad_i64_i32 DD, M, A, B, CC": lambda x: (
        i32(x.a) * i32(x.b) + signed(x.c, 64),
        (i32(x.a) * i32(x.b) + signed(x.c, 64)) >> 64 & 1,
    ),
    "v_addc_co_u32_e32 D, vcc, A, B, vcc\ns_mov_b64 M, vcc\ns_mov_b64 vcc, s[8:9]": lambda x: (
        x.a + x.b + x.s,
        x.a + x.b + x.s > M32,
    ),
}

LANES_OF = {
    "v_cndmask_b32_e32 D, A, B, vcc": lambda x: x.b if x.s else x.a,
    "v_cndmask_b32_e64 D, A, B, S": lambda x: x.b if x.s else x.a,
    "v_cndmask_b32_e64 D, 0, 1, S": lambda x: int(x.s),
    "v_cndmask_b32_e64 D, -A, |B|, S": lambda x: x.b & 0x7FFFFFFF if x.s else x.a ^ 0x80000000,
    "v_mbcnt_lo_u32_b32 D, A, B": lambda x: (x.a & ((1 << x.number) - 1) & M32).bit_count() + x.b,
    "v_mbcnt_hi_u32_b32 D, A, B": lambda x: (x.a & ((1 << x.number) - 1) >> 32).bit_count() + x.b,
    "v_mbcnt_lo_u32_b32 D, -1, 0": lambda x: min(x.number, 32),
}

GFX950 = {
    **{
        f"v_bitop3_b32 D, A, B, C bitop3:{table:#x}": lambda x, table=table: bitop3(table, x.a, x.b, x.c, 32)
        for table in (0x80, 0x1, 0x96, 0xCA, 0xE8, 0x4B)
    },
    "v_bitop3_b16 D, A, B, C bitop3:0x96": lambda x: kept(bitop3(0x96, x.a, x.b, x.c, 16), x),
    "v_bitop3_b16 D, A, B, C bitop3:0x1b op_sel:[1,0,0,0]": lambda x: kept(
        bitop3(0x1B, x.a >> 16, x.b, x.c, 16), x
    ),
    "v_ashr_pk_i8_i32 D, A, B, C": lambda x: kept(
        (clamped(i32(x.a) >> (x.c & 31), -128, 127) & 0xFF)
        | (clamped(i32(x.b) >> (x.c & 31), -128, 127) & 0xFF) << 8,
        x,
    ),
    "v_ashr_pk_u8_i32 D, A, B, C": lambda x: kept(
        clamped(i32(x.a) >> (x.c & 31), 0, 255) | clamped(i32(x.b) >> (x.c & 31), 0, 255) << 8, x
    ),
    "v_prng_b32_e32 D, A": lambda x: x.a << 1 ^ (197 if x.a >> 31 else 0),
}


@pytest.mark.parametrize("lanes", [(1 << 64) - 1, 0x8123456789ABCDE1])
@pytest.mark.parametrize("table", [BITS, PRODUCTS, HALVES, EXTREMES, CARRIES, LANES_OF])
def test_results_of_integers(table, lanes):
    assert not wrong_rows(table, 1, lanes=lanes)
    assert not wrong_rows(table, 2, lanes=lanes)


def test_instructions_of_gfx950():
    assert not wrong_rows(GFX950, 1, arch="gfx950")


def test_four_sums_of_differences_are_in_four_registers():
    random = np.random.default_rng(3)
    state = State()
    state.vector[:8] = random.integers(0, 1 << 32, (8, 64), np.uint32)
    before = state.vector.copy()
    after = execute("v_mqsad_u32_u8 v[8:11], v[0:1], v2, v[4:7]", state)
    for lane in range(64):
        wide = int(before[0, lane]) | int(before[1, lane]) << 32
        for n in range(4):
            expected = sad(wide >> 8 * n & M32, int(before[2, lane]), masked=True) + int(before[4 + n, lane])
            assert after.vector[8 + n, lane] == expected & M32


def test_results_may_be_written_over_sources():
    state = State()
    state.vector[1:6] = np.arange(5 * 64, dtype=np.uint32).reshape(5, 64) * 0x1010101
    before = state.vector.astype(np.uint64)
    after = execute(
        "v_lshlrev_b64 v[2:3], v3, v[4:5]\nv_add_u32_e32 v1, v1, v1\nv_add_u32_e32 v4, v1, v4", state
    )
    wide = (before[4] | before[5] << np.uint64(32)) << (before[3] & np.uint64(63))
    assert np.array_equal(after.vector[2], wide & np.uint64(M32))
    assert np.array_equal(after.vector[3], wide >> np.uint64(32))
    assert np.array_equal(after.vector[1], before[1] * 2)
    assert np.array_equal(after.vector[4], (before[4] + before[1] * 2) & np.uint64(M32))
