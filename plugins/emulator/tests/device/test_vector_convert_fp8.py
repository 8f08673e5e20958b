"""Conversions from and to formats of 4 to 8 bits: each of the table, in every position of a register."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
import pytest

from ckprof_plugins.emulator.library import SOURCE_DIR
from plugins.emulator.tests.device.matrices import dtype
from plugins.emulator.tests.device.wave import LANES, State, execute

pytestmark = [pytest.mark.amd]

ARCHITECTURES = {"gfx942": 2, "gfx950": 4}
_SMALL = {"fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}
_BITS = {"f32": 32, "f16": 16, "bf16": 16, **_SMALL}
_TYPES = "|".join(_BITS)
_ROW = re.compile(r"INSTRUCTION\(vop3, (\d+), (v_cvt_\w+), (\d),")
_NAME = re.compile(rf"v_cvt_(scalef32_)?(sr_)?(2xpk16_|pk32_|pk_)?({_TYPES})_({_TYPES})")
#: first registers of the result, the three sources
TO, FROM, SECOND, THIRD = 0, 64, 128, 160


@dataclass(frozen=True)
class Conversion:
    """A row of the table, and what its name says."""

    name: str
    opcode: int
    scaled: bool
    random: bool
    count: int
    to: str
    source: str

    @property
    def two_sources(self):
        """Tell whether elements come from the first and the second source in turn."""
        return self.source == "f32" and not self.random and self.to != "f32" and self.count > 1

    @property
    def to_positions(self):
        return max(1, 32 // (_BITS[self.to] * self.count))

    @property
    def from_positions(self):
        return max(1, 32 // (_BITS[self.source] * self.count)) if self.source in _SMALL else 1


@cache
def conversions(arch):
    found = []
    for row in _ROW.finditer((SOURCE_DIR / "isa" / "instructions.def").read_text()):
        name = _NAME.fullmatch(row[2])
        if name is None or not int(row[3]) & ARCHITECTURES[arch]:
            continue
        if not (name[4] in _SMALL or name[5] in _SMALL or name[4] == "bf16" or name[2]):
            continue  # a plain conversion
        count = {"2xpk16_": 32, "pk32_": 32, "pk_": 2, None: 1}[name[3]]
        found.append(Conversion(row[2], int(row[1]), bool(name[1]), bool(name[2]), count, name[4], name[5]))
    return tuple(found)


def _codes(elements):
    return elements.view(f"u{elements.itemsize}").astype(np.uint32)


def _packed(codes, bits, first=0):
    """Return registers whose bits from ``first`` on are codes ``[n, lane]``."""
    each = codes[:, :, None] >> np.arange(bits, dtype=np.uint32) & 1
    stream = each.transpose(1, 0, 2).reshape(LANES, -1)
    whole = np.zeros((LANES, -(-(first + stream.shape[1]) // 32) * 32), np.uint32)
    whole[:, first : first + stream.shape[1]] = stream
    words = whole.reshape(LANES, -1, 32) << np.arange(32, dtype=np.uint32)
    return words.sum(axis=2, dtype=np.uint32).T


def _unpacked(registers, bits, count, first):
    each = registers.T[:, :, None] >> np.arange(32, dtype=np.uint32) & 1
    stream = each.reshape(LANES, -1)[:, first : first + count * bits].reshape(LANES, count, bits)
    return (stream << np.arange(bits, dtype=np.uint32)).sum(axis=2, dtype=np.uint32).T


def _words(opcode, op_sel, sources):
    first = 0xD0000000 | opcode << 16 | op_sel << 11 | TO
    return first, sum((256 + register) << 9 * n for n, register in enumerate(sources))


def _run(c, arch, elements, *, scale=None, random=None, position=0, mode=None):
    """Return the codes ``[n, lane]`` of the result of elements ``[n, lane]``."""
    state = State()
    state.mode = state.mode if mode is None else mode
    state.vector[TO : TO + 32] = 0xA5A5A5A5
    bits, sources = _BITS[c.source], [FROM]
    from_position, to_position = position % c.from_positions, position % c.to_positions
    groups = (elements[0::2], elements[1::2]) if c.two_sources else (elements,)
    for first, group in zip((FROM, SECOND), groups, strict=False):
        raw = _packed(_codes(group), bits, from_position * bits * c.count if c.source in _SMALL else 0)
        state.vector[first : first + len(raw)] = raw
    if c.two_sources or random is not None:
        sources.append(SECOND)
    if random is not None:
        state.vector[SECOND] = random
    if scale is not None:
        sources.append(THIRD)
        state.vector[THIRD] = scale.view(np.uint32)
    op_sel = from_position | to_position * {4: 4, 2: 8, 1: 0}[c.to_positions]
    after = execute(_words(c.opcode, op_sel, sources), state, arch=arch)
    width, first = _BITS[c.to] * c.count, to_position * _BITS[c.to] * c.count
    registers = after.vector[TO : TO + -(-width // 32)]
    if width < 32:
        kept = ~np.uint32(((1 << width) - 1) << first)
        assert np.all(registers & kept == 0xA5A5A5A5 & kept)
    return _unpacked(registers, _BITS[c.to], c.count, first)


def _inputs(c, arch, rng):
    """Return elements ``[n, lane]``: every kind of value for the result's range."""
    kind = dtype(c.source, arch)
    if c.source in _SMALL:
        codes = rng.integers(0, 1 << _BITS[c.source], (c.count, LANES)).astype(np.uint8)
        return codes.view(kind)
    largest = float(ml_dtypes.finfo(dtype(c.to, arch)).max)
    numbers = rng.normal(size=(c.count, LANES)) * np.exp2(rng.integers(-12, 9, (c.count, LANES)))
    numbers[:, 0:4] = (0.0, -0.0, largest, -largest)
    # ties between two values, those within the denormal ones, too
    numbers[:, 4:12] = rng.integers(-64, 64, (c.count, 8)) / 2.0 ** rng.integers(0, 12, (c.count, 8))
    return numbers.astype(kind)


