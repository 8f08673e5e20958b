"""Conversions against exact numbers and ml_dtypes; elementary functions against numpy's fp64."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from plugins.emulator.tests.device.exact import (
    BFLOAT,
    DOUBLE,
    HALF,
    SINGLE,
    TO_ZERO,
    AnyNan,
    Near,
    Pair,
    converted,
    floats,
)
from plugins.emulator.tests.device.tables import M16, M32, clamped, integers, signed, wrong_rows
from plugins.emulator.tests.device.wave import USUAL_MODE

pytestmark = [pytest.mark.amd]


def whole(f, bits, low, high, to_integer=math.trunc):
    """Return the integer in a range that is nearest to a number; NaN becomes 0."""
    if f.is_nan(bits):
        return 0
    if f.is_infinite(bits):
        return low if f.negative(bits) else high
    return clamped(to_integer(f.value(bits)), low, high)


def normalized(f, bits, scale, low):
    if f.is_nan(bits):
        return 0
    if f.is_infinite(bits):
        return low if f.negative(bits) else scale
    return round(max(Fraction(-1 if low else 0), min(f.value(bits), Fraction(1))) * scale)


def number(f, value, mode=0):
    return f.rounded(Fraction(value), mode)


def round_half_up(value):
    """floor(x + 0.5), with a sum that is rounded to fp32."""
    sum_bits = SINGLE.rounded(value + Fraction(1, 2))
    return math.floor(SINGLE.value(sum_bits))


def test_to_integers():
    u32, s32, u16, s16 = (0, M32), (-(1 << 31), (1 << 31) - 1), (0, M16), (-(1 << 15), (1 << 15) - 1)
    single = {
        "v_cvt_u32_f32_e32 D, A": lambda x: whole(SINGLE, x.a, *u32),
        "v_cvt_i32_f32_e32 D, A": lambda x: whole(SINGLE, x.a, *s32),
        "v_cvt_flr_i32_f32_e32 D, A": lambda x: whole(SINGLE, x.a, *s32, math.floor),
        "v_cvt_rpi_i32_f32_e32 D, A": lambda x: whole(SINGLE, x.a, *s32, round_half_up),
        "v_cvt_pknorm_u16_f32 D, A, B": lambda x: (
            normalized(SINGLE, x.a, M16, 0) | normalized(SINGLE, x.b, M16, 0) << 16
        ),
        "v_cvt_pknorm_i16_f32 D, A, B": lambda x: (
            normalized(SINGLE, x.a, 32767, -32767) & M16
            | (normalized(SINGLE, x.b, 32767, -32767) & M16) << 16
        ),
        "v_cvt_pk_u8_f32 D, A, 2, C": lambda x: x.c & 0xFF00FFFF | whole(SINGLE, x.a, 0, 255) << 16,
        "v_cvt_pkaccum_u8_f32 D, A, 3": lambda x: x.d & 0x00FFFFFF | whole(SINGLE, x.a, 0, 255) << 24,
    }
    # numbers of the size of the integers, too
    for seed in (1, 2):
        sources = [floats(SINGLE, seed), floats(SINGLE, seed + 10), integers(3)]
        sources[0][::3] = [(0x41000000 + n * 0x00C12345) & M32 ^ (n & 1) << 31 for n in range(22)]
        assert not wrong_rows(single, sources=tuple(sources))
    double = {
        "v_cvt_u32_f64_e32 D, AA": lambda x: whole(DOUBLE, x.a, *u32),
        "v_cvt_i32_f64_e32 D, AA": lambda x: whole(DOUBLE, x.a, *s32),
    }
    sources = [floats(DOUBLE, 1), integers(2), integers(3)]
    sources[0][::2] = [int(np.float64((n - 16) * 2.0**28 + 0.75).view(np.uint64)) for n in range(32)]
    assert not wrong_rows(double, sources=tuple(sources))
    half = {
        "v_cvt_u16_f16_e32 D, A": lambda x: whole(HALF, x.a & M16, *u16),
        "v_cvt_i16_f16_e32 D, A": lambda x: whole(HALF, x.a & M16, *s16) & M16,
        "v_cvt_norm_u16_f16_e32 D, A": lambda x: normalized(HALF, x.a & M16, M16, 0),
        "v_cvt_norm_i16_f16_e32 D, A": lambda x: normalized(HALF, x.a & M16, 32767, -32767) & M16,
        "v_cvt_pknorm_u16_f16 D, A, B": lambda x: (
            normalized(HALF, x.a & M16, M16, 0) | normalized(HALF, x.b & M16, M16, 0) << 16
        ),
        "v_cvt_pknorm_i16_f16 D, A, B": lambda x: (
            normalized(HALF, x.a & M16, 32767, -32767) & M16
            | (normalized(HALF, x.b & M16, 32767, -32767) & M16) << 16
        ),
    }
    assert not wrong_rows(half, sources=tuple(floats(HALF, n) for n in range(3)))
    packed = {
        "v_cvt_pk_u16_u32 D, A, B": lambda x: min(x.a, M16) | min(x.b, M16) << 16,
        "v_cvt_pk_i16_i32 D, A, B": lambda x: (
            clamped(signed(x.a, 32), *s16) & M16 | (clamped(signed(x.b, 32), *s16) & M16) << 16
        ),
    }
    assert not wrong_rows(packed, 1)


@pytest.mark.parametrize("rounding", range(4))
def test_from_integers_and_between_formats(rounding):
    mode = USUAL_MODE | 5 * rounding
    r = rounding
    table = {
        "v_cvt_f32_u32_e32 D, A": lambda x: number(SINGLE, x.a, r),
        "v_cvt_f32_i32_e32 D, A": lambda x: number(SINGLE, signed(x.a, 32), r),
        "v_cvt_f64_u32_e32 DD, A": lambda x: number(DOUBLE, x.a),
        "v_cvt_f64_i32_e32 DD, A": lambda x: number(DOUBLE, signed(x.a, 32)),
        "v_cvt_f16_u16_e32 D, A": lambda x: number(HALF, x.a & M16, r),
        "v_cvt_f16_i16_e32 D, A": lambda x: number(HALF, signed(x.a, 16), r),
        **{
            f"v_cvt_f32_ubyte{n}_e32 D, A": lambda x, n=n: number(SINGLE, x.a >> 8 * n & 255)
            for n in range(4)
        },
        "v_cvt_off_f32_i4_e32 D, A": lambda x: SINGLE.rounded(Fraction(signed(x.a, 4), 16)),
    }
    assert not wrong_rows(table, 1, mode=mode)
    single = {
        "v_cvt_f16_f32_e32 D, A": lambda x: converted(SINGLE, x.a, HALF, r),
        "v_cvt_f64_f32_e32 DD, A": lambda x: converted(SINGLE, x.a, DOUBLE),
        # whatever the mode
        "v_cvt_pkrtz_f16_f32 D, A, B": lambda x: Pair(
            converted(SINGLE, x.a, HALF, TO_ZERO), converted(SINGLE, x.b, HALF, TO_ZERO)
        ),
    }
    for seed in range(4):
        first = floats(SINGLE, seed)
        # around what fp16 can hold, and its ties
        first[::4] = [(0x33000000 + n * 0x00E00000 + (n % 3) * 0x1000 + n % 2) & M32 for n in range(16)]
        sources = (first, floats(SINGLE, seed + 10), first)
        assert not wrong_rows(single, sources=sources, mode=mode)
    double = {"v_cvt_f32_f64_e32 D, AA": lambda x: converted(DOUBLE, x.a, SINGLE, r)}
    first = floats(DOUBLE, 1)
    # next to fp32 numbers
    with np.errstate(invalid="ignore"):
        near = floats(SINGLE, 3)[:32].astype(np.uint32).view(np.float32).astype(np.float64) * (1 + 2.0**-40)
    first[::2] = near.view(np.uint64)
    assert not wrong_rows(double, sources=(first, first, first), mode=mode)
    half = {"v_cvt_f32_f16_e32 D, A": lambda x: converted(HALF, x.a & M16, SINGLE)}
    assert not wrong_rows(half, sources=tuple(floats(HALF, n) for n in range(3)), mode=mode)


def test_all_fp16_values_survive_a_round_trip():
    for first in range(0, 1 << 16, 4096):
        bits = np.arange(first, first + 64 * 64, 64, dtype=np.uint64)
        for offset in (0, 1, 31, 63):
            text = "v_cvt_f32_f16_e32 D, A\nv_cvt_f16_f32_e32 D, D"
            table = {text: lambda x: AnyNan(HALF) if HALF.is_nan(x.a) else x.a}
            assert not wrong_rows(table, sources=(bits + np.uint64(offset),) * 3)


def test_conversions_of_gfx950():
    def brain(bits):
        return converted(SINGLE, bits, BFLOAT)

    table = {
        "v_cvt_pk_bf16_f32 D, A, B": lambda x: Pair(brain(x.a), brain(x.b)),
        "v_cvt_pk_f16_f32 D, A, B": lambda x: Pair(
            converted(SINGLE, x.a, HALF), converted(SINGLE, x.b, HALF)
        ),
        "v_cvt_f32_bf16_e32 D, A": lambda x: x.a << 16,
    }
    for seed in (1, 2):
        sources = tuple(floats(SINGLE, seed + 10 * n) for n in range(3))
        assert not wrong_rows(table, sources=sources, arch="gfx950")
    # ml_dtypes rounds as the instruction does
    values = floats(SINGLE, 5).astype(np.uint32)
    finite = np.isfinite(values.view(np.float32))
    with np.errstate(invalid="ignore"):
        expected = values.view(np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)
    got = [BFLOAT.rounded(SINGLE.value(int(v)), negative_zero=bool(v >> 31)) for v in values[finite]]
    assert np.array_equal(expected[finite], got)


def test_random_bits_decide_roundings_of_gfx950():
    """Bits are added below those that stay; what is exact stays as it is."""

    def stochastic(x, dropped, shift):
        magnitude = x.a & 0x7FFFFFFF
        return ((magnitude + (x.b >> 32 - dropped)) >> dropped) - shift | x.a >> 16 & 0x8000 | x.d & ~M16

    table = {
        "v_cvt_sr_bf16_f32 D, A, B": lambda x: stochastic(x, 16, 0),
        "v_cvt_sr_f16_f32 D, A, B": lambda x: stochastic(x, 13, 112 << 10),
    }
    numbers = np.array([0x3F800000 + n * 0x00012345 ^ (n & 1) << 31 for n in range(64)], np.uint64)
    assert not wrong_rows(table, sources=(numbers, integers(2), integers(3)), arch="gfx950")


FUNCTIONS = {
    "rcp": lambda v: 1 / v,
    "rsq": lambda v: 1 / np.sqrt(v),
    "sqrt": np.sqrt,
    "exp": np.exp2,
    "log": np.log2,
    "sin": lambda v: np.sin(2 * np.pi * (v - np.round(v))),
    "cos": lambda v: np.cos(2 * np.pi * (v - np.round(v))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("f", "suffix"), [(HALF, "f16"), (SINGLE, "f32")], ids=["f16", "f32"])
def test_elementary_functions(name, f, suffix):
    kind, words = (np.float16, np.uint16) if f is HALF else (np.float32, np.uint32)

    def reference(x):
        bits = x.a & (2 * f.sign - 1)
        # fp32 denormals are no inputs and no outputs of all but the square root
        flushes = f is SINGLE and name != "sqrt"
        with np.errstate(all="ignore"):
            value = np.array([f.flushed(bits) if flushes else bits], words).view(kind).astype(np.float64)
            result = FUNCTIONS[name](value).astype(kind)
        expected = int(result.view(words)[0])
        return Near(f, f.flushed(expected) if flushes else expected)

    text = f"v_{name}_{suffix}_e32 D, A"
    for seed in (1, 2):
        first = floats(f, seed)
        assert not wrong_rows({text: reference}, sources=(first, first, first))
    if name == "sqrt":
        return
    if f is SINGLE and name == "rcp":
        first = floats(f, 3)
        assert not wrong_rows({"v_rcp_iflag_f32_e32 D, A": reference}, sources=(first, first, first))


@pytest.mark.parametrize("name", ["rcp", "rsq", "sqrt"])
def test_elementary_functions_of_fp64(name):
    def reference(x):
        with np.errstate(all="ignore"):
            result = FUNCTIONS[name](np.array([x.a], np.uint64).view(np.float64))
        return Near(DOUBLE, int(result.view(np.uint64)[0]))

    first = floats(DOUBLE, 1)
    assert not wrong_rows({f"v_{name}_f64_e32 DD, AA": reference}, sources=(first, first, first))
