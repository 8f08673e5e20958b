"""Conditions of lanes: all relations of all types, classes, what v_cmpx does to the mask; and divisions."""

import numpy as np
import pytest

from plugins.emulator.tests.device.exact import DOUBLE, HALF, SINGLE, AnyNan, floats
from plugins.emulator.tests.device.tables import M64, MASK, integers, signed, wrong_rows
from plugins.emulator.tests.device.wave import VCC, State, execute

pytestmark = [pytest.mark.amd]

INTEGER_RELATIONS = {
    "f": lambda a, b: False,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
    "t": lambda a, b: True,
}
#: which of less, equal, greater and unordered make them true
FLOAT_RELATIONS = {
    "f": "",
    "lt": "<",
    "eq": "=",
    "le": "<=",
    "gt": ">",
    "lg": "<>",
    "ge": "=>",
    "o": "<=>",
    "u": "?",
    "nge": "<?",
    "nlg": "=?",
    "ngt": "<=?",
    "nle": ">?",
    "neq": "<>?",
    "nlt": "=>?",
    "tru": "<=>?",
}


def relation(f, a, b):
    if f.is_nan(a) or f.is_nan(b):
        return "?"
    left, right = (-f.magnitude(x) if f.negative(x) else f.magnitude(x) for x in (a, b))
    return "<" if left < right else "=" if left == right else ">"


def class_bit(f, a):
    if f.is_nan(a):
        return 0 if f.is_signalling(a) else 1
    below_zero = [f.is_infinite(a), f.magnitude(a) >> f.fraction_bits, f.magnitude(a), True]
    rank = next(n for n, holds in enumerate(below_zero) if holds)
    return 2 + rank if f.negative(a) else 9 - rank


def sources_of(f):
    first, second = floats(f, 1), floats(f, 2)
    second[::5] = first[::5]  # some equal ones
    return first, second, second


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("is_signed", [False, True], ids=["unsigned", "signed"])
def test_relations_of_integers(bits, is_signed):
    a, b = ("AA", "BB") if bits == 64 else ("A", "B")
    name = f"{'i' if is_signed else 'u'}{bits}"

    def number(value):
        return signed(value, bits) if is_signed else value & ((1 << bits) - 1)

    table = {
        f"v_cmp_{n}_{name}_e64 M, {a}, {b}": lambda x, holds=holds: holds(number(x.a), number(x.b))
        for n, holds in INTEGER_RELATIONS.items()
    }
    sources = (integers(1), integers(2), integers(3))
    sources[1][::5] = sources[0][::5]
    assert not wrong_rows(table, sources=sources)
    assert not wrong_rows(table, sources=sources, lanes=0x0F0F00FF12345678)


@pytest.mark.parametrize(("name", "f"), [("f16", HALF), ("f32", SINGLE), ("f64", DOUBLE)])
def test_relations_of_floating_point(name, f):
    a, b = ("AA", "BB") if name == "f64" else ("A", "B")
    mask = 2 * f.sign - 1
    table = {
        f"v_cmp_{n}_{name}_e64 M, {a}, {b}": lambda x, true_for=true_for: (
            relation(f, x.a & mask, x.b & mask) in true_for
        )
        for n, true_for in FLOAT_RELATIONS.items()
    }
    table[f"v_cmp_lt_{name}_e64 M, |{a}|, -{b}"] = lambda x: (
        relation(f, f.magnitude(x.a & mask), (x.b & mask) ^ f.sign) == "<"
    )
    assert not wrong_rows(table, sources=sources_of(f))


@pytest.mark.parametrize(("name", "f"), [("f16", HALF), ("f32", SINGLE), ("f64", DOUBLE)])
def test_classes_of_numbers(name, f):
    a = "AA" if name == "f64" else "A"
    table = {
        f"v_cmp_class_{name}_e64 M, {a}, B": lambda x: bool(x.b >> class_bit(f, x.a & (2 * f.sign - 1)) & 1)
    }
    first = floats(f, 1)
    for bit in range(10):
        classes = integers(4)
        classes[:] = 1 << bit
        assert not wrong_rows(table, sources=(first, classes, classes))


