"""What holds for all products of matrices: places, broadcasts, special numbers, kinds of registers."""

import ml_dtypes
import numpy as np
import pytest

from plugins.emulator.tests.device.matrices import dtype, operands, packed, product, run, values
from plugins.emulator.tests.device.wave import ACC, LANES, DeviceFault, State, execute

pytestmark = [pytest.mark.amd]

F16_32 = product("v_mfma_f32_32x32x8_f16")
F16_16 = product("v_mfma_f32_16x16x16_f16")
F32_32 = product("v_mfma_f32_32x32x2_f32")
F16_4 = product("v_mfma_f32_4x4x4_16b_f16")


def _zeros(p, arch="gfx942"):
    a, b, c = operands(p, arch, np.random.default_rng(0), whole=True)
    return np.zeros_like(a), np.zeros_like(b), np.zeros_like(c)


def _only(result):
    """Return register and lane of the only result that is not zero."""
    (place,) = np.argwhere(result != 0)
    return int(place[0]), int(place[1])


@pytest.mark.parametrize(
    ("name", "a_place", "b_place", "d_place"),
    [
        # row 5 and column 31 by k = 6, which the upper lanes have
        ("v_mfma_f32_32x32x8_f16", (2, 32 + 5), (2, 32 + 31), (1, 63)),
        ("v_mfma_f32_32x32x8_f16", (0, 8), (0, 3), (4, 3)),
        ("v_mfma_f32_32x32x8_f16", (3, 31), (3, 0), (15, 32)),
        ("v_mfma_f32_16x16x16_f16", (1, 16 + 7), (1, 16 + 2), (3, 16 + 2)),
        # the second of two blocks
        ("v_mfma_f32_32x32x4_2b_f16", (0, 32 + 4), (0, 32), (16, 32)),
        ("v_mfma_f32_16x16x4_4b_f16", (3, 48 + 15), (3, 48 + 1), (15, 48 + 1)),
        ("v_mfma_f32_4x4x4_16b_f16", (2, 60 + 3), (2, 60 + 1), (3, 60 + 1)),
        # fp64: rows are lanes / 16 of every four
        ("v_mfma_f64_16x16x4_f64", (0, 16 + 6), (0, 16 + 9), (1, 32 + 9)),
        ("v_mfma_f64_4x4x4_4b_f64", (0, 32 + 8 + 3), (0, 32 + 8 + 1), (0, 48 + 8 + 1)),
    ],
)
def test_places_of_single_elements(name, a_place, b_place, d_place):
    p = product(name)
    a, b, c = _zeros(p)
    a[a_place], b[b_place] = 2, 3
    result = run(p, "gfx942", a, b, c)
    assert (_only(result), result.max()) == (d_place, 6)


@pytest.mark.parametrize(
    ("name", "cbsz", "abid"),
    [
        *[("v_mfma_f32_4x4x4_16b_f16", 4, abid) for abid in (0, 3, 15)],
        *[("v_mfma_f32_4x4x4_16b_f16", 2, abid) for abid in (0, 3)],
        ("v_mfma_i32_4x4x4_16b_i8", 1, 1),
        ("v_mfma_f32_16x16x4_4b_f16", 2, 3),
        ("v_mfma_f32_16x16x1_4b_f32", 1, 1),
        ("v_mfma_f32_32x32x1_2b_f32", 1, 1),
    ],
)
def test_blocks_share_one_of_a(name, cbsz, abid):
    p = product(name)
    a, b, c = operands(p, "gfx942", np.random.default_rng(abid), whole=True)
    shared = 1 << cbsz
    blocks = np.arange(p.blocks) // shared * shared + abid
    lanes = (blocks[:, None] * p.size + np.arange(p.size)).ravel()
    alike = run(p, "gfx942", np.ascontiguousarray(a[:, lanes]), b, c)
    assert np.array_equal(run(p, "gfx942", a, b, c, cbsz=cbsz, abid=abid), alike)
    assert not np.array_equal(run(p, "gfx942", a, b, c), alike)


