"""Products of matrices in registers: each instruction of the table, on each architecture."""

import re

import ml_dtypes
import numpy as np
import pytest

from plugins.emulator.tests.device.matrices import (
    ARCHITECTURES,
    expected,
    matrix,
    operands,
    product,
    products,
    run,
    sparse_matrices,
    values,
    words,
)
from plugins.emulator.tests.device.wave import LANES, State, assembled, execute

pytestmark = [pytest.mark.amd]


def _names(arch, *, sparse):
    return [p.name for p in products(arch) if p.sparse == sparse]


def _cases(*, sparse):
    return [
        pytest.param(arch, name, id=f"{arch}-{name}")
        for arch in ARCHITECTURES
        for name in _names(arch, sparse=sparse)
    ]


def _rounded_to_10_bits(numbers):
    mantissa, exponent = np.frexp(numbers.astype(np.float64))
    return np.ldexp(np.rint(mantissa * 2**11) / 2**11, exponent)


def _bound(p, sizes):
    """Return the largest error of a sum whose terms are added one by one, each sum rounded to nearest."""
    return (p.depth + 1) * 2.0 ** (-53 if p.result == "f64" else -24) * sizes


def test_table_has_the_instructions():
    counted = {
        arch: (len(_names(arch, sparse=False)), len(_names(arch, sparse=True))) for arch in ARCHITECTURES
    }
    assert counted == {"gfx90a": (27, 0), "gfx942": (32, 14), "gfx950": (36, 28)}


@pytest.mark.parametrize(("arch", "name"), _cases(sparse=False))
def test_dense_product(arch, name):
    p = product(name, arch)
    rng = np.random.default_rng(p.opcode)
    for whole in (True, False):
        a, b, c = operands(p, arch, rng, whole=whole)
        full_a, full_b = matrix(p, 0, values(a)), matrix(p, 1, values(b))
        if p.a_type == "xf32":
            full_a, full_b = _rounded_to_10_bits(full_a), _rounded_to_10_bits(full_b)
        exact, sizes = expected(p, full_a, full_b, values(c))
        result = values(run(p, arch, a, b, c))
        assert np.all(abs(result - exact) <= (0 if whole or p.result == "i32" else _bound(p, sizes)))


@pytest.mark.parametrize(("arch", "name"), _cases(sparse=True))
def test_sparse_product(arch, name):
    p = product(name, arch)
    rng = np.random.default_rng(p.opcode)
    sets = 32 // (2 * p.per_lane(0))
    for whole, cbsz, abid in [(True, 0, 0), (False, 0, sets - 1), (False, 1, sets - 1)]:
        a, b, c = operands(p, arch, rng, whole=whole)
        register = rng.integers(0, 2**32, LANES, dtype=np.uint32)
        first = 2 * p.per_lane(0) * (abid if cbsz == 0 else 0)
        index = np.array([register >> (first + 2 * e) & 3 for e in range(p.per_lane(0))], np.int64)
        full_a, full_b = sparse_matrices(p, values(a), values(b), index)
        exact, sizes = expected(p, full_a, full_b, values(c))
        result = values(run(p, arch, a, b, c, index=register, cbsz=cbsz, abid=abid))
        assert np.all(abs(result - exact) <= (0 if whole or p.result == "i32" else _bound(p, sizes)))


def test_sparse_product_takes_no_part_of_b_that_is_not_chosen():
    p = product("v_smfmac_f32_16x16x32_f16")
    a, b = np.ones((4, LANES), np.float16), np.ones((8, LANES), np.float16)
    b[3::4] = np.inf
    index = np.full(LANES, 0b0100_0100, np.uint32)  # the first and the second of every four
    assert np.all(run(p, "gfx942", a, b, np.zeros((4, LANES), np.float32), index=index) == 16)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_words_are_those_of_an_assembler(arch):
    texts, codes = [], []
    for p in products(arch):
        d, a, b, c = (
            f"[{first}:{first + width - 1}]" if width > 1 else str(first)
            for first, width in zip((0, 64, 80, 96), p.widths, strict=True)
        )
        modifiers = "" if p.result == "f64" and arch != "gfx90a" else " blgp:3"
        if p.sparse:
            modifiers = " cbsz:1 abid:1"
            code = words(p.opcode, 256, 64, 336, 96, cbsz=1, abid=1, sparse=True)
            texts.append(f"{p.name} a{d}, v{a}, a{b}, v{c}{modifiers}")
        else:
            code = words(p.opcode, 256, 320, 80, 352, blgp=3 if modifiers else 0)
            texts.append(f"{p.name} a{d}, a{a}, v{b}, a{c}{modifiers}")
        codes.extend(code)
    if arch == "gfx90a":  # for which assemblers know the older spelling alone
        texts = [re.sub(r"_(\d+b_)?(f32|f16|i8|f64) ", r"\2 ", text) for text in texts]
    assert assembled(arch, "\n".join(texts)) == tuple(codes)