def test_short_compares_write_vcc_and_v_cmpx_the_mask():
    state = State()
    state.vector[0] = range(64)
    state.exec = 0xFFFF0000FFFFFFFF
    after = execute("v_cmp_gt_u32_e32 vcc, 40, v0\nv_cmpx_lt_u32_e64 s[4:5], 3, v0", state)
    assert after.scalar64(VCC) == ((1 << 40) - 1) & 0xFFFF0000FFFFFFFF
    assert after.exec == after.scalar64(4) == M64 & ~0xF & 0xFFFF0000FFFFFFFF
    after = execute("v_cmpx_gt_f32_e32 vcc, 0, v1", after)
    assert (after.exec, after.scalar64(VCC)) == (0, 0)


def quotient(f, a, b):
    sign = (a ^ b) & f.sign
    if f.is_nan(a) or f.is_nan(b):
        return AnyNan(f)
    if f.is_infinite(a) or not f.magnitude(b):
        both = f.is_infinite(b) if f.is_infinite(a) else not f.magnitude(a)
        return AnyNan(f) if both else sign | f.infinity
    if f.is_infinite(b):
        return sign
    return f.rounded(f.value(a) / f.value(b), negative_zero=bool(sign))


#: the sequence that LLVM emits for fp32: numerator v2, denominator v4
SINGLE_DIVISION = """
v_div_scale_f32 v20, s[12:13], v4, v4, v2
v_div_scale_f32 v21, vcc, v2, v4, v2
v_rcp_f32_e32 v22, v20
v_fma_f32 v23, -v20, v22, 1.0
v_fma_f32 v22, v23, v22, v22
v_mul_f32_e32 v23, v21, v22
v_fma_f32 v24, -v20, v23, v21
v_fma_f32 v23, v24, v22, v23
v_fma_f32 v20, -v20, v23, v21
v_div_fmas_f32 v20, v20, v22, v23
v_div_fixup_f32 v10, v20, v4, v2
"""
#: and for fp64: numerator v[2:3], denominator v[4:5]
DOUBLE_DIVISION = """
v_div_scale_f64 v[20:21], s[12:13], v[4:5], v[4:5], v[2:3]
v_rcp_f64_e32 v[22:23], v[20:21]
v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0
v_fma_f64 v[22:23], v[22:23], v[24:25], v[22:23]
v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0
v_fma_f64 v[22:23], v[22:23], v[24:25], v[22:23]
v_div_scale_f64 v[24:25], vcc, v[2:3], v[4:5], v[2:3]
v_mul_f64 v[26:27], v[24:25], v[22:23]
v_fma_f64 v[20:21], -v[20:21], v[26:27], v[24:25]
v_div_fmas_f64 v[20:21], v[20:21], v[22:23], v[26:27]
v_div_fixup_f64 v[10:11], v[20:21], v[4:5], v[2:3]
"""


def _divided(f, text, a, b):
    state = State()
    for register, values in ((2, a), (4, b)):
        state.vector[register], state.vector[register + 1] = values & 0xFFFFFFFF, values >> np.uint64(32)
    low, high = execute(text, state).vector[10:12].astype(np.uint64)
    return [int(value) for value in (low | high << np.uint64(32) if f is DOUBLE else low)]


@pytest.mark.parametrize(
    ("f", "text"), [(SINGLE, SINGLE_DIVISION), (DOUBLE, DOUBLE_DIVISION)], ids=["f32", "f64"]
)
def test_quotients_are_rounded_correctly(f, text):
    wrong = []
    for seed in range(12):
        a, b = floats(f, seed), floats(f, 100 + seed)
        for x, y, got in zip(a, b, _divided(f, text, a, b), strict=True):
            expected = quotient(f, int(x), int(y))
            right = expected.matches(got, None) if isinstance(expected, AnyNan) else expected == got
            # the sequence keeps no more than fp32's last bit where the quotient is denormal
            denormal = not isinstance(expected, AnyNan) and f.is_denormal(expected)
            if not right and not (denormal and abs(expected - got) <= 1):
                wrong.append((hex(int(x)), hex(int(y)), hex(got), expected))
    assert not wrong