def _scaled(elements, exponents):
    return np.ldexp(elements.astype(np.float64), exponents)


_CASES = [pytest.param(arch, c, id=f"{arch}-{c.name}") for arch in ARCHITECTURES for c in conversions(arch)]


def test_table_has_the_conversions():
    assert [len(conversions(arch)) for arch in ARCHITECTURES] == [8, 60]


@pytest.mark.parametrize(("arch", "c"), [case for case in _CASES if not case.values[1].random])
def test_conversion(arch, c):
    rng = np.random.default_rng(c.opcode)
    for position in range(max(c.from_positions, c.to_positions)):
        elements = _inputs(c, arch, rng)
        exponents = rng.integers(-3, 4, LANES) if c.scaled else np.zeros(LANES, np.int64)
        # mantissa and sign of a scale do not matter
        scale = (np.exp2(exponents) * -1.75).astype(np.float32) if c.scaled else None
        codes = _run(c, arch, elements, scale=scale, position=position)
        exact = _scaled(elements, exponents if c.source in _SMALL else -exponents)
        with np.errstate(over="ignore"):
            wanted = exact.astype(np.float32).astype(dtype(c.to, arch))
        got = codes.astype(f"u{wanted.itemsize}").view(wanted.dtype)
        both_nan = np.isnan(got.astype(np.float32)) & np.isnan(wanted.astype(np.float32))
        assert np.array_equal(codes[~both_nan], _codes(wanted)[~both_nan])


