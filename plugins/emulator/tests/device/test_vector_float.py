"""Arithmetic of fp16, fp32 and fp64 against exact numbers: rounding, denormals, NaN, signed zeros."""

import math
from fractions import Fraction

import pytest

from plugins.emulator.tests.device.exact import (
    DOUBLE,
    HALF,
    SINGLE,
    AnyNan,
    extreme,
    extreme_of_2019,
    floats,
    flushed,
    fused,
    integral,
    product,
    total,
)
from plugins.emulator.tests.device.tables import integers, signed, wrong_rows
from plugins.emulator.tests.device.wave import USUAL_MODE

pytestmark = [pytest.mark.amd]

NAMES = {"f16": HALF, "f32": SINGLE, "f64": DOUBLE}
IEEE = 1 << 9


class Arithmetic:
    """A format under a mode: sources are flushed, results rounded and flushed."""

    def __init__(self, name, mode):
        self.f = NAMES[name]
        shift = 0 if name == "f32" else 2
        self.rounding = mode >> shift & 3
        self.keeps_inputs, self.keeps_outputs = mode >> 4 + shift & 1, mode >> 5 + shift & 1
        self.ieee = bool(mode & IEEE)

    def bits(self, value):
        value &= 2 * self.f.sign - 1
        return value if self.keeps_inputs else self.f.flushed(value)

    def __call__(self, operation, keeps=False):
        def reference(x):
            value = operation(self.bits(x.a), self.bits(x.b), self.bits(x.c), self.bits(x.d))
            upper = x.d >> 16 if keeps else 0
            if isinstance(value, AnyNan):
                return AnyNan(self.f, upper)
            value = value if self.keeps_outputs else self.f.flushed(value)
            return value | upper << 16 if self.f is HALF else value

        return reference


def median(f, a, b, c, *, ieee):
    def best(x, y, *, largest):
        return extreme(f, x, y, largest=largest, ieee=ieee)

    if any(map(f.is_nan, (a, b, c))):
        return best(best(a, b, largest=False), c, largest=False)
    most = best(best(a, b, largest=True), c, largest=True)

    def is_most(bits):  # zeros are equal here, whatever their signs
        return bits == most or not f.magnitude(bits | most)

    rest = (b, c) if is_most(a) else (a, c) if is_most(b) else (a, b)
    return best(*rest, largest=True)


def fraction(f, a):
    if f.is_nan(a) or f.is_infinite(a):
        return AnyNan(f)
    value = f.value(a)
    return min(f.rounded(value - math.floor(value)), f.one - 1)


def split(f, a):
    """Return significand and exponent."""
    if f.is_nan(a) or f.is_infinite(a) or not f.magnitude(a):
        return a, 0
    value, exponent = f.value(a), 0
    while abs(value) >= 1:
        value, exponent = value / 2, exponent + 1
    while abs(value) < Fraction(1, 2):
        value, exponent = value * 2, exponent - 1
    return f.rounded(value), exponent