def test_reciprocals_of_integers():
    """Kernels divide integers by them, and correct the quotient by one."""
    state = State()
    divisors = np.array(
        [*range(1, 51), 64, 100, 127, 1000, 4095, 65537, 1 << 20, 12345678, *range(7**8, 7**8 + 6)]
    )
    state.vector[1] = divisors
    after = execute("v_cvt_f32_u32_e32 v2, v1\nv_rcp_iflag_f32_e32 v2, v2", state).float32(2)
    exact = 1 / divisors.astype(np.float64)
    assert np.all(np.abs(after - exact) <= exact * 2**-23)


@pytest.mark.parametrize(("f", "name"), [(HALF, "f16"), (SINGLE, "f32"), (DOUBLE, "f64")])
def test_special_cases_of_the_last_step(f, name):
    """The quotient of the first source stays but for its sign, unless a rule gives another."""

    def fixed(x):
        q, b, a = (value & (2 * f.sign - 1) for value in (x.a, x.b, x.c))
        upper = x.d >> 16 if f is HALF else 0
        special = f.is_nan(a) or f.is_nan(b) or f.is_infinite(a) or f.is_infinite(b)
        if special or not f.magnitude(a) or not f.magnitude(b):
            expected = quotient(f, a, b)
        else:
            far = {HALF: 1 << 20, SINGLE: 150, DOUBLE: 1075}[f]
            fields = [f.magnitude(value) >> f.fraction_bits for value in (a, b)]
            underflows = fields[0] - fields[1] < -far
            expected = ((a ^ b) & f.sign) | (0 if underflows else f.magnitude(q))
            if f.is_nan(expected):  # an overflow on the way
                expected = ((a ^ b) & f.sign) | f.infinity
        if isinstance(expected, AnyNan):
            return AnyNan(f, upper)
        return expected | upper << 16 if f is HALF else expected

    d, a, b, c = (letter * (2 if f is DOUBLE else 1) for letter in "DABC")
    for seed in (1, 2):
        sources = tuple(floats(f, seed + 10 * n) for n in range(3))
        assert not wrong_rows({f"v_div_fixup_{name} {d}, {a}, {b}, {c}": fixed}, sources=sources)


@pytest.mark.parametrize(("addend", "power"), [(0.25, -64), (2.0, 64)])
def test_lanes_of_vcc_scale_the_fused_step(addend, power):
    state = State()
    state.vector[1:4] = np.array([[1.5], [2.0], [addend]], np.float32).view(np.uint32)
    state.set_scalar64(VCC, MASK)
    after = execute("v_div_fmas_f32 v4, v1, v2, v3", state).float32(4)
    on = np.array([MASK >> lane & 1 for lane in range(64)], bool)
    exact = np.float32(3 + addend)
    assert np.array_equal(after, np.where(on, exact * np.float32(2.0**power), exact))


def test_bits_of_two_over_pi():
    """Their sum, with the argument's exponent, is 2/pi to more places than fp64 has."""
    state = State()
    values = np.array([1.0, 1e10, 2.0**700, 2.0**1000] * 16)
    bits = values.view(np.uint64)
    state.vector[2], state.vector[3] = bits & 0xFFFFFFFF, bits >> np.uint64(32)
    after = execute(
        "\n".join(f"v_trig_preop_f64 v[{10 + 2 * n}:{11 + 2 * n}], v[2:3], {n}" for n in range(3)), state
    )
    low, high = after.vector[10:16:2].astype(np.uint64), after.vector[11:17:2].astype(np.uint64)
    parts = (low | high << np.uint64(32)).view(np.float64)
    assert sum(float(part[0]) for part in parts) == 2 / np.pi
    # for large arguments the first bits make multiples of the period and are gone
    for lane, exponent in ((2, 700), (3, 1000)):
        shift = max(exponent + 1023 - 1077, 0)
        scale = 128 if exponent + 1023 >= 1968 else 0
        assert 0 <= parts[0][lane] < 2.0 ** (-shift + scale)
