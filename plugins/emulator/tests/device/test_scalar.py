"""Scalar instructions against integers of Python: results, SCC and the execution mask."""

from functools import cache

import numpy as np
import pytest

from plugins.emulator.tests.device.tables import EDGES_32, EDGES_32_HIGH
from plugins.emulator.tests.device.wave import DeviceFault, State, assembled, execute

pytestmark = [pytest.mark.amd]

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
#: what the destination holds before, and the execution mask
BEFORE, EXEC_BEFORE = 0x0123456789ABCDEF, 0xFF00FF00F0F0A5A5
Outcome = tuple[int, "bool | None"]


def i32(value):
    value &= M32
    return value - (1 << 32) if value >> 31 else value


def i64(value):
    value &= M64
    return value - (1 << 64) if value >> 63 else value


def logical(operation, mask):
    return lambda a, b, scc, d: (
        operation(a & mask, b & mask) & mask,
        operation(a & mask, b & mask) & mask != 0,
    )


def nonzero(operation, mask):
    return lambda a, b, scc, d: (operation(a, b) & mask, operation(a, b) & mask != 0)


def kept(operation):
    return lambda a, b, scc, d: (operation(a, b), None)


def overflowing(exact):
    return lambda a, b, scc, d: (exact(i32(a), i32(b)), exact(i32(a), i32(b)) != i32(exact(i32(a), i32(b))))


def carrying(exact):
    def outcome(a, b, scc, d):
        value = exact(a & M32, b & M32, scc)
        return value, not 0 <= value <= M32

    return outcome


def choice(chosen, signed):
    def outcome(a, b, scc, d):
        a, b = (i32(a), i32(b)) if signed else (a & M32, b & M32)
        return (a if chosen(a, b) else b), chosen(a, b)

    return outcome


def field(value, b, width, signed):
    first, count = b & (width - 1), b >> 16 & 0x7F
    value = (value >> first) & ((1 << count) - 1) if not signed else value >> first
    if signed and count < width:
        value &= (1 << count) - 1
        if count and value >> (count - 1):
            value -= 1 << count
    return value


def first(value, width, wanted):
    return next((n for n in range(width) if value >> n & 1 == wanted), -1)


def leading(value, width):
    return next((n for n in range(width) if value >> (width - 1 - n) & 1), -1)


def leading_signs(value, width):
    sign = value >> (width - 1) & 1
    return next((n for n in range(1, width) if value >> (width - 1 - n) & 1 != sign), -1)


def brev(value, width):
    return int(f"{value & ((1 << width) - 1):0{width}b}"[::-1], 2)


def quads(value, width):
    return [value >> (4 * n) & 15 != 0 for n in range(width // 4)]


def wqm(value, width):
    return sum(15 << (4 * n) for n, any_one in enumerate(quads(value, width)) if any_one)


def quadmask(value, width):
    return sum(1 << n for n, any_one in enumerate(quads(value, width)) if any_one)


def s16(value):
    return ((value & 0xFFFF) ^ 0x8000) - 0x8000


BITWISE = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}
RELATIONS = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}