def rows(name, mode):
    """Return what all formats have, by the texts of instructions."""
    m = Arithmetic(name, mode)
    f, r, ieee = m.f, m.rounding, m.ieee
    d, a, b, c = (letter * (2 if name == "f64" else 1) for letter in "DABC")
    short = "" if name == "f64" else "_e32"
    half = name == "f16"
    table = {
        f"v_add_{name}{short} {d}, {a}, {b}": m(lambda a, b, c, d: total(f, a, b, r)),
        f"v_mul_{name}{short} {d}, {a}, {b}": m(lambda a, b, c, d: product(f, a, b, r)),
        f"v_fma_{name} {d}, {a}, {b}, {c}": m(lambda a, b, c, d: fused(f, a, b, c, r), half),
        f"v_min_{name}{short} {d}, {a}, {b}": m(
            lambda a, b, c, d: extreme(f, a, b, largest=False, ieee=ieee)
        ),
        f"v_max_{name}{short} {d}, {a}, {b}": m(lambda a, b, c, d: extreme(f, a, b, largest=True, ieee=ieee)),
        f"v_trunc_{name}_e32 {d}, {a}": m(lambda a, b, c, d: integral(f, a, math.trunc)),
        f"v_ceil_{name}_e32 {d}, {a}": m(lambda a, b, c, d: integral(f, a, math.ceil)),
        f"v_floor_{name}_e32 {d}, {a}": m(lambda a, b, c, d: integral(f, a, math.floor)),
        f"v_rndne_{name}_e32 {d}, {a}": m(lambda a, b, c, d: integral(f, a, round)),
    }
    if name != "f64":
        table |= {
            f"v_sub_{name}_e32 {d}, {a}, {b}": m(lambda a, b, c, d: total(f, a, b ^ f.sign, r)),
            f"v_subrev_{name}_e32 {d}, {a}, {b}": m(lambda a, b, c, d: total(f, b, a ^ f.sign, r)),
            f"v_min3_{name} {d}, {a}, {b}, {c}": m(
                lambda a, b, c, d: extreme(
                    f, extreme(f, a, b, largest=False, ieee=ieee), c, largest=False, ieee=ieee
                ),
                half,
            ),
            f"v_max3_{name} {d}, {a}, {b}, {c}": m(
                lambda a, b, c, d: extreme(
                    f, extreme(f, a, b, largest=True, ieee=ieee), c, largest=True, ieee=ieee
                ),
                half,
            ),
            f"v_med3_{name} {d}, {a}, {b}, {c}": m(lambda a, b, c, d: median(f, a, b, c, ieee=ieee), half),
        }
    if name != "f16":
        table[f"v_fmac_{name}_e32 {d}, {a}, {b}"] = m(lambda a, b, c, d: fused(f, a, b, d, r))
    if name == "f32":
        table |= {
            "v_fmamk_f32 D, A, 0x40490fdb, B": m(lambda a, b, c, d: fused(f, a, 0x40490FDB, b, r)),
            "v_fmaak_f32 D, A, B, 0x40490fdb": m(lambda a, b, c, d: fused(f, a, b, 0x40490FDB, r)),
            "v_mul_legacy_f32 D, A, B": m(
                lambda a, b, c, d: product(f, a, b, r) if f.magnitude(a) and f.magnitude(b) else 0
            ),
            "v_add_f32_e32 D, 1.0, B": m(lambda a, b, c, d: total(f, f.one, b, r)),
            "v_add_f32_e32 D, 0x7f7fffff, B": m(lambda a, b, c, d: total(f, 0x7F7FFFFF, b, r)),
        }
    return table


#: rounds everything up, down and to zero, flushes everything, leaves IEEE mode
MODES = (USUAL_MODE, USUAL_MODE | 5, USUAL_MODE | 10, USUAL_MODE | 15, 0x300, 0x350, 0x3A0, 0x1F0)


@pytest.mark.parametrize("mode", MODES, ids=hex)
@pytest.mark.parametrize("name", NAMES)
def test_arithmetic(name, mode):
    f = NAMES[name]
    for seed in (1, 2):
        sources = tuple(floats(f, 10 * seed + n) for n in range(3))
        assert not wrong_rows(rows(name, mode), sources=sources, mode=mode)


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_numbers(name):
    m = Arithmetic(name, USUAL_MODE)
    f = m.f
    d, a = ("DD", "AA") if name == "f64" else ("D", "A")
    exponent = "v_frexp_exp_i16_f16_e32" if name == "f16" else f"v_frexp_exp_i32_{name}_e32"
    mask = 0xFFFF if name == "f16" else 0xFFFFFFFF
    limits = (-(1 << 15), (1 << 15) - 1) if name == "f16" else (-(1 << 31), (1 << 31) - 1)

    def scaled(x):
        bits, power = m.bits(x.a), signed(x.b, 16 if name == "f16" else 32)
        assert limits[0] <= power <= limits[1]
        power = max(-3000, min(power, 3000))
        if f.is_nan(bits):
            return AnyNan(f)
        if f.is_infinite(bits):
            return bits
        return f.rounded(f.value(bits) * Fraction(2) ** power, negative_zero=f.negative(bits))

    table = {
        f"v_fract_{name}_e32 {d}, {a}": m(lambda a, b, c, d: fraction(f, a)),
        f"v_frexp_mant_{name}_e32 {d}, {a}": m(
            lambda a, b, c, d: AnyNan(f) if f.is_nan(a) else split(f, a)[0]
        ),
        f"{exponent} D, {a}": lambda x: split(f, m.bits(x.a))[1] & mask,
        f"v_ldexp_{name}{'_e32' if name == 'f16' else ''} {d}, {a}, B": scaled,
    }
    powers = integers(3)
    powers[::2] = [(n - 16) * {"f16": 1, "f32": 9, "f64": 68}[name] & 0xFFFFFFFF for n in range(32)]
    assert not wrong_rows(table, sources=(floats(f, 1), powers, powers))
    assert not wrong_rows(table, sources=(floats(f, 2), powers, powers))


