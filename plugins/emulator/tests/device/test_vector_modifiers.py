"""Modifiers: sub-dword selections, values of other lanes, signs, clamping, output modifiers."""

from fractions import Fraction

import numpy as np
import pytest

from plugins.emulator.tests.device.exact import HALF, SINGLE, AnyNan, floats, fused, total
from plugins.emulator.tests.device.tables import M16, M32, integers, signed, wrong_rows
from plugins.emulator.tests.device.wave import ALL_LANES, State, execute

pytestmark = [pytest.mark.amd]

#: first bit and number of bits
SELECTIONS = {
    **{f"BYTE_{n}": (8 * n, 8) for n in range(4)},
    **{f"WORD_{n}": (16 * n, 16) for n in range(2)},
    "DWORD": (0, 32),
}


def selected(value, name, *, sext=False):
    first, count = SELECTIONS[name]
    bits = value >> first & ((1 << count) - 1)
    return signed(bits, count) & M32 if sext else bits


def placed(value, name, rest, before):
    first, count = SELECTIONS[name]
    bits = value & ((1 << count) - 1)
    if count == 32:
        return bits
    above = {"UNUSED_PAD": 0, "UNUSED_SEXT": -(bits >> (count - 1)) << first + count}
    if rest == "UNUSED_PRESERVE":
        return bits << first | before & ~(((1 << count) - 1) << first)
    return (bits << first | above[rest]) & M32


def test_sub_dword_selections():
    table = {}
    for n, name in enumerate(SELECTIONS):
        other = list(SELECTIONS)[(3 * n + 1) % 7]
        for rest in ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"):
            text = f"v_add_u32_sdwa D, A, B dst_sel:{name} dst_unused:{rest} src0_sel:{other} src1_sel:{name}"
            table[text] = lambda x, name=name, other=other, rest=rest: placed(
                selected(x.a, other) + selected(x.b, name), name, rest, x.d
            )
        text = f"v_sub_u32_sdwa D, sext(A), sext(B) dst_sel:DWORD src0_sel:{name} src1_sel:{other}"
        table[text] = lambda x, name=name, other=other: (
            selected(x.a, name, sext=True) - selected(x.b, other, sext=True)
        )
    table["v_mov_b32_sdwa D, A dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0"] = lambda x: (
        x.a << 16 | x.d & M16
    )
    table["v_lshlrev_b32_sdwa D, A, sext(B) dst_sel:DWORD src0_sel:BYTE_1 src1_sel:WORD_1"] = lambda x: (
        signed(x.b >> 16, 16) << (x.a >> 8 & 31)
    )
    table["v_or_b32_sdwa D, s1, B dst_sel:DWORD src0_sel:DWORD src1_sel:WORD_1"] = lambda x: x.b >> 16
    table["v_cmp_eq_u32_sdwa M, A, B src0_sel:BYTE_0 src1_sel:BYTE_3"] = lambda x: x.a & 255 == x.b >> 24
    assert not wrong_rows(table, 1)
    assert not wrong_rows(table, 2, lanes=0x00FF123400000001)


def test_sub_dword_operands_of_fp16():
    def half(operation):
        def reference(x):
            value = operation(x)
            return AnyNan(HALF) if isinstance(value, AnyNan) else value

        return reference

    table = {
        "v_add_f16_sdwa D, A, -B dst_sel:DWORD src0_sel:WORD_1 src1_sel:WORD_0": half(
            lambda x: total(HALF, x.a >> 16, (x.b & M16) ^ 0x8000)
        ),
        "v_add_f16_sdwa D, |A|, B dst_sel:DWORD src0_sel:WORD_0 src1_sel:WORD_1": half(
            lambda x: total(HALF, x.a & 0x7FFF, x.b >> 16)
        ),
    }
    sources = tuple(floats(HALF, n) | floats(HALF, 10 + n) << np.uint64(16) for n in range(3))
    assert not wrong_rows(table, sources=sources)


def dpp_source(control, lane):
    """Return the lane that is read, as the ISA describes the controls."""
    name, _, argument = control.partition(":")
    row, column = divmod(lane, 16)
    n = int(argument) if argument.isdigit() else 0
    if name == "quad_perm":
        return lane // 4 * 4 + [int(digit) for digit in argument.strip("[]").split(",")][lane % 4]
    if name == "row_newbcast":
        return 16 * row + n
    if name == "row_bcast":
        if n == 15:
            return 16 * row - 1 if row else None
        return 31 if lane >= 32 else None
    moved = {
        "row_shl": column + n,
        "row_shr": column - n,
        "row_ror": (column - n) % 16,
        "row_mirror": 15 - column,
        "row_half_mirror": column ^ 7,
    }
    if name in moved:
        return 16 * row + moved[name] if 0 <= moved[name] < 16 else None
    whole = {
        "wave_shl": lane + 1,
        "wave_shr": lane - 1,
        "wave_rol": (lane + 1) % 64,
        "wave_ror": (lane - 1) % 64,
    }
    source = whole[name]
    return source if 0 <= source < 64 else None


DPP_CONTROLS = (
    "quad_perm:[1,0,3,2]",
    "quad_perm:[3,3,0,2]",
    *(f"row_shl:{n}" for n in (1, 7, 15)),
    *(f"row_shr:{n}" for n in (1, 8, 15)),
    *(f"row_ror:{n}" for n in (1, 5, 12)),
    "row_mirror",
    "row_half_mirror",
    "wave_shl:1",
    "wave_shr:1",
    "wave_rol:1",
    "wave_ror:1",
    "row_bcast:15",
    "row_bcast:31",
    "row_newbcast:0",
    "row_newbcast:11",
)