#: D destination, A and B sources of 32 bits, doubled where they have 64; SCC stays where None
RESULTS = {
    "s_mov_b32 D, A": kept(lambda a, b: a),
    "s_mov_b64 DD, AA": kept(lambda a, b: a),
    "s_cmov_b32 D, A": lambda a, b, scc, d: (a if scc else d, None),
    "s_cmov_b64 DD, AA": lambda a, b, scc, d: (a if scc else d, None),
    "s_cselect_b32 D, A, B": lambda a, b, scc, d: (a if scc else b, None),
    "s_cselect_b64 DD, AA, BB": lambda a, b, scc, d: (a if scc else b, None),
    "s_add_u32 D, A, B": carrying(lambda a, b, scc: a + b),
    "s_addc_u32 D, A, B": carrying(lambda a, b, scc: a + b + scc),
    "s_sub_u32 D, A, B": carrying(lambda a, b, scc: a - b),
    "s_subb_u32 D, A, B": carrying(lambda a, b, scc: a - b - scc),
    "s_add_i32 D, A, B": overflowing(lambda a, b: a + b),
    "s_sub_i32 D, A, B": overflowing(lambda a, b: a - b),
    **{f"s_lshl{n}_add_u32 D, A, B": carrying(lambda a, b, scc, n=n: (a << n) + b) for n in (1, 2, 3, 4)},
    "s_min_i32 D, A, B": choice(lambda a, b: a < b, True),
    "s_min_u32 D, A, B": choice(lambda a, b: a < b, False),
    "s_max_i32 D, A, B": choice(lambda a, b: a >= b, True),
    "s_max_u32 D, A, B": choice(lambda a, b: a >= b, False),
    "s_mul_i32 D, A, B": kept(lambda a, b: a * b),
    "s_mul_hi_u32 D, A, B": kept(lambda a, b: (a & M32) * (b & M32) >> 32),
    "s_mul_hi_i32 D, A, B": kept(lambda a, b: i32(a) * i32(b) >> 32),
    "s_abs_i32 D, A": nonzero(lambda a, b: abs(i32(a)), M32),
    "s_absdiff_i32 D, A, B": nonzero(lambda a, b: abs(i32(i32(a) - i32(b))), M32),
    **{f"s_{name}_b32 D, A, B": logical(operation, M32) for name, operation in BITWISE.items()},
    **{f"s_{name}_b64 DD, AA, BB": logical(operation, M64) for name, operation in BITWISE.items()},
    "s_not_b32 D, A": nonzero(lambda a, b: ~a, M32),
    "s_not_b64 DD, AA": nonzero(lambda a, b: ~a, M64),
    "s_lshl_b32 D, A, B": nonzero(lambda a, b: a << (b & 31), M32),
    "s_lshl_b64 DD, AA, B": nonzero(lambda a, b: a << (b & 63), M64),
    "s_lshr_b32 D, A, B": nonzero(lambda a, b: (a & M32) >> (b & 31), M32),
    "s_lshr_b64 DD, AA, B": nonzero(lambda a, b: a >> (b & 63), M64),
    "s_ashr_i32 D, A, B": nonzero(lambda a, b: i32(a) >> (b & 31), M32),
    "s_ashr_i64 DD, AA, B": nonzero(lambda a, b: i64(a) >> (b & 63), M64),
    "s_bfm_b32 D, A, B": kept(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31)),
    "s_bfm_b64 DD, A, B": kept(lambda a, b: ((1 << (a & 63)) - 1) << (b & 63)),
    "s_bfe_u32 D, A, B": nonzero(lambda a, b: field(a & M32, b, 32, False), M32),
    "s_bfe_i32 D, A, B": nonzero(lambda a, b: field(i32(a), b, 32, True), M32),
    "s_bfe_u64 DD, AA, B": nonzero(lambda a, b: field(a, b, 64, False), M64),
    "s_bfe_i64 DD, AA, B": nonzero(lambda a, b: field(i64(a), b, 64, True), M64),
    "s_wqm_b32 D, A": nonzero(lambda a, b: wqm(a, 32), M32),
    "s_wqm_b64 DD, AA": nonzero(lambda a, b: wqm(a, 64), M64),
    "s_quadmask_b32 D, A": nonzero(lambda a, b: quadmask(a, 32), M32),
    "s_quadmask_b64 DD, AA": nonzero(lambda a, b: quadmask(a, 64), M64),
    "s_brev_b32 D, A": kept(lambda a, b: brev(a, 32)),
    "s_brev_b64 DD, AA": kept(lambda a, b: brev(a, 64)),
    "s_bitreplicate_b64_b32 DD, A": kept(lambda a, b: sum(3 << 2 * n for n in range(32) if a >> n & 1)),
    "s_bcnt0_i32_b32 D, A": nonzero(lambda a, b: 32 - (a & M32).bit_count(), M32),
    "s_bcnt0_i32_b64 D, AA": nonzero(lambda a, b: 64 - a.bit_count(), M32),
    "s_bcnt1_i32_b32 D, A": nonzero(lambda a, b: (a & M32).bit_count(), M32),
    "s_bcnt1_i32_b64 D, AA": nonzero(lambda a, b: a.bit_count(), M32),
    "s_ff0_i32_b32 D, A": kept(lambda a, b: first(a, 32, 0)),
    "s_ff0_i32_b64 D, AA": kept(lambda a, b: first(a, 64, 0)),
    "s_ff1_i32_b32 D, A": kept(lambda a, b: first(a, 32, 1)),
    "s_ff1_i32_b64 D, AA": kept(lambda a, b: first(a, 64, 1)),
    "s_flbit_i32_b32 D, A": kept(lambda a, b: leading(a, 32)),
    "s_flbit_i32_b64 D, AA": kept(lambda a, b: leading(a, 64)),
    "s_flbit_i32 D, A": kept(lambda a, b: leading_signs(a, 32)),
    "s_flbit_i32_i64 D, AA": kept(lambda a, b: leading_signs(a, 64)),
    "s_sext_i32_i8 D, A": kept(lambda a, b: ((a & 0xFF) ^ 0x80) - 0x80),
    "s_sext_i32_i16 D, A": kept(lambda a, b: s16(a)),
    "s_bitset0_b32 D, A": lambda a, b, scc, d: (d & ~(1 << (a & 31)), None),
    "s_bitset0_b64 DD, A": lambda a, b, scc, d: (d & ~(1 << (a & 63)), None),
    "s_bitset1_b32 D, A": lambda a, b, scc, d: (d | 1 << (a & 31), None),
    "s_bitset1_b64 DD, A": lambda a, b, scc, d: (d | 1 << (a & 63), None),
    "s_pack_ll_b32_b16 D, A, B": kept(lambda a, b: (a & 0xFFFF) | (b & 0xFFFF) << 16),
    "s_pack_lh_b32_b16 D, A, B": kept(lambda a, b: (a & 0xFFFF) | (b >> 16 & 0xFFFF) << 16),
    "s_pack_hh_b32_b16 D, A, B": kept(lambda a, b: (a >> 16 & 0xFFFF) | (b >> 16 & 0xFFFF) << 16),
    "s_movk_i32 D, 0x8001": kept(lambda a, b: -32767),
    "s_cmovk_i32 D, 0x8001": lambda a, b, scc, d: (-32767 if scc else d, None),
    "s_addk_i32 D, 0x8000": lambda a, b, scc, d: (d - 32768, not -(1 << 31) <= i32(d) - 32768),
    "s_mulk_i32 D, 0xfff9": lambda a, b, scc, d: (i32(d) * -7, None),
    "s_mov_b32 D, 0x12345678": kept(lambda a, b: 0x12345678),
    "s_mov_b64 DD, 0x82345678": kept(lambda a, b: 0x82345678),
    "s_mov_b64 DD, -16": kept(lambda a, b: -16),
    "s_mov_b32 D, 0.5": kept(lambda a, b: 0x3F000000),
    "s_mov_b64 DD, 1.0": kept(lambda a, b: 0x3FF0000000000000),
}
#: conditions, whose only result is SCC
CONDITIONS = {
    **{f"s_cmp_{n}_i32 A, B": lambda a, b, f=f: f(i32(a), i32(b)) for n, f in RELATIONS.items()},
    **{f"s_cmp_{n}_u32 A, B": lambda a, b, f=f: f(a & M32, b & M32) for n, f in RELATIONS.items()},
    "s_cmp_eq_u64 AA, BB": lambda a, b: a == b,
    "s_cmp_lg_u64 AA, BB": lambda a, b: a != b,
    "s_bitcmp0_b32 A, B": lambda a, b: not a >> (b & 31) & 1,
    "s_bitcmp1_b32 A, B": lambda a, b: bool(a >> (b & 31) & 1),
    "s_bitcmp0_b64 AA, B": lambda a, b: not a >> (b & 63) & 1,
    "s_bitcmp1_b64 AA, B": lambda a, b: bool(a >> (b & 63) & 1),
    **{f"s_cmpk_{n}_i32 A, 0xff80": lambda a, b, f=f: f(i32(a), -128) for n, f in RELATIONS.items()},
    **{f"s_cmpk_{n}_u32 A, 0xff80": lambda a, b, f=f: f(a & M32, 0xFF80) for n, f in RELATIONS.items()},
}
#: of A and the mask: new masks, and whether the destination gets the old one
MASKS = {
    **{f"s_{n}_saveexec_b64": (f, True) for n, f in BITWISE.items()},
    "s_andn1_saveexec_b64": (lambda a, x: ~a & x, True),
    "s_orn1_saveexec_b64": (lambda a, x: ~a | x, True),
    "s_andn1_wrexec_b64": (lambda a, x: ~a & x, False),
    "s_andn2_wrexec_b64": (lambda a, x: a & ~x, False),
}


