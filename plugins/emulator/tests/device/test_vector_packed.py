"""Packed and mixed operations: two results of a register, products of short vectors."""

import numpy as np
import pytest

from plugins.emulator.tests.device.exact import (
    BFLOAT,
    HALF,
    SINGLE,
    AnyNan,
    Pair,
    converted,
    extreme,
    extreme_of_2019,
    floats,
    flushed,
    fused,
    product,
    total,
)
from plugins.emulator.tests.device.tables import M16, M32, clamped, integers, signed, wrong_rows
from plugins.emulator.tests.device.wave import USUAL_MODE

pytestmark = [pytest.mark.amd]


def on_parts(operation, bits=16, low=0, high=7):
    """Return an operation on both halves; ``low`` and ``high``: which sources are upper halves."""
    mask = (1 << bits) - 1

    def part(x, upper):
        sources = enumerate((x.a, x.b, x.c))
        return operation(*(source >> bits * (upper >> n & 1) & mask for n, source in sources))

    return lambda x: Pair(part(x, low), part(x, high), bits)


def words(operation, *, sign=False):
    def of_bits(a, b, c):
        values = [signed(value, 16) if sign else value for value in (a, b, c)]
        return operation(*values) & M16

    return of_bits


def pairs(f, seed):
    if f.bits == 16:
        return (floats(f, seed) & np.uint64(M16)) | (floats(f, seed + 50) & np.uint64(M16)) << np.uint64(16)
    return floats(f, seed) | floats(f, seed + 50) << np.uint64(32)


INTEGERS = {
    "v_pk_add_u16 D, A, B": on_parts(words(lambda a, b, c: a + b)),
    "v_pk_sub_u16 D, A, B": on_parts(words(lambda a, b, c: a - b)),
    "v_pk_add_i16 D, A, B": on_parts(words(lambda a, b, c: a + b)),
    "v_pk_sub_i16 D, A, B": on_parts(words(lambda a, b, c: a - b)),
    "v_pk_add_u16 D, A, B clamp": on_parts(words(lambda a, b, c: min(a + b, M16))),
    "v_pk_sub_u16 D, A, B clamp": on_parts(words(lambda a, b, c: max(a - b, 0))),
    "v_pk_add_i16 D, A, B clamp": on_parts(words(lambda a, b, c: clamped(a + b, -32768, 32767), sign=True)),
    "v_pk_sub_i16 D, A, B clamp": on_parts(words(lambda a, b, c: clamped(a - b, -32768, 32767), sign=True)),
    "v_pk_mad_u16 D, A, B, C": on_parts(words(lambda a, b, c: a * b + c)),
    "v_pk_mad_i16 D, A, B, C": on_parts(words(lambda a, b, c: a * b + c)),
    "v_pk_mad_u16 D, A, B, C clamp": on_parts(words(lambda a, b, c: min(a * b + c, M16))),
    "v_pk_mad_i16 D, A, B, C clamp": on_parts(
        words(lambda a, b, c: clamped(a * b + c, -32768, 32767), sign=True)
    ),
    "v_pk_mul_lo_u16 D, A, B": on_parts(words(lambda a, b, c: a * b)),
    "v_pk_lshlrev_b16 D, A, B": on_parts(words(lambda a, b, c: b << (a & 15))),
    "v_pk_lshrrev_b16 D, A, B": on_parts(words(lambda a, b, c: b >> (a & 15))),
    "v_pk_ashrrev_i16 D, A, B": on_parts(words(lambda a, b, c: b >> (a & 15), sign=True)),
    "v_pk_min_u16 D, A, B": on_parts(words(lambda a, b, c: min(a, b))),
    "v_pk_max_u16 D, A, B": on_parts(words(lambda a, b, c: max(a, b))),
    "v_pk_min_i16 D, A, B": on_parts(words(lambda a, b, c: min(a, b), sign=True)),
    "v_pk_max_i16 D, A, B": on_parts(words(lambda a, b, c: max(a, b), sign=True)),
    "v_pk_add_u16 D, A, B op_sel:[1,0] op_sel_hi:[0,1]": on_parts(
        words(lambda a, b, c: a + b), low=0b01, high=0b10
    ),
    "v_pk_sub_u16 D, A, B op_sel_hi:[1,0]": on_parts(words(lambda a, b, c: a - b), high=0b01),
    "v_pk_add_u16 D, A, -1 op_sel_hi:[1,0]": on_parts(words(lambda a, b, c: a - 1)),
    "v_pk_mad_u16 D, A, B, C op_sel:[1,1,0] op_sel_hi:[0,0,0]": on_parts(
        words(lambda a, b, c: a * b + c), low=0b011, high=0
    ),
}