@pytest.mark.parametrize("lanes", [ALL_LANES, 0xFFF0_8421_FFFF_0FF3])
@pytest.mark.parametrize("bound", [False, True], ids=["keep", "bound_ctrl"])
def test_values_of_other_lanes(bound, lanes):
    values = [int(value) & M32 for value in integers(5)]
    # all that any architecture has; the wave shifts are those of gfx90a's predecessors, too
    table = {}
    for n, control in enumerate(DPP_CONTROLS):
        rows, banks = ((0xF, 0xF), (0xA, 0xF), (0xF, 0x5), (0x6, 0xB))[n % 4]
        text = f"v_add_u32_dpp D, A, B {control} row_mask:{rows:#x} bank_mask:{banks:#x}"

        def reference(x, control=control, rows=rows, banks=banks):
            source = dpp_source(control, x.number)
            valid = source is not None and lanes >> source & 1
            chosen = rows >> x.number // 16 & 1 and banks >> x.number // 4 % 4 & 1
            if not chosen or not (valid or bound):
                return x.d
            return (values[source] if valid else 0) + x.b

        table[text + (" bound_ctrl:0" if bound else "")] = reference
    sources = (np.array(values, np.uint64), integers(6), integers(7))
    assert not wrong_rows(table, sources=sources, lanes=lanes)


def test_signs_clamping_and_output_modifiers_of_fp32():
    f = SINGLE
    one = f.one

    def bounded(value, *, nan=True):
        if isinstance(value, AnyNan):
            return 0 if nan else value
        return 0 if f.negative(value) or not value else min(value, one)

    def times(value, power):
        """Without denormals; zeros lose their sign."""
        if isinstance(value, AnyNan) or f.is_infinite(value):
            return value
        result = f.rounded(f.value(f.flushed(value)) * Fraction(2) ** power)
        return f.flushed(result) if f.magnitude(f.flushed(result)) else 0

    signs = {
        "v_add_f32_e64 D, -A, |B|": lambda x: total(f, x.a ^ f.sign, f.magnitude(x.b)),
        "v_fma_f32 D, -|A|, B, -C": lambda x: fused(f, x.a | f.sign, x.b, x.c ^ f.sign),
        "v_add_f32_dpp D, -A, |B| quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf": lambda x: total(
            f, x.a ^ f.sign, f.magnitude(x.b)
        ),
        "v_add_f32_sdwa D, -|A|, B dst_sel:DWORD src0_sel:DWORD src1_sel:DWORD": lambda x: total(
            f, x.a | f.sign, x.b
        ),
        "v_add_f32_e64 D, A, B mul:2": lambda x: total(f, x.a, x.b),  # denormals are kept: no effect
    }
    sources = tuple(floats(f, n) for n in range(3))
    assert not wrong_rows(signs, sources=sources)
    clamps = {
        "v_add_f32_e64 D, A, B clamp": lambda x: bounded(total(f, x.a, x.b)),
        "v_fma_f32 D, A, B, C clamp": lambda x: bounded(fused(f, x.a, x.b, x.c)),
    }
    assert not wrong_rows(clamps, sources=sources)
    # without DX10_CLAMP NaN stays
    clamps["v_add_f32_e64 D, A, B clamp"] = lambda x: bounded(total(f, x.a, x.b), nan=False)
    clamps["v_fma_f32 D, A, B, C clamp"] = lambda x: bounded(fused(f, x.a, x.b, x.c), nan=False)
    assert not wrong_rows(clamps, sources=sources, mode=0x2F0)

    def flushed_sum(x):
        return total(f, f.flushed(x.a), f.flushed(x.b))

    modified = {
        f"v_add_f32_e64 D, A, B {text}": lambda x, power=power: times(flushed_sum(x), power)
        for text, power in (("mul:2", 1), ("mul:4", 2), ("div:2", -1))
    }
    assert not wrong_rows(modified, sources=sources, mode=0x1C0)
    # IEEE mode knows no output modifiers
    plain = {
        "v_add_f32_e64 D, A, B mul:4": lambda x: (
            value if isinstance(value := flushed_sum(x), AnyNan) else f.flushed(value)
        )
    }
    assert not wrong_rows(plain, sources=sources, mode=0x3C0)


def test_halves_of_fp16_operands():
    f = HALF

    def kept(value, x, *, upper=False):
        if isinstance(value, AnyNan):
            return AnyNan(f, x.d >> 16) if not upper else _UpperNan()
        return value << 16 | x.d & M16 if upper else value | x.d & ~M16

    table = {
        "v_fma_f16 D, A, B, C op_sel:[1,0,1,0]": lambda x: kept(fused(f, x.a >> 16, x.b & M16, x.c >> 16), x),
        "v_fma_f16 D, -A, |B|, C op_sel:[0,1,0,1]": lambda x: kept(
            fused(f, (x.a & M16) ^ 0x8000, x.b >> 16 & 0x7FFF, x.c & M16), x, upper=True
        ),
    }
    sources = tuple(floats(f, n) & np.uint64(M16) | floats(f, 10 + n) << np.uint64(16) for n in range(3))
    sources = tuple(source & np.uint64(M32) for source in sources)
    assert not wrong_rows(table, sources=sources)


class _UpperNan:
    def matches(self, bits, lane):
        return HALF.is_nan(bits >> 16) and bits & M16 == lane.d & M16


def test_dpp_of_pairs_of_registers():
    state = State()
    state.vector[2], state.vector[3] = np.arange(64), np.arange(64) + 1000
    after = execute("v_mov_b64_dpp v[4:5], v[2:3] row_newbcast:3 row_mask:0xf bank_mask:0xf", state)
    rows = np.arange(64) // 16 * 16 + 3
    assert np.array_equal(after.vector[4], rows)
    assert np.array_equal(after.vector[5], rows + 1000)