def test_sums_of_products_with_two_roundings():
    """v_mad keeps no fp32 denormals, and rounds the product."""
    f = SINGLE

    def mad(a, b, c):
        first = product(f, *map(f.flushed, (a, b)))
        return AnyNan(f) if isinstance(first, AnyNan) else total(f, f.flushed(first), f.flushed(c))

    single = {
        "v_mad_f32 D, A, B, C": lambda x: flushed(f, mad(x.a, x.b, x.c)),
        "v_mac_f32_e32 D, A, B": lambda x: flushed(f, mad(x.a, x.b, x.d)),
        "v_madmk_f32 D, A, 0x40490fdb, B": lambda x: flushed(f, mad(x.a, 0x40490FDB, x.b)),
        "v_madak_f32 D, A, B, 0x40490fdb": lambda x: flushed(f, mad(x.a, x.b, 0x40490FDB)),
    }
    assert not wrong_rows(single, sources=tuple(floats(f, n) for n in range(3)), arch="gfx90a")

    h = Arithmetic("f16", USUAL_MODE)

    def mad16(a, b, c):
        first = product(HALF, a, b)
        return AnyNan(HALF) if isinstance(first, AnyNan) else total(HALF, first, c)

    half = {
        "v_mad_f16 D, A, B, C": h(lambda a, b, c, d: mad16(a, b, c), True),
        "v_mad_legacy_f16 D, A, B, C": h(lambda a, b, c, d: mad16(a, b, c)),
        "v_mac_f16_e32 D, A, B": h(lambda a, b, c, d: mad16(a, b, d)),
        "v_madmk_f16 D, A, 0x4248, B": h(lambda a, b, c, d: mad16(a, 0x4248, b)),
        "v_madak_f16 D, A, B, 0x4248": h(lambda a, b, c, d: mad16(a, b, 0x4248)),
        "v_fma_legacy_f16 D, A, B, C": h(lambda a, b, c, d: fused(HALF, a, b, c)),
        "v_pack_b32_f16 D, A, B": lambda x: (x.a & 0xFFFF) | (x.b & 0xFFFF) << 16,
        "v_pack_b32_f16 D, A, B op_sel:[1,1,0]": lambda x: (x.a >> 16 & 0xFFFF) | (x.b >> 16 & 0xFFFF) << 16,
    }
    assert not wrong_rows(half, sources=tuple(floats(HALF, n) for n in range(3)))


def test_minimum_and_maximum_of_gfx950_spread_nan():
    f = SINGLE
    table = {
        "v_minimum3_f32 D, A, B, C": lambda x: extreme_of_2019(f, x.a, x.b, x.c, largest=False),
        "v_maximum3_f32 D, A, B, C": lambda x: extreme_of_2019(f, x.a, x.b, x.c, largest=True),
    }
    assert not wrong_rows(table, sources=tuple(floats(f, n) for n in range(3)), arch="gfx950")