def dot(x, bits, *, sign, total_of=None):
    def elements(value):
        parts = [value >> first & ((1 << bits) - 1) for first in range(0, 32, bits)]
        return [signed(part, bits) for part in parts] if sign else parts

    start = x.c if total_of is None else total_of
    start = signed(start, 32) if sign else start
    return start + sum(p * q for p, q in zip(elements(x.a), elements(x.b), strict=True))


DOTS = {}
for _name, _bits, _sign in (
    ("dot2_i32_i16", 16, True),
    ("dot2_u32_u16", 16, False),
    ("dot4_i32_i8", 8, True),
    ("dot4_u32_u8", 8, False),
    ("dot8_i32_i4", 4, True),
    ("dot8_u32_u4", 4, False),
):
    _low, _high = (-(1 << 31), (1 << 31) - 1) if _sign else (0, M32)
    DOTS[f"v_{_name} D, A, B, C"] = lambda x, b=_bits, s=_sign: dot(x, b, sign=s)
    DOTS[f"v_{_name} D, A, B, C clamp"] = lambda x, b=_bits, s=_sign, low=_low, high=_high: clamped(
        dot(x, b, sign=s), low, high
    )
for _name, _bits in (("dot2c_i32_i16", 16), ("dot4c_i32_i8", 8), ("dot8c_i32_i4", 4)):
    DOTS[f"v_{_name}_e32 D, A, B"] = lambda x, b=_bits: dot(x, b, sign=True, total_of=x.d)


def test_packed_integers():
    assert not wrong_rows(INTEGERS, 1)
    assert not wrong_rows(INTEGERS, 2, lanes=0x00FF_1234_8000_0001)


def test_products_of_short_vectors_of_integers():
    assert not wrong_rows(DOTS, 1)
    assert not wrong_rows(DOTS, 2, lanes=0x00FF_1234_8000_0001)
    # later architectures have no choice of halves here
    swapped = {
        "v_dot2_i32_i16 D, A, B, C op_sel:[1,0,0] op_sel_hi:[0,1,1]": lambda x: dot(
            x._replace(a=x.a >> 16 | (x.a & M16) << 16), 16, sign=True
        )
    }
    assert not wrong_rows(swapped, 3, arch="gfx90a")


@pytest.mark.parametrize("rounding", range(4))
def test_packed_fp16(rounding):
    f, r, sign = HALF, rounding, HALF.sign

    def best(largest):
        return lambda a, b, c: extreme(f, a, b, largest=largest)

    table = {
        "v_pk_add_f16 D, A, B": on_parts(lambda a, b, c: total(f, a, b, r)),
        "v_pk_mul_f16 D, A, B": on_parts(lambda a, b, c: product(f, a, b, r)),
        "v_pk_fma_f16 D, A, B, C": on_parts(lambda a, b, c: fused(f, a, b, c, r)),
        "v_pk_min_f16 D, A, B": on_parts(best(False)),
        "v_pk_max_f16 D, A, B": on_parts(best(True)),
        "v_pk_fmac_f16 D, A, B": lambda x: on_parts(lambda a, b, c: fused(f, a, b, c, r))(x._replace(c=x.d)),
        "v_pk_add_f16 D, A, B op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0] neg_hi:[0,1]": lambda x: Pair(
            total(f, x.a >> 16 ^ sign, x.b & M16, r), total(f, x.a & M16, x.b >> 16 ^ sign, r)
        ),
        "v_pk_mul_f16 D, A, 2.0 op_sel_hi:[1,0]": on_parts(lambda a, b, c: product(f, a, 0x4000, r)),
    }
    for seed in (1, 2):
        sources = tuple(pairs(f, seed + 10 * n) for n in range(3))
        assert not wrong_rows(table, sources=sources, mode=USUAL_MODE | 5 * r)


