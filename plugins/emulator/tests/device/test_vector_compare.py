"""Conditions of lanes: all relations of all types, classes of numbers, what v_cmpx does to the mask."""

import pytest

from plugins.emulator.tests.device.exact import DOUBLE, HALF, SINGLE, floats
from plugins.emulator.tests.device.tables import M64, integers, signed, wrong_rows
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