def operands():
    """Return edges against each other, and random bits."""
    random = np.random.default_rng(11)
    edges = [*EDGES_32, *EDGES_32_HIGH, 0x8000000000000000, M64, 0x100000000, 0x00200004, 0x00400000]
    pairs = [(int(a), int(b)) for a, b in zip(edges, random.permutation(edges), strict=True)]
    pairs += [(edge, edge) for edge in (0, 1, M32, 1 << 31, M64)]
    return pairs + [tuple(map(int, pair)) for pair in random.integers(0, M64, (20, 2), np.uint64)]


@cache
def _program():
    """Every instruction: results in lanes of its own register, destination 0-1, SCC 2, mask 3-4."""
    lines = []
    texts = [*RESULTS, *CONDITIONS, *(f"{name} DD, AA" for name in MASKS)]
    for row, text in enumerate(texts):
        name, _, rest = text.partition(" ")
        for short, register in (("DD", "s[80:81]"), ("AA", "s[0:1]"), ("BB", "s[2:3]")):
            rest = rest.replace(short, register)
        for short, register in (("D", "s80"), ("A", "s0"), ("B", "s2")):
            rest = rest.replace(short, register)
        lines += [
            "s_mov_b64 exec, s[92:93]",
            "s_mov_b64 s[80:81], s[94:95]",
            "s_cmp_lg_u32 s90, 0",
            f"{name} {rest}",
            "s_mov_b64 s[84:85], exec",
            "s_cselect_b32 s82, 1, 0",
            *(f"v_writelane_b32 v{row}, s{80 + n}, {n}" for n in (0, 1, 2)),
            *(f"v_writelane_b32 v{row}, s{84 + n}, {3 + n}" for n in (0, 1)),
        ]
    return assembled("gfx942", "\n".join(lines))