def test_packed_fp16_without_denormals_and_clamped():
    f = HALF
    table = {
        "v_pk_mul_f16 D, A, B": on_parts(lambda a, b, c: flushed(f, product(f, f.flushed(a), f.flushed(b))))
    }
    sources = tuple(pairs(f, n) for n in range(3))
    assert not wrong_rows(table, sources=sources, mode=0x330)

    def bounded(value):
        return 0 if isinstance(value, AnyNan) or f.negative(value) else min(value, f.one)

    table = {"v_pk_fma_f16 D, A, B, C clamp": on_parts(lambda a, b, c: bounded(fused(f, a, b, c)))}
    assert not wrong_rows(table, sources=sources)


@pytest.mark.parametrize("rounding", range(4))
def test_pairs_of_fp32(rounding):
    f, r, sign = SINGLE, rounding, SINGLE.sign
    table = {
        "v_pk_add_f32 DD, AA, BB": on_parts(lambda a, b, c: total(f, a, b, r), 32),
        "v_pk_mul_f32 DD, AA, BB": on_parts(lambda a, b, c: product(f, a, b, r), 32),
        "v_pk_fma_f32 DD, AA, BB, CC": on_parts(lambda a, b, c: fused(f, a, b, c, r), 32),
        "v_pk_add_f32 DD, AA, BB op_sel:[0,1] op_sel_hi:[1,0] neg_lo:[0,1] neg_hi:[1,0]": lambda x: Pair(
            total(f, x.a & M32, x.b >> 32 ^ sign, r), total(f, x.a >> 32 ^ sign, x.b & M32, r), 32
        ),
        "v_pk_fma_f32 DD, AA, BB, CC op_sel_hi:[1,0,0]": on_parts(
            lambda a, b, c: fused(f, a, b, c, r), 32, high=1
        ),
        "v_pk_mul_f32 DD, AA, 2.0 op_sel_hi:[1,0]": on_parts(
            lambda a, b, c: product(f, a, 0x40000000, r), 32
        ),
        "v_pk_mov_b32 DD, AA, BB op_sel:[0,1]": lambda x: (x.a & M32) | (x.b >> 32) << 32,
        "v_pk_mov_b32 DD, AA, BB op_sel:[1,0]": lambda x: x.a >> 32 | (x.b & M32) << 32,
    }
    sources = tuple(pairs(f, 10 * n) for n in range(3))
    assert not wrong_rows(table, sources=sources, mode=USUAL_MODE | 5 * r)
    assert not wrong_rows(table, sources=sources, mode=USUAL_MODE | 5 * r, lanes=0xFF)


