"""Binary floating-point arithmetic on exact numbers: the reference of instructions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

NEAREST, UP, DOWN, TO_ZERO = 0, 1, 2, 3


@dataclass(frozen=True)
class Binary:
    """A format of IEEE 754; numbers are handled as their bits."""

    exponent_bits: int
    fraction_bits: int

    @property
    def bits(self):
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def sign(self):
        return 1 << (self.bits - 1)

    @property
    def infinity(self):
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def bias(self):
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def one(self):
        return self.bias << self.fraction_bits

    def magnitude(self, bits):
        return bits & (self.sign - 1)

    def negative(self, bits):
        return bool(bits & self.sign)

    def is_nan(self, bits):
        return self.magnitude(bits) > self.infinity

    def is_signalling(self, bits):
        return self.is_nan(bits) and not bits >> (self.fraction_bits - 1) & 1

    def quieted(self, bits):
        return bits | 1 << (self.fraction_bits - 1)

    def is_infinite(self, bits):
        return self.magnitude(bits) == self.infinity

    def is_denormal(self, bits):
        return 0 < self.magnitude(bits) < 1 << self.fraction_bits

    def flushed(self, bits):
        return bits & self.sign if self.is_denormal(bits) else bits

    def value(self, bits):
        """Return the number of finite bits."""
        field = self.magnitude(bits) >> self.fraction_bits
        fraction = bits & ((1 << self.fraction_bits) - 1)
        if field:
            fraction += 1 << self.fraction_bits
        number = fraction * Fraction(2) ** (max(field, 1) - self.bias - self.fraction_bits)
        return -number if self.negative(bits) else number

    def rounded(self, number, mode=NEAREST, *, negative_zero=False):
        """Return the bits of a number; ``negative_zero``: the sign if it is 0 exactly."""
        if number == 0:
            return self.sign if negative_zero else 0
        negative, size = number < 0, abs(number)
        exponent = _exponent(size)
        quantum = Fraction(2) ** (max(exponent, 1 - self.bias) - self.fraction_bits)
        count, rest = divmod(size, quantum)
        count = int(count)
        away = {
            NEAREST: rest * 2 > quantum or (rest * 2 == quantum and count % 2 == 1),
            UP: rest > 0 and not negative,
            DOWN: rest > 0 and negative,
            TO_ZERO: False,
        }[mode]
        count += away
        size = count * quantum
        sign = self.sign if negative else 0
        if size >= Fraction(2) ** (self.bias + 1):
            to_infinity = {NEAREST: True, UP: not negative, DOWN: negative, TO_ZERO: False}[mode]
            return sign | (self.infinity if to_infinity else self.infinity - 1)
        if size < Fraction(2) ** (1 - self.bias):
            return sign | count
        exponent = _exponent(size)
        fraction = int(size / Fraction(2) ** (exponent - self.fraction_bits)) - (1 << self.fraction_bits)
        return sign | (exponent + self.bias) << self.fraction_bits | fraction


def _exponent(size):
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= size else exponent - 1


HALF, SINGLE, DOUBLE = Binary(5, 10), Binary(8, 23), Binary(11, 52)
BFLOAT = Binary(8, 7)


@dataclass(frozen=True)
class AnyNan:
    """A result that is a NaN, with whatever sign and payload; beside 16 bits is ``upper``."""

    format: Binary
    upper: int = 0

    def matches(self, bits, _lane):
        above = bits >> self.format.bits if self.format.bits == 16 else 0
        return self.format.is_nan(bits & (2 * self.format.sign - 1)) and above == self.upper


@dataclass(frozen=True)
class Near:
    """A result that may differ by so many units in the last place."""

    format: Binary
    bits: int
    units: int = 1

    def matches(self, bits, _lane):
        f = self.format
        if f.is_nan(self.bits):
            return f.is_nan(bits)
        return f.negative(bits) == f.negative(self.bits) and abs(bits - self.bits) <= self.units


class Pair:
    """Two results side by side, each of which may be any NaN."""

    def __init__(self, low, high, bits=16):
        self.parts, self.bits = (low, high), bits

    def matches(self, bits, lane):
        mask = (1 << self.bits) - 1
        parts = [bits >> self.bits * n & mask for n in range(2)]
        return all(
            want.matches(got, lane) if hasattr(want, "matches") else got == want
            for want, got in zip(self.parts, parts, strict=True)
        )

    def __str__(self):
        return str([part if hasattr(part, "matches") else hex(part) for part in self.parts])


def product(f, a, b, mode=NEAREST):
    sign = (a ^ b) & f.sign
    if f.is_nan(a) or f.is_nan(b):
        return AnyNan(f)
    if f.is_infinite(a) or f.is_infinite(b):
        return AnyNan(f) if not f.magnitude(a) or not f.magnitude(b) else sign | f.infinity
    return f.rounded(f.value(a) * f.value(b), mode, negative_zero=bool(sign))


def fused(f, a, b, c, mode=NEAREST, *, result=None):
    """Return a * b + c rounded once, to another format if one is given."""
    result = result or f
    negative = f.negative(a) != f.negative(b)
    if f.is_nan(a) or f.is_nan(b) or f.is_nan(c):
        return AnyNan(result)
    if f.is_infinite(a) or f.is_infinite(b):
        if not f.magnitude(a) or not f.magnitude(b) or (f.is_infinite(c) and f.negative(c) != negative):
            return AnyNan(result)
        return result.infinity | (result.sign if negative else 0)
    if f.is_infinite(c):
        return result.infinity | (result.sign if f.negative(c) else 0)
    exact = f.value(a) * f.value(b)
    # zeros of the same sign keep it; others, and differences that vanish, are +0 unless rounded down
    same = exact == 0 and f.value(c) == 0 and negative == f.negative(c)
    return result.rounded(exact + f.value(c), mode, negative_zero=negative if same else mode == DOWN)


def total(f, a, b, mode=NEAREST):
    return fused(f, a, f.one, b, mode)


def _order(f, bits):
    return -f.magnitude(bits) - 1 if f.negative(bits) else f.magnitude(bits)


def extreme(f, a, b, *, largest, ieee=True):
    for bits in (a, b) if ieee else ():
        if f.is_signalling(bits):
            return f.quieted(bits)
    if f.is_nan(a):
        return b
    if f.is_nan(b):
        return a
    return (max if largest else min)(a, b, key=lambda bits: _order(f, bits))


def extreme_of_2019(f, *values, largest):
    """Return the extreme of three numbers, where any NaN makes it one."""
    if any(map(f.is_nan, values)):
        return AnyNan(f)
    first = extreme(f, values[0], values[1], largest=largest)
    return extreme(f, first, values[2], largest=largest)


def flushed(f, value):
    """Return a result without denormals."""
    return value if isinstance(value, AnyNan) else f.flushed(value)


def integral(f, a, to_integer):
    if f.is_nan(a):
        return AnyNan(f)
    if f.is_infinite(a):
        return a
    return f.rounded(Fraction(to_integer(f.value(a)))) | (a & f.sign)


def converted(source, a, result, mode=NEAREST):
    return fused(source, a, source.one, a & source.sign, mode, result=result)


def floats(f, seed):
    """Return 64 values: edges, and numbers of like size so that sums matter; random bits beside 16."""
    random = np.random.default_rng(seed)
    least, one = 1 << f.fraction_bits, f.one
    edges = [0, 1, least - 1, least, one, one + 1, f.infinity - 1, f.infinity, f.infinity + 1]
    edges += [f.infinity + (1 << (f.fraction_bits - 1)) + 5, one + least // 2, one + 2 * least + least // 2]
    both = [bits | sign for bits in edges for sign in (0, f.sign)]
    drawn = []
    while len(both) + len(drawn) < 64:
        bits = int.from_bytes(random.bytes(8), "little") & (2 * f.sign - 1)
        if len(drawn) % 4:
            exponent = (
                f.bias + int(random.integers(-4, 5)) if len(drawn) % 4 < 3 else int(random.integers(0, 4))
            )
            bits = bits & ~f.infinity | exponent << f.fraction_bits
        drawn.append(bits)
    values = random.permutation(np.array([*both, *drawn], np.uint64))
    return values | random.integers(0, 1 << 48, 64, np.uint64) << np.uint64(16) if f.bits == 16 else values
