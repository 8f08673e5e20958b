"""Products of matrices in registers: each instruction of the table, on each architecture."""

import re

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
from plugins.emulator.tests.device.wave import LANES, assembled

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