def test_products_of_pairs_of_floating_point():
    """Products are exact, sums are rounded one after the other."""

    def dot2(f, a, b, c, *, sum_first):
        def multiplied(shift):
            left, right = (converted(f, value >> shift & M16, SINGLE) for value in (a, b))
            return AnyNan(SINGLE) if AnyNan in map(type, (left, right)) else product(SINGLE, left, right)

        terms = [c, multiplied(0), multiplied(16)] if sum_first else [multiplied(0), multiplied(16), c]
        result = terms[0]
        for term in terms[1:]:
            if isinstance(result, AnyNan) or isinstance(term, AnyNan):
                return AnyNan(SINGLE)
            result = total(SINGLE, result, term)
        return result

    f16 = (*(pairs(HALF, n) for n in range(2)), floats(SINGLE, 3))
    table = {
        "v_dot2_f32_f16 D, A, B, C": lambda x: dot2(HALF, x.a, x.b, x.c, sum_first=True),
        "v_dot2c_f32_f16_e32 D, A, B": lambda x: dot2(HALF, x.a, x.b, x.d, sum_first=True),
        "v_dot2_f32_f16 D, A, B, 1.0": lambda x: dot2(HALF, x.a, x.b, SINGLE.one, sum_first=True),
        "v_dot2_f32_f16 D, A, B, C neg_lo:[1,0,0] neg_hi:[1,0,0]": lambda x: dot2(
            HALF, x.a ^ 0x80008000, x.b, x.c, sum_first=True
        ),
    }
    assert not wrong_rows(table, sources=f16)
    # exponents of bf16 are those of fp32: products may have to be rounded where they are denormal
    random = np.random.default_rng(1)
    brain = tuple(
        random.integers(0, 1 << 32, 64, np.uint64) & np.uint64(0xBFFFBFFF) | np.uint64(0x30003000)
        for _ in range(2)
    )
    table = {
        "v_dot2_f32_bf16 D, A, B, C": lambda x: dot2(BFLOAT, x.a, x.b, x.c, sum_first=False),
        "v_dot2c_f32_bf16_e32 D, A, B": lambda x: dot2(BFLOAT, x.a, x.b, x.d, sum_first=True),
    }
    assert not wrong_rows(table, sources=(*brain, floats(SINGLE, 3)), arch="gfx950")


@pytest.mark.parametrize("rounding", range(4))
def test_fused_operations_of_mixed_precision(rounding):
    """Each source is fp32, or a half of a register; results of fp16 are rounded to fp32 first."""

    def wide(bits):
        value = converted(HALF, bits, SINGLE)
        return 0x7FC00000 if isinstance(value, AnyNan) else value

    def to_half(value):
        return AnyNan(HALF) if isinstance(value, AnyNan) else converted(SINGLE, value, HALF, rounding)

    def f(a, b, c):
        return fused(SINGLE, a, b, c, rounding)

    table = {
        "v_fma_mix_f32 D, A, B, C": lambda x: f(x.a, x.b, x.c),
        "v_fma_mix_f32 D, A, B, C op_sel:[0,1,0] op_sel_hi:[1,1,0]": lambda x: f(
            wide(x.a & M16), wide(x.b >> 16), x.c
        ),
        "v_fma_mix_f32 D, -A, |B|, C op_sel:[1,0,1] op_sel_hi:[1,0,1]": lambda x: f(
            wide(x.a >> 16 ^ 0x8000), x.b & 0x7FFFFFFF, wide(x.c >> 16)
        ),
        "v_fma_mixlo_f16 D, A, B, C op_sel_hi:[1,1,0]": lambda x: Pair(
            to_half(f(wide(x.a & M16), wide(x.b & M16), x.c)), x.d >> 16
        ),
        "v_fma_mixhi_f16 D, A, B, C op_sel:[1,1,1] op_sel_hi:[1,1,1]": lambda x: Pair(
            x.d & M16, to_half(f(wide(x.a >> 16), wide(x.b >> 16), wide(x.c >> 16)))
        ),
    }
    for sources in (tuple(pairs(HALF, n) for n in range(3)), tuple(floats(SINGLE, n) for n in range(3))):
        assert not wrong_rows(table, sources=sources, mode=USUAL_MODE | 5 * rounding)


def test_packed_extremes_of_gfx950_spread_nan():
    f = HALF
    table = {
        "v_pk_minimum3_f16 D, A, B, C": on_parts(lambda a, b, c: extreme_of_2019(f, a, b, c, largest=False)),
        "v_pk_maximum3_f16 D, A, B, C": on_parts(lambda a, b, c: extreme_of_2019(f, a, b, c, largest=True)),
    }
    assert not wrong_rows(table, sources=tuple(pairs(f, n) for n in range(3)), arch="gfx950")


def test_packed_operations_take_scalars():
    table = {"v_pk_add_u16 D, A, s8": lambda x: Pair((x.a + 0x5678) & M16, ((x.a >> 16) + 0x00FF) & M16)}
    assert not wrong_rows(table, sources=tuple(integers(n) for n in range(3)))