def test_lanes_of_b_are_broadcast_or_rotated():
    a, b, c = operands(F16_16, "gfx942", np.random.default_rng(1), whole=True)
    lane = np.arange(LANES)
    taken = [lane, lane % 32, lane % 32 + 32, (lane + 16) % 64, *(16 * n + lane % 16 for n in range(4))]
    for blgp, lanes in enumerate(taken):
        wanted = run(F16_16, "gfx942", a, np.ascontiguousarray(b[:, lanes]), c)
        assert np.array_equal(run(F16_16, "gfx942", a, b, c, blgp=blgp), wanted)


def test_fp64_operands_are_negated():
    p = product("v_mfma_f64_16x16x4_f64")
    a, b, c = operands(p, "gfx942", np.random.default_rng(2), whole=True)
    without = run(p, "gfx942", a, b, np.zeros_like(c))
    for negate in range(8):
        sign = (-1) ** (negate & 1) * (-1) ** (negate >> 1 & 1)
        wanted = sign * without + (-c if negate & 4 else c)
        assert np.array_equal(run(p, "gfx942", a, b, c, blgp=negate), wanted)


@pytest.mark.parametrize(
    "p", [F16_32, F16_4, product("v_mfma_i32_16x16x32_i8"), product("v_mfma_f64_16x16x4_f64")]
)
@pytest.mark.parametrize(
    "registers",
    [(0, ACC + 64, 80, 96), (0, 64, ACC + 80, 96), (ACC, 64, 80, ACC + 96), (ACC, ACC + 64, ACC + 80, ACC)],
)
def test_operands_in_accumulation_registers(p, registers):
    a, b, c = operands(p, "gfx942", np.random.default_rng(3), whole=True)
    assert np.array_equal(run(p, "gfx942", a, b, c, registers=registers), run(p, "gfx942", a, b, c))


@pytest.mark.parametrize(
    ("name", "constant", "value"),
    [
        ("v_mfma_f32_32x32x8_f16", 128, 0),
        ("v_mfma_f32_32x32x8_f16", 242, 1),
        ("v_mfma_f32_16x16x16_bf16", 245, -2),
        ("v_mfma_i32_32x32x16_i8", 133, 5),
        ("v_mfma_i32_4x4x4_16b_i8", 195, -3),
        ("v_mfma_f64_16x16x4_f64", 242, 1),
        ("v_mfma_f64_4x4x4_4b_f64", 240, 0.5),
    ],
)
def test_c_is_a_constant(name, constant, value):
    p = product(name)
    a, b, c = operands(p, "gfx942", np.random.default_rng(4), whole=True)
    wanted = run(p, "gfx942", a, b, np.full_like(c, value))
    assert np.array_equal(run(p, "gfx942", a, b, None, constant=constant), wanted)


def test_off_lanes_take_part_and_results_may_overwrite_operands():
    state = State()
    state.exec = 0
    a, b, c = operands(F16_32, "gfx942", np.random.default_rng(5), whole=True)
    assert np.array_equal(run(F16_32, "gfx942", a, b, c, state=state), run(F16_32, "gfx942", a, b, c))
    a, b, c = operands(F16_16, "gfx942", np.random.default_rng(6), whole=True)
    wanted = run(F16_16, "gfx942", a, b, c)
    assert np.array_equal(run(F16_16, "gfx942", a, b, c, registers=(64, 64, 66, 96)), wanted)