def _run(a, b, scc):
    state = State()
    for first_register, value in ((0, a), (2, b), (90, int(scc)), (92, EXEC_BEFORE), (94, BEFORE)):
        state.set_scalar64(first_register, value)
    after = execute(_program(), state)
    rows = after.vector[: len(RESULTS) + len(CONDITIONS) + len(MASKS), :5].tolist()
    return [[row[0] | row[1] << 32, row[2], row[3] | row[4] << 32] for row in rows]


@pytest.mark.parametrize("scc", [False, True])
def test_results_conditions_and_masks(scc):
    wrong = []
    for a, b in operands():
        rows = _run(a, b, scc)
        expected = []
        for text, reference in RESULTS.items():
            wide = "DD" in text
            value, condition = reference(
                a if "AA" in text else a & M32,
                b if "BB" in text else b & M32,
                scc,
                BEFORE if wide else BEFORE & M32,
            )
            result = value & M64 if wide else (value & M32) | BEFORE >> 32 << 32
            expected.append((text, result, scc if condition is None else condition, EXEC_BEFORE))
        for text, holds in CONDITIONS.items():
            condition = holds(a if "AA" in text else a & M32, b if "BB" in text else b & M32)
            expected.append((text, BEFORE, condition, EXEC_BEFORE))
        for text, (operation, saves) in MASKS.items():
            mask = operation(a, EXEC_BEFORE) & M64
            expected.append((text, EXEC_BEFORE if saves else mask, mask != 0, mask))
        wrong += [
            (text, hex(a), hex(b), [hex(x) for x in got], [hex(int(x)) for x in want])
            for got, (text, *want) in zip(rows, expected, strict=True)
            if got != [int(x) for x in want]
        ]
    assert not wrong