@pytest.mark.parametrize(("arch", "c"), [case for case in _CASES if case.values[1].random])
def test_random_rounding(arch, c):
    rng = np.random.default_rng(c.opcode)
    kind, largest = dtype(c.to, arch), float(ml_dtypes.finfo(dtype(c.to, arch)).max)
    mantissa = ml_dtypes.finfo(kind).nmant
    for position in range(c.to_positions):
        elements = (rng.uniform(1, 2, (c.count, LANES)) * rng.choice([-1, 1], (c.count, LANES))).astype(
            dtype(c.source, arch)
        )
        exponents = rng.integers(-2, 2, LANES)
        scale = np.exp2(exponents - (1 if c.to == "fp4" else 0)).astype(np.float32) if c.scaled else None
        random = rng.integers(0, 2**32, LANES, dtype=np.uint32)
        codes = _run(c, arch, elements, scale=scale, random=random, position=position)
        factor = scale.astype(np.float64) if scale is not None else 1.0
        exact, state = abs(elements.astype(np.float64)) / factor, random.astype(np.uint64)
        for n in range(c.count):
            least = float(ml_dtypes.finfo(kind).smallest_normal)
            unit = np.exp2(np.floor(np.log2(np.maximum(exact[n], least))) - mantissa)
            # of the random number count as many bits as fp32 has below the unit
            dropped = np.log2(unit) - np.floor(np.log2(exact[n])) + 23
            parts = np.floor(state.astype(np.float64) / 2.0 ** (32 - dropped)) / 2.0**dropped
            wanted = np.minimum(np.floor(exact[n] / unit + parts) * unit, largest)
            got = codes[n].astype(f"u{kind.itemsize}").view(kind).astype(np.float64)
            assert np.array_equal(got, np.copysign(wanted, elements[n].astype(np.float64)))
            high = state >> np.uint64(31)
            state = (state << np.uint64(1) ^ high * np.uint64(197)) & np.uint64(0xFFFFFFFF)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_too_large_numbers_and_nan(arch):
    numbers = np.zeros((2, LANES), np.float32)
    numbers[0, :6] = (np.inf, -np.inf, np.nan, 1e6, -1e6, 3e38)
    for name in ("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32"):
        c = next(c for c in conversions(arch) if c.name == name)
        kind = dtype(c.to, arch)
        got = _run(c, arch, numbers)[0, :6].astype(np.uint8).view(kind).astype(np.float32)
        infinite = arch == "gfx950" and c.to == "bf8"
        wanted = [np.inf, -np.inf, np.nan, np.inf, -np.inf, np.inf] if infinite else [np.nan] * 6
        assert np.array_equal(got, np.array(wanted, np.float32), equal_nan=True)
        # FP16_OVFL clamps
        largest = float(ml_dtypes.finfo(kind).max)
        got = _run(c, arch, numbers, mode=0x3F0 | 1 << 23)[0, :6].astype(np.uint8).view(kind)
        wanted = [largest, -largest, np.nan, largest, -largest, largest]
        assert np.array_equal(got.astype(np.float32), np.array(wanted, np.float32), equal_nan=True)


def test_sub_dword_selects_bytes_and_words():
    state = State()
    state.vector[1] = np.frombuffer(np.arange(4 * LANES, dtype=np.uint8).tobytes(), np.uint32)
    text = "\n".join(
        [f"v_cvt_f32_fp8_sdwa v{10 + byte}, v1 src0_sel:BYTE_{byte}" for byte in range(4)]
        + [f"v_cvt_pk_f32_bf8_sdwa v[{20 + 2 * w}:{21 + 2 * w}], v1 src0_sel:WORD_{w}" for w in range(2)]
        + ["v_cvt_f32_bf8_e32 v30, v1"]
    )
    codes = np.arange(4 * LANES, dtype=np.uint8).reshape(LANES, 4).T
    fp8, bf8 = (codes.copy().view(dtype(name, "gfx942")).astype(np.float32) for name in ("fp8", "bf8"))
    after = execute(text, state)
    for first, wanted in ((10, fp8), (20, bf8)):
        got = after.vector[first : first + 4].view(np.float32)
        assert np.array_equal(got, wanted, equal_nan=True)
    assert np.array_equal(after.float32(30), bf8[0], equal_nan=True)


def test_sources_have_modifiers_and_lanes_a_mask():
    state = State()
    state.vector[1:3] = np.array([[1.5] * LANES, [-2.5] * LANES], np.float32).view(np.uint32)
    state.vector[3] = 7
    state.exec = 1
    after = execute("v_cvt_pk_fp8_f32 v3, -v1, |v2|", state)
    wanted = np.array([-1.5, 2.5], ml_dtypes.float8_e4m3fnuz).view(np.uint16)[0]
    assert (after.vector[3, 0], after.vector[3, 1]) == (wanted, 7)


def test_values_come_from_other_lanes():
    state = State()
    state.vector[1] = np.arange(LANES) + 0x30
    state.vector[5] = 9
    text = "v_cvt_f32_fp8_dpp v4, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf"
    after = execute(text + "\nv_cvt_f32_fp8_dpp v5, v1 row_shl:1 row_mask:0xf bank_mask:0xf", state)
    codes = (np.arange(LANES) + 0x30).astype(np.uint8).view(ml_dtypes.float8_e4m3fnuz).astype(np.float32)
    assert np.array_equal(after.float32(4), codes.reshape(-1, 4)[:, ::-1].ravel())
    shifted = np.roll(codes, -1).view(np.uint32)
    assert np.array_equal(after.vector[5], np.where(np.arange(LANES) % 16 == 15, 9, shifted))
