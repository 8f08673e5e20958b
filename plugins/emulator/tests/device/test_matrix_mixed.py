"""Products of gfx950 that choose formats of 4 to 8 bits when they run, with and without scales."""

import ml_dtypes
import numpy as np
import pytest

from plugins.emulator.tests.device.matrices import words
from plugins.emulator.tests.device.wave import LANES, State, assembled, execute

pytestmark = [pytest.mark.amd]

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


def test_words_are_those_of_an_assembler():
    text = (
        "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[16:19], a[32:37], a[48:51], v64, v65 "
        "op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:4 blgp:2"
    )
    # what has scales before it says so in ABID
    code = words(45, 256, 16, 256 + 32, 256 + 48, cbsz=4, blgp=2, abid=1)
    prefix = (0xD3AC0000 | 0b01 << 11, (256 + 64) | (256 + 65) << 9 | 0b10 << 27)
    assert assembled("gfx950", text) == (*prefix, *code)