def test_registers_relative_to_m0():
    state = State()
    state.scalar[:20] = np.arange(20) + 100
    state.scalar[124] = 6
    after = execute(
        "s_movrels_b32 s40, s2\ns_movrels_b64 s[42:43], s[4:5]\n"
        "s_movreld_b32 s50, s1\ns_movreld_b64 s[60:61], s[2:3]",
        state,
    )
    assert list(after.scalar[[40, 42, 43, 56, 66, 67]]) == [108, 110, 111, 101, 102, 103]


def test_fields_of_the_mode_are_read_and_written():
    state = State(mode=0x3F0)
    after = execute(
        "s_getreg_b32 s0, hwreg(HW_REG_MODE)\n"
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\n"
        "s_movk_i32 s2, 5\n"
        "s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s2\n"
        "s_getreg_b32 s1, hwreg(HW_REG_MODE, 4, 6)",
        state,
    )
    assert (after.scalar[0], after.mode, after.scalar[1]) == (0x3F0, 0x353, 0x35)


def test_every_width_arrives_with_the_wait():
    data = np.random.default_rng(1).integers(0, 2**32, 64, np.uint32)
    state = State()
    state.set_scalar64(2, data.ctypes.data + 64)
    state.scalar[4] = 8
    state.scalar[20] = 7
    after = execute(
        "s_load_dword s20, s[2:3], -0x40\ns_mov_b32 s90, s20\ns_load_dwordx2 s[22:23], s[2:3], s4\n"
        "s_load_dwordx4 s[24:27], s[2:3], 0x0\ns_load_dwordx8 s[32:39], s[2:3], 0x16\n"
        "s_load_dwordx16 s[48:63], s[2:3], s4 offset:0x10\ns_waitcnt lgkmcnt(0)",
        state,
        memory=[data],
    )
    assert after.scalar[90] == 7  # before the wait
    for register, first, count in ((20, 0, 1), (22, 18, 2), (24, 16, 4), (32, 21, 8), (48, 22, 16)):
        assert np.array_equal(after.scalar[register:][:count], data[first:][:count]), count


def test_no_count_but_0_covers_scalar_loads():
    data = np.arange(4, dtype=np.uint32) + 100
    state = State()
    state.set_scalar64(2, data.ctypes.data)
    after = execute(
        "s_load_dword s20, s[2:3], 0x0\ns_load_dword s21, s[2:3], 0x4\ns_waitcnt lgkmcnt(1)\n"
        "s_mov_b32 s22, s20\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s23, s20",
        state,
        memory=[data],
    )
    assert list(after.scalar[20:24]) == [100, 101, 0, 100]


def test_buffers_are_read_as_0_past_their_end():
    data = np.random.default_rng(2).integers(0, 2**32, 64, np.uint32)
    state = State()
    for first, records, stride in ((4, 40, 0), (8, 5, 8)):
        address = data.ctypes.data
        state.scalar[first : first + 4] = (address & 0xFFFFFFFF, address >> 32 | stride << 16, records, 0)
    after = execute(
        "s_buffer_load_dwordx4 s[20:23], s[4:7], 0x20\ns_buffer_load_dwordx2 s[24:25], s[8:11], 0x24\n"
        "s_buffer_load_dword s26, s[8:11], 0x8\ns_waitcnt lgkmcnt(0)",
        state,
        memory=[data],
    )
    assert list(after.scalar[20:27]) == [data[8], data[9], 0, 0, data[9], 0, data[2]]


def test_clocks_advance():
    after = execute(
        "s_memtime s[4:5]\ns_memrealtime s[8:9]\ns_waitcnt lgkmcnt(0)\ns_memtime s[6:7]\ns_waitcnt lgkmcnt(0)"
    )
    assert after.scalar64(6) > after.scalar64(4) > after.scalar64(8) > 0


def test_an_address_without_memory_is_a_fault():
    state = State()
    state.set_scalar64(2, 0x1234560)
    place = r"0x1234564: s_load_dwordx2 .* at 0x0 of kernel test"
    with pytest.raises(DeviceFault, match=rf"read of 8 bytes at {place}"):
        execute("s_load_dwordx2 s[4:5], s[2:3], 0x4", state)