@pytest.mark.parametrize(
    "name", ["v_mfma_f32_16x16x16_bf16", "v_mfma_i32_16x16x32_i8", "v_mfma_f64_16x16x4_f64"]
)
@pytest.mark.parametrize("offset", [-3, -2, -1, 1, 2, 3])
def test_result_may_overlap_a_part_of_c(name, offset):
    """Compilers place D so where it has four registers: all of C is read before D is written."""
    p = product(name)
    a, b, c = operands(p, "gfx942", np.random.default_rng(7), whole=True)
    wanted = run(p, "gfx942", a, b, c)
    assert np.array_equal(run(p, "gfx942", a, b, c, registers=(96 + 2 * offset, 64, 80, 96)), wanted)
    assert np.array_equal(run(p, "gfx942", a, b, c, registers=(96 + offset, 64, 80, 96)), wanted)


@pytest.mark.parametrize(
    "name", ["v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16_bf16", "v_mfma_f32_16x16x4_f32"]
)
def test_infinities_and_nan(name):
    p = product(name)
    a, b, c = _zeros(p)
    # rows 0 to 4 by column 0; lanes 0 to 15 have k = 0
    a[0, :5] = (np.inf, -np.inf, np.inf, np.nan, 1)
    b[0, :2] = (2, 0)
    c[2, 0] = -np.inf
    result = run(p, "gfx942", a, b, c)
    assert np.array_equal(result[:, 0], [np.inf, -np.inf, np.nan, np.nan], equal_nan=True)
    assert np.all(np.isnan(result[:, 1]))  # infinity times zero
    assert result[0, 16] == 2


def test_denormals_of_fp16_are_kept_since_gfx942():
    least, largest = np.float16(2.0**-24), np.float16(1023 * 2.0**-24)
    a, b, c = _zeros(F16_16)
    a[0, :2] = (least, -largest)
    b[0, 0] = 1
    for arch in ("gfx942", "gfx950"):
        result = run(F16_16, arch, a, b, c)
        assert np.array_equal(result[:2, 0], [2.0**-24, -1023 * 2.0**-24])
    assert not np.any(run(F16_16, "gfx90a", a, b, c))


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16bf16_1k"])
def test_mi200_flushes_denormal_sums_of_short_types(name):
    p = product(name, "gfx90a")
    a, b, c = _zeros(p, "gfx90a")
    c[0] = 2.0**-140  # C itself
    c[1] = np.float32(1.5 * 2.0**-126)
    a[0, 1] = -1
    b[0, :] = np.array(2.0**-126 if p.a_type == "bf16" else 2.0**-14).astype(b.dtype)
    result = run(p, "gfx90a", a, b, c)
    assert not np.any(result[0])
    assert np.all(result[1, :16] == (0 if p.a_type == "bf16" else np.float32(-(2.0**-14))))
    same = product("v_mfma_f32_16x16x4_f32", "gfx90a")
    a, b, c = _zeros(same, "gfx90a")
    c[0] = 2.0**-140
    assert np.all(run(same, "gfx90a", a, b, c)[0] == 2.0**-140)


def test_denormals_of_bf16_and_their_products():
    p = product("v_mfma_f32_16x16x16_bf16")
    a, b, c = _zeros(p)
    a[0, 0] = ml_dtypes.bfloat16(2.0**-133)
    b[0, :] = 2
    assert np.all(run(p, "gfx942", a, b, c)[0, :16] == 2.0**-132)
    a[0, 0] = ml_dtypes.bfloat16(2.0**-100)
    b[0, :] = ml_dtypes.bfloat16(2.0**-49)
    assert np.all(run(p, "gfx942", a, b, c)[0, :16] == 2.0**-149)


def test_sums_are_rounded_once_per_product_in_the_order_of_k():
    # each 1 is lost beside 2^24, in this order alone
    a, b, c = _zeros(F16_16)
    a[:, ::16] = 1
    b[:] = 1
    c[0] = 2.0**24
    assert np.all(run(F16_16, "gfx942", a, b, c)[0, :16] == 2.0**24)
    # the product of two fp32 is not rounded before it is added
    x = np.float32(1 + 2.0**-23)
    a, b, c = _zeros(F32_32)
    a[0, 0] = b[0, 0] = x
    c[0, 0] = -np.float32(x * x)
    assert run(F32_32, "gfx942", a, b, c)[0, 0] == np.float32(2.0**-46)