#: by CBSZ and BLGP
FORMATS = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float6_e2m3fn,
    ml_dtypes.float6_e3m2fn,
    ml_dtypes.float4_e2m1fn,
)
BITS = (8, 8, 6, 6, 4)
PER_LANE = 32
D, A, B, C, SCALES = 0, 64, 80, 96, 112


def _registers(codes, bits):
    """Return registers of codes ``[e, lane]``."""
    registers = np.zeros((8, LANES), np.uint32)
    for lane in range(LANES):
        whole = sum(int(code) << bits * e for e, code in enumerate(codes[:, lane]))
        registers[:, lane] = [whole >> 32 * n & 0xFFFFFFFF for n in range(8)]
    return registers


def _along_k(kind, size):
    """Return k of ``[e, lane]``."""
    groups = LANES // size
    e, lane = np.indices((PER_LANE, LANES))
    group = lane // size
    return e // 16 * 16 * groups + 16 * group + e % 16 if BITS[kind] == 8 else PER_LANE * group + e


def _operand(kind, size, rng):
    """Return registers and the ``[row, k]`` of numbers in a format."""
    codes = rng.integers(0, 1 << BITS[kind], (PER_LANE, LANES)).astype(np.uint8)
    numbers = codes.view(FORMATS[kind]).astype(np.float64)
    codes[~np.isfinite(numbers)] = 0
    numbers = codes.view(FORMATS[kind]).astype(np.float64)
    full = np.zeros((size, PER_LANE * LANES // size))
    full[np.arange(LANES) % size, _along_k(kind, size)] = numbers
    return _registers(codes, BITS[kind]), full


def _result(size, registers):
    """Return the matrix that results are."""
    r, lane = np.indices((size * size // LANES, LANES))
    full = np.zeros((size, size))
    full[r // 4 * 8 + lane // size * 4 + r % 4, lane % size] = registers[: len(r)].view(np.float32)
    return full


@pytest.mark.parametrize(("opcode", "size"), [(45, 16), (46, 32)])
@pytest.mark.parametrize("a_format", range(5))
@pytest.mark.parametrize("scaled", [False, True])
def test_product_of_two_formats(opcode, size, a_format, scaled):
    rng = np.random.default_rng(opcode + a_format)
    for b_format in range(5):
        state = State()
        state.vector[A : A + 8], a = _operand(a_format, size, rng)
        state.vector[B : B + 8], b = _operand(b_format, size, rng)
        state.vector[C : C + 16] = rng.normal(size=(16, LANES)).astype(np.float32).view(np.uint32)
        c = _result(size, state.vector[C : C + 16])
        code = words(opcode, D, A, B, C, cbsz=a_format, blgp=b_format)
        if scaled:
            # a byte per row and 32 elements: of A the third, of B the second
            scales = rng.integers(120, 135, (2, 4, LANES)).astype(np.uint32)
            state.vector[SCALES : SCALES + 2] = (scales << (8 * np.arange(4, dtype=np.uint32))[:, None]).sum(
                1
            )
            prefix = (0xD3AC0000 | 0b10 << 11, (256 + SCALES) | (257 + SCALES) << 9 | 0b01 << 27)
            code = (*prefix, *code)
            for full, chosen in ((a, scales[0, 2]), (b, scales[1, 1])):
                blocks = chosen.reshape(-1, size).astype(np.float64).T
                full *= np.exp2(np.repeat(blocks, PER_LANE, axis=1) - 127)
        after = execute(code, state, arch="gfx950")
        exact, sizes = a @ b.T + c, abs(a) @ abs(b).T + abs(c)
        assert np.all(abs(_result(size, after.vector[D : D + 16]) - exact) <= 130 * 2.0**-24 * sizes)


def test_a_constant_is_a_scale_of_all_and_255_is_not_a_number():
    state = State()
    state.vector[A : A + 8] = 0x22222222  # 1 as fp4
    state.vector[B : B + 8] = 0x22222222
    state.vector[SCALES] = np.where(np.arange(LANES) % 16 == 3, 255, 128)
    code = words(45, D, A, B, -128, cbsz=4, blgp=4)
    after = execute((0xD3AC0000, 244 | (256 + SCALES) << 9, *code), state, arch="gfx950")
    wanted = np.where(np.arange(LANES) % 16 == 3, np.nan, 4 * 128)
    assert np.array_equal(after.float32(D), wanted, equal_nan=True)


def test_words_of_formats_are_those_of_an_assembler():
    text = (
        "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[16:19], a[32:37], a[48:51], v64, v65 "
        "op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:4 blgp:2"
    )
    # what has scales before it says so in ABID
    code = words(45, 256, 16, 256 + 32, 256 + 48, cbsz=4, blgp=2, abid=1)
    prefix = (0xD3AC0000 | 0b01 << 11, (256 + 64) | (256 + 65) << 9 | 0b10 << 27)
    assert assembled("gfx950", text) == (*prefix, *code)