def test_xf32_rounds_and_integers_wrap():
    p = product("v_mfma_f32_16x16x8_xf32")
    a, b, c = _zeros(p)
    a[0, :4] = (1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-20, -(1 + 2.0**-12))
    b[0, 0] = 1
    assert np.array_equal(run(p, "gfx942", a, b, c)[:, 0], [1, 1 + 2.0**-9, 1 + 2.0**-10, -1])
    p = product("v_mfma_i32_16x16x32_i8")
    a, b, c = _zeros(p)
    a[0, 0], b[0, 0], c[0, 0] = 1, 1, 2**31 - 1
    assert run(p, "gfx942", a, b, c)[0, 0] == -(2**31)


def test_encodings_of_fp8_differ():
    p942, p950 = (product("v_mfma_f32_16x16x32_fp8_fp8", arch) for arch in ("gfx942", "gfx950"))
    codes = np.zeros((8, LANES), np.uint8)
    ones = np.full((8, LANES), 0, np.uint8)
    codes[0, :3] = (0x40, 0x80, 0x7F)
    results = {}
    for arch, p in (("gfx942", p942), ("gfx950", p950)):
        kind = dtype("fp8", arch)
        ones[0] = np.array(1.0, kind).view(np.uint8)
        results[arch] = run(p, arch, codes.view(kind), ones.view(kind), np.zeros((4, LANES), np.float32))[
            :3, 0
        ]
    assert np.array_equal(results["gfx942"], [1, np.nan, 240], equal_nan=True)
    assert np.array_equal(results["gfx950"], [2, 0, np.nan], equal_nan=True)


def test_moves_of_accumulation_registers_have_a_mask():
    state = State()
    state.exec = 0xF0
    state.scalar[4] = 77
    state.vector[1] = np.arange(LANES)
    state.vector[ACC + 9] = 5
    text = "\n".join(
        [
            "v_accvgpr_write_b32 a3, v1",
            "v_accvgpr_mov_b32 a4, a3",
            "v_accvgpr_read_b32 v2, a4",
            "v_accvgpr_write_b32 a5, 17",
            "v_accvgpr_write_b32 a9, s4",
        ]
    )
    after = execute(text, state)
    on = np.array([0xF0 >> lane & 1 for lane in range(LANES)], bool)
    for register in (ACC + 3, ACC + 4, 2):
        assert np.array_equal(after.vector[register], np.where(on, np.arange(LANES), 0))
    assert np.array_equal(after.vector[ACC + 5], np.where(on, 17, 0))
    assert np.array_equal(after.vector[ACC + 9], np.where(on, 77, 5))
    assert not after.vector[3:6].any()


def test_whole_numbers_are_exact_in_every_place():
    """A chain of two products, the second of which adds to the first."""
    a, b, c = operands(F16_32, "gfx942", np.random.default_rng(7), whole=True)
    state = State()
    for first, elements in ((64, a), (80, b), (96, c)):
        raw = packed(elements)
        state.vector[first : first + len(raw)] = raw
    text = (
        "v_mfma_f32_32x32x8_f16 a[0:15], v[64:65], v[80:81], 0\n"
        "v_mfma_f32_32x32x8_f16 a[0:15], v[64:65], v[80:81], a[0:15]"
    )
    after = execute(text, state)
    once = values(run(F16_32, "gfx942", a, b, np.zeros_like(c)))
    assert np.array_equal(after.vector[ACC : ACC + 16].view(np.float32), 2 * once)


def test_unknown_format_is_refused():
    with pytest.raises(DeviceFault, match="f8f6f4"):
        execute([0xD3AD0000 | 5 << 8, 0x04C24110], arch="gfx950")
